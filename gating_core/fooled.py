"""What fooled us: pictures that mislead on purpose, and beside each the number that does not.

A case computes both from the core; every number in a sentence is a computed one. Shapes: R x C
grid points, D outputs, n values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import torch

from gating_core import palette
from gating_core.colourings import COLOURINGS, ColourScale, colour_scale
from gating_core.integrals import adaptive_integrals
from gating_core.measure import measure_surface
from gating_core.resolve import Request, resolve
from gating_core.results import SurfaceResult
from gating_core.sample import WeightChart, square_grid
from gating_core.second_opinion import DEFAULT_STEP, difference_curvature
from gating_core.specimen import Specimen, build_specimen, chart_of, measure_specimen
from gating_core.surfaces import SURFACES
from gating_core.views import grid_lines, zero_curve

GRID = 61
SMALL_STEP = 1e-7  # in the chart: near the root of eps, where first differences are at their best
SHARPNESS = 20.0
TOLERANCE = 0.02  # of the total curvature
STRETCH = 2.0  # how much longer a unit of the upright axis is drawn
CAP = 3.0  # half the chart's side for the stretched sphere: it reaches 72 degrees from the pole
FIGURE_HEIGHT = 380
WHOLE_SPHERE = 4 * math.pi  # its total curvature

Points = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True, eq=False)
class Fooled:
    """A picture, what it seems to say, and a number with its doubt that says otherwise.

    ``lie`` is a short clause that goes on after "The picture says:". ``drawn``, ``formula`` (with
    the numbers in it) and ``look_for`` explain the picture.
    """

    figure: go.Figure
    lie: str
    number_name: str
    number: str
    doubt: str
    drawn: str
    formula: str
    look_for: str


@dataclass(frozen=True)
class Case:
    """``why``: two sentences. ``make`` computes; ``request`` is the model on the Manifold page."""

    title: str
    why: tuple[str, str]
    make: Callable[[], Fooled]
    request: Request | None = None


# --- Models ---------------------------------------------------------------------------------------

SIX_VALUES = Request(value_count=6, seed=17)
SATURATED = Request(value_count=6, seed=17, sharpness=SHARPNESS)
FLAT_SHEET = Request(seed=3)
SHEET_BY_DIFFERENCES = Request(seed=0)
NORMALISED = Request(norm="post", seed=318)


def _ungated(request: Request) -> Specimen:
    """The ungated side that the page shows for a request."""
    return resolve(request).sides[0]


# --- The cases ------------------------------------------------------------------------------------


def _curved_slice() -> Fooled:
    specimen = _ungated(SIX_VALUES)
    config = specimen.config
    measured = measure_specimen(specimen, GRID)
    surface = measured.surface
    found = _largest(surface)
    weights = chart_of(Specimen(config, specimen.seed, chart="weights"))
    assert isinstance(weights, WeightChart)
    whole = measure_surface(_through_logs(weights), square_grid(GRID))
    return Fooled(
        figure=_signed_map(surface.axis, _known(surface), zero_line=True),
        lie=f"without any gate this space is curved, |K| up to {found:.3g}",
        number_name="Largest |K| on the attention-weight chart",
        number=_settled(whole),
        doubt=f"{_verdict(whole)}. All outputs of the {config.value_count} values together fill a"
        f" flat piece of {measured.hull_dimension} dimensions.",
        drawn=f"K over the input square for an ungated model with n = {config.value_count} values in"
        f" D = {config.model_dim} dimensions. Dashed: K = 0.",
        formula=r"$y = \sum_i \alpha_i U_i$ with fixed $U_i$ is flat in the weights $\alpha$: there"
        f" |K| is at most {np.abs(whole.gaussian).max():.1g}, with a bound of"
        f" {_up(whole.largest_error[0])}. In the inputs x, which choose the weights by a softmax,"
        f" |K| reaches {found:.3g}.",
        look_for="Which chart is drawn. The inputs have two dimensions, so they reach only a"
        f" surface within the {measured.hull_dimension} dimensions that the weights fill.",
    )


def _own_range() -> Fooled:
    specimen = _ungated(FLAT_SHEET)
    surface = measure_specimen(specimen, GRID).surface
    field = _known(surface)
    end = float(np.nanmax(np.abs(field)))
    squared = _diameter(surface) ** 2
    domes = float((field > 0).mean())
    return Fooled(
        figure=_map(surface.axis, field, ColourScale(palette.SIGNED_SCALE, -end, end), "K"),
        lie=f"a landscape: domes on {domes:.0%} of it, saddles on {float((field < 0).mean()):.0%}",
        number_name="Largest |K| × diameter²",
        number=_settled(surface, squared),
        doubt=f"{_verdict(surface)}. The colours end at |K| = {end:.1g}.",
        drawn="K over the input square of an ungated sheet of three values, on a scale of colours"
        " that ends at the largest |K| there is.",
        formula=f"Largest |K| = {end:.1g} against a bound of {_up(surface.largest_error[0])}; times"
        f" the squared diameter, {squared:.3g}, that is {end * squared:.1g} without a unit.",
        look_for="The ends of the colours. A pattern that is as fine as the grid is another sign:"
        " no smooth surface does that.",
    )


def _small_step() -> Fooled:
    model = build_specimen(_ungated(SHEET_BY_DIFFERENCES))
    grid = square_grid(GRID)
    surface = measure_surface(model, grid)
    found, better = (
        difference_curvature(model, grid.points, step).reshape(GRID, GRID).numpy()
        for step in (SMALL_STEP, DEFAULT_STEP)
    )
    total = float((np.abs(found) * surface.area_element[0] * grid.weights.numpy()).sum())
    return Fooled(
        figure=_signed_map(surface.axis, found),
        lie=f"it curves everywhere, |K| up to {np.abs(found).max():.2g}, total curvature"
        f" {total:.2g}",
        number_name="Largest |K|, from exact derivatives",
        number=_settled(surface),
        doubt=f"{_verdict(surface)}. Differences with a step of {DEFAULT_STEP:.0e} find at most"
        f" {np.abs(better).max():.1g}.",
        drawn="K over the input square of an ungated sheet of three values, from central"
        f" differences with a step of {SMALL_STEP:.0e} in double precision.",
        formula=r"$y_{uu} \approx (y(u+h) - 2y(u) + y(u-h))/h^2$: rounding of about 1e-16 becomes"
        f" {1e-16 / SMALL_STEP**2:.0e} at h = {SMALL_STEP:.0e}, but {1e-16 / DEFAULT_STEP**2:.0e}"
        f" at h = {DEFAULT_STEP:.0e}.",
        look_for="What happens at another step: curvature stays, rounding changes beyond"
        " recognition.",
    )


def _saturated() -> Fooled:
    specimen = _ungated(SATURATED)
    chart = chart_of(specimen)
    surface = measure_surface(chart, square_grid(GRID))
    field = _decided(surface)
    size = np.log10(np.abs(field, where=field != 0, out=np.full_like(field, np.nan)))
    total = adaptive_integrals(chart, None, TOLERANCE, "rigorous").absolute
    found, middle = _largest(surface), float(np.nanmedian(np.abs(field)))
    low, high = math.floor(np.nanmin(size)), math.ceil(np.nanmax(size))
    value, error = float(total.value), float(total.error)
    return Fooled(
        figure=_map(
            surface.axis, size, ColourScale(palette.SEQUENTIAL_SCALE, low, high, log=True), "|K|"
        ),
        lie=f"curved beyond all measure, |K| up to {found:.0e}",
        number_name="Total curvature ∫|K| dA",
        number=("" if bool(total.complete) else "at least ") + f"{value:.2f} ± {_up(error)}",
        doubt=f"A whole sphere has {WHOLE_SPHERE:.3g}, whatever its size. ±: rounding bound and"
        " sampling error.",
        drawn=f"|K| over the input square, as powers of ten, for an ungated model of"
        f" {specimen.config.value_count} values whose keys are {specimen.sharpness:g} times as"
        " large as usual. Open: |K| within its bound.",
        formula=rf"$\int |K|\,dA$ = {value:.3g}: where |K| = {found:.0e}, the radius of curvature"
        rf" $1/\sqrt{{|K|}}$ is {found**-0.5:.0e}. Half of the chart has |K| above {middle:.1g}.",
        look_for="How small the surface is where K is large: a softmax with one weight near 1"
        " hardly moves.",
    )


def _stretched_sphere() -> Fooled:
    grid = square_grid(GRID, -CAP, CAP)
    sphere = SURFACES["sphere by gating"].chart
    surface = measure_surface(sphere, grid)
    stretch = torch.tensor([1.0, 1.0, STRETCH], dtype=torch.float64)
    drawn = np.abs(measure_surface(lambda p: sphere(p) * stretch, grid).gaussian)
    low, high, error = _range(surface)
    return Fooled(
        figure=_side_view(surface),
        lie=f"an egg: K is {drawn.max() / drawn.min():.0f} times as large at the tip as at the"
        " side",
        number_name="K, least and largest",
        number=f"{low:.5g} to {high:.5g}",
        doubt=f"They differ by {(high - low) / high:.0e} of K; its bound is {_up(error)}.",
        drawn="A sphere made by gating, seen from its side: the chart's grid lines and, bold, a"
        f" cross-section. A unit upwards is drawn {STRETCH:g} times as long as one sideways.",
        formula=rf"On a sphere of radius r, $K = 1/r^2$ = {high:.5g} with r = {high**-0.5:.3g}. The"
        f" egg that is drawn would have K from {drawn.min():.2g} to {drawn.max():.2g}.",
        look_for="The ticks of both axes: equal steps of y must be equally far apart.",
    )


def _even_scale() -> Fooled:
    surface = measure_surface(SURFACES["sphere by gating"].chart, square_grid(GRID))
    low, high, error = _range(surface)
    field = _known(surface)
    scale = ColourScale(palette.SEQUENTIAL_SCALE, low, high)
    return Fooled(
        figure=_map(surface.axis, field, scale, "K", ("u", "v")),
        lie="rough ground: K takes every colour of the scale, and no two neighbours agree",
        number_name="K, least and largest",
        number=f"{low:.5g} to {high:.5g}",
        doubt=f"They differ by {(high - low) / high:.0e} of K; its bound is {_up(error)}.",
        drawn="K over the chart of a sphere made by gating, on a scale of colours from the least K"
        " to the largest, as plotting programs choose it.",
        formula=f"From {low!r} to {high!r}: {len(np.unique(field))} different numbers, the nearest"
        f" of them {np.spacing(high):.0e} apart, which is the last digit of double precision.",
        look_for="The ends of the colours: they read the same.",
    )


def _normalised() -> Fooled:
    specimen = _ungated(NORMALISED)
    surface = measure_specimen(specimen, GRID).surface
    dim = specimen.config.model_dim
    gap = np.abs(surface.gaussian[0] - 1 / dim)
    within = bool((gap <= surface.gaussian_error[0]).all() and surface.resolved.all())
    bound = _up(surface.largest_error[0])
    share = float(surface.shares.positive[0])
    return Fooled(
        figure=_globe(surface, math.sqrt(dim)),
        lie=f"a ball, K > 0 on {share:.0%} of it: there must be a gate",
        number_name=f"K − 1/{dim}, at every point",
        number=f"0 ± {bound}" if within else f"up to {gap.max():.1g}",
        doubt=f"The computed K is off 1/{dim} by at most {_up(gap.max())}. Gates in this model:"
        f" {0 if specimen.config.gate is None else specimen.config.depth}.",
        drawn="The outputs of an ungated model with normalisation after attention, seen from"
        f" outside, with the chart's grid lines; round it the outline of a ball of radius √{dim}.",
        formula=rf"$y / \sqrt{{\overline{{y^2}}}}$ has length $\sqrt D$ = {math.sqrt(dim):.4g}: a"
        f" sphere with K = 1/D = {1 / dim:.4g}. Measured: {surface.gaussian[0].min():.10g} to"
        f" {surface.gaussian[0].max():.10g}.",
        look_for="Whether the same model without its gate is flat. Here it is this one.",
    )


FOOLED: dict[str, Case] = {
    "n6": Case(
        "A curved picture of a flat space",
        (
            "A surface inside a flat space can be curved, as a balloon in a room is.",
            "The outputs fill a flat piece of space; what curves is the slice that the inputs cut"
            " out of it.",
        ),
        _curved_slice,
        SIX_VALUES,
    ),
    "own_range": Case(
        "A flat sheet on its own colour scale",
        (
            "Colours that end at the largest value found turn any noise into a landscape.",
            "Rounding leaves such a pattern on every flat sheet; only a bound tells it from"
            " curvature.",
        ),
        _own_range,
        FLAT_SHEET,
    ),
    "step": Case(
        "Finite differences with too small a step",
        (
            "Second differences divide rounding by the square of the step, so smaller is not"
            " better.",
            "Exact derivatives have no step, and bring a bound with them.",
        ),
        _small_step,
        SHEET_BY_DIFFERENCES,
    ),
    "saturated": Case(
        "A saturated softmax",
        (
            "K has the unit 1/length²: a piece that a saturated softmax has shrunk to almost"
            " nothing has an enormous K.",
            "The total curvature counts every piece by its area, and has no unit.",
        ),
        _saturated,
        SATURATED,
    ),
    "stretched": Case(
        "A sphere on stretched axes",
        (
            "The same length is longer on one axis than on the other, and the eye believes the"
            " screen.",
            "Curvature belongs to the surface, not to the drawing: on a sphere it is the same"
            " everywhere.",
        ),
        _stretched_sphere,
    ),
    "even": Case(
        "A sphere on colours from least to largest",
        (
            "A scale from the least value to the largest has no floor: where nothing varies, it"
            " spreads over the last digits.",
            "Colours that are symmetric about zero show a sphere in one colour.",
        ),
        _even_scale,
    ),
    "norm": Case(
        "A sphere without a gate",
        (
            "Normalisation divides every output by its own length, and so lays a flat sheet round a"
            " ball.",
            "Gating is one way to curve, not the only one: look at the ungated model before you"
            " blame the gate.",
        ),
        _normalised,
        NORMALISED,
    ),
}


# --- Numbers --------------------------------------------------------------------------------------


def _through_logs(chart: WeightChart) -> Points:
    """The same weights as a softmax of their logarithms.

    On the chart itself outputs are affine, second derivatives exactly zero, and the test empty.
    """

    def outputs(points: torch.Tensor) -> torch.Tensor:
        weights = torch.softmax(chart.weights(points).log(), -1).unsqueeze(1)
        return chart.model.run(None, weights)

    return outputs


def _known(surface: SurfaceResult) -> np.ndarray:
    """(R, C): K, NaN where the tangent plane is unresolved."""
    return np.where(surface.resolved[0], surface.gaussian[0], np.nan)


def _decided(surface: SurfaceResult) -> np.ndarray:
    """(R, C): K, NaN where it is unresolved or within its bound."""
    beyond = np.abs(surface.gaussian[0]) > surface.gaussian_error[0]
    return np.where(beyond, _known(surface), np.nan)


def _largest(surface: SurfaceResult) -> float:
    """The largest |K| above its bound; 0 where there is none."""
    return float(np.nan_to_num(np.abs(_decided(surface))).max())


def _range(surface: SurfaceResult) -> tuple[float, float, float]:
    """The least and the largest K, and the largest bound."""
    field = _known(surface)
    return float(np.nanmin(field)), float(np.nanmax(field)), float(surface.largest_error[0])


def _diameter(surface: SurfaceResult) -> float:
    """The largest distance between every second sampled point and any other such."""
    points = torch.from_numpy(surface.values[0, ::2, ::2].reshape(-1, surface.values.shape[-1]))
    return float(torch.cdist(points, points).max())


def _settled(surface: SurfaceResult, factor: float = 1.0) -> str:
    """Zero with its bound where the surface is flat, else the largest |K|; times ``factor``."""
    if surface.flat[0]:
        return f"0 ± {_up(float(surface.largest_error[0]) * factor)}"
    return f"{_largest(surface) * factor:.3g}"


def _verdict(surface: SurfaceResult) -> str:
    if surface.flat[0]:
        return "|K| is nowhere above its bound"
    share = float(np.isfinite(_decided(surface)).mean())
    return f"|K| is above its bound on {share:.0%} of the points"


def _up(error: float) -> str:
    """An error to one figure, rounded up."""
    if not 0 < error < math.inf:
        return f"{error:g}"
    exponent = math.floor(math.log10(error))
    leading = math.ceil(error / 10.0**exponent - 1e-9)
    rounded = float(f"{leading}e{exponent}")
    return f"{rounded:g}" if 1e-3 <= rounded < 1e3 else f"{rounded:.0e}"


# --- Pictures -------------------------------------------------------------------------------------


def _signed_map(axis: np.ndarray, field: np.ndarray, zero_line: bool = False) -> go.Figure:
    """K (R, C) on the scale that the Manifold page would give it, with the line K = 0 or not."""
    scale = colour_scale(COLOURINGS["curvature"], [field])
    figure = _map(axis, field, scale, "K")
    if zero_line:
        line, _ = zero_curve(field, axis, field[..., None])
        figure.add_scatter(
            x=line[:, 0], y=line[:, 1], mode="lines", name="K = 0", hoverinfo="skip",
            line={"color": palette.LINE, "dash": "dash", "width": 2}, showlegend=False,
        )  # fmt: skip
    return figure


def _map(
    axis: np.ndarray,
    field: np.ndarray,
    scale: ColourScale,
    symbol: str,
    names: tuple[str, str] = ("x<sub>1</sub>", "x<sub>2</sub>"),
) -> go.Figure:
    """``field`` (R, C) over the chart; NaN is left open. On a logarithmic scale it holds log10."""
    reading = 10**field if scale.log else field
    ticks = [scale.low, (scale.low + scale.high) / 2, scale.high]
    beyond = f"<br>{scale.beyond:.0%} of points<br>beyond" if scale.beyond else ""
    figure = go.Figure()
    figure.add_heatmap(
        x=axis, y=axis, z=field, customdata=reading, coloraxis="coloraxis",
        hovertemplate=f"(%{{x:.2f}}, %{{y:.2f}})<br>{symbol} = %{{customdata:.3g}}<extra></extra>",
    )  # fmt: skip
    square = {"range": [float(axis[0]), float(axis[-1])], "constrain": "domain",
              "zeroline": False, "showgrid": False,
              "tickvals": [float(axis[0]), 0, float(axis[-1])]}  # fmt: skip
    figure.update_layout(
        xaxis=square | {"title": {"text": names[0]}},
        yaxis=square | {"title": {"text": names[1]}, "scaleanchor": "x"},
        coloraxis={
            "colorscale": scale.colours, "cmin": scale.low, "cmax": scale.high,
            "colorbar": {
                "title": {"text": symbol + beyond}, "thickness": 14, "len": 0.9,
                "tickvals": ticks, "ticktext": [_tick(x, scale.log) for x in ticks],
            },
        },
        margin={"l": 50, "r": 10, "t": 20, "b": 45}, height=FIGURE_HEIGHT,
    )  # fmt: skip
    return figure


def _tick(x: float, log: bool) -> str:
    text = f"10<sup>{x:.0f}</sup>" if log else f"{x:.3g}"
    return text.replace("-", "−")


def _side_view(surface: SurfaceResult) -> go.Figure:
    """Grid lines and middle section of a surface in the plane of y1 and y3, upright stretched."""
    values = surface.values[0]
    lines, section = grid_lines(values[None])[0], values[GRID // 2]
    figure = go.Figure()
    for points, colour, width, name in (
        (lines, palette.PLANE, 1, "grid lines"),
        (section, palette.SIGNED_SCALE[-2][1], 4, "cross-section"),
    ):
        figure.add_scatter(
            x=points[:, 0], y=points[:, 2], mode="lines", name=name,
            line={"color": colour, "width": width}, hoverinfo="skip", showlegend=False,
        )  # fmt: skip
    plain = {"zeroline": False, "dtick": 0.2, "constrain": "domain"}
    figure.update_layout(
        xaxis=plain | {"title": {"text": "y<sub>1</sub>"}},
        yaxis=plain
        | {"title": {"text": "y<sub>3</sub>"}, "scaleanchor": "x", "scaleratio": STRETCH},
        margin={"l": 50, "r": 10, "t": 20, "b": 45}, height=FIGURE_HEIGHT,
    )  # fmt: skip
    return figure


def _globe(surface: SurfaceResult, radius: float) -> go.Figure:
    """A piece of a sphere about the origin, seen from outside, with the outline of the ball."""
    values = surface.values[0]
    towards = values.mean((0, 1)) / np.linalg.norm(values.mean((0, 1)))
    across = np.linalg.svd(towards[None])[2][1:].T  # (3, 2): a basis of the plane of the screen
    seen = values @ across
    lines = grid_lines(seen[None])[0]
    rim = np.concatenate([seen[0], seen[:, -1], seen[-1, ::-1], seen[::-1, 0]])
    turn = np.linspace(0, 2 * np.pi, 181)
    colour = palette.SIGNED_SCALE[-2][1]
    figure = go.Figure()
    for x, y, line, fill in (
        (radius * np.cos(turn), radius * np.sin(turn), {"color": palette.PLANE, "width": 2}, None),
        (*rim.T, {"color": colour, "width": 3}, "toself"),
        (*lines.T, {"color": palette.SIGNED_SCALE[-1][1], "width": 1.2}, None),
    ):
        figure.add_scatter(
            x=x, y=y, mode="lines", line=line, fill=fill, fillcolor=colour, hoverinfo="skip",
            showlegend=False,
        )  # fmt: skip
    bare = {"visible": False, "constrain": "domain"}
    figure.update_layout(
        xaxis=bare, yaxis=bare | {"scaleanchor": "x"},
        margin={"l": 10, "r": 10, "t": 20, "b": 20}, height=FIGURE_HEIGHT,
    )  # fmt: skip
    return figure
