"""What does each case of the gallery compute: a picture that misleads, and a number that does not?

Every number in a sentence is a computed one. Shapes: R x C grid points, D outputs, n values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from gating_core.attention import WeightChart, through_logs
from gating_core.experiments.specimen import Specimen, build_specimen, chart_of, measure_specimen
from gating_core.geometry import (
    DIFFERENCE_STEP,
    SURFACES,
    SurfaceResult,
    adaptive_integrals,
    difference_curvature,
    measure_surface,
    square_grid,
    stretched_sphere,
)
from ui.common.words import error_text, figures, percent, plus_minus
from ui.drawing import palette
from ui.drawing.colours import QUANTILE, ColourScale
from ui.manifold.fooled.pictures import globe, quantity_map, side_view, signed_map
from ui.manifold.request import Request, resolve

GRID = 61
SMALL_STEP = 1e-7  # in the chart: of the size that suits one-sided first differences
SHARPNESS = 20.0
TOLERANCE = 0.02  # of the total curvature
STRETCH = 2.0  # how much longer a unit of the upright axis is drawn
CAP = 3.0  # half the chart's side for the stretched sphere: it reaches 72 degrees from the pole
WHOLE_SPHERE = 4 * math.pi  # its total curvature

SIX_VALUES = Request(value_count=6, seed=17)
SATURATED = Request(value_count=6, seed=17, sharpness=SHARPNESS)
FLAT_SHEET = Request(seed=134)
SHEET_BY_DIFFERENCES = Request(seed=11)
NORMALISED = Request(norm="post", seed=318)


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


# --- What several cases ask -----------------------------------------------------------------------


def _ungated(request: Request) -> Specimen:
    """The ungated side that the page shows for a request."""
    return resolve(request).sides[0]


def _resolved(surface: SurfaceResult) -> np.ndarray:
    """(R, C): K, NaN where the tangent plane is unresolved."""
    return surface.gaussian_where(surface.resolved)[0]


def _bound(surface: SurfaceResult) -> str:
    return error_text(float(surface.largest_error[0]))


def _constant(surface: SurfaceResult) -> dict[str, str]:
    """The number of a surface whose K is the same everywhere, and how nearly it is."""
    low, high = _ends(surface)
    return {
        "number_name": "K, least and largest",
        "number": f"{low:.5g} to {high:.5g}",
        "doubt": f"They differ by {figures((high - low) / high, 1)} of K; its bound is"
        f" {_bound(surface)}.",
    }


def _ends(surface: SurfaceResult) -> tuple[float, float]:
    """The least and the largest K."""
    field = _resolved(surface)
    return float(np.nanmin(field)), float(np.nanmax(field))


def _largest_text(surface: SurfaceResult, factor: float = 1.0) -> str:
    """What bounds |K| where the surface is flat, else the largest |K|; times ``factor``."""
    if surface.flat[0]:
        return f"at most {error_text(float(surface.largest_error[0]) * factor)}"
    return figures(float(surface.largest_curvature[0]) * factor)


def _verdict(surface: SurfaceResult) -> str:
    if surface.flat[0]:
        return "|K| is nowhere above its bound"
    return f"|K| is above its bound on {percent(surface.decided.mean())} of the points"


# --- The cases ------------------------------------------------------------------------------------


def curved_slice() -> Fooled:
    specimen = _ungated(SIX_VALUES)
    config = specimen.config
    measured = measure_specimen(specimen, GRID)
    surface = measured.surface
    field, found = _resolved(surface), float(surface.largest_curvature[0])
    weights = chart_of(replace(specimen, chart="weights"))
    assert isinstance(weights, WeightChart)
    whole = measure_surface(through_logs(weights), square_grid(GRID))
    return Fooled(
        figure=signed_map(surface.axis, field, zero_line=True),
        lie=f"without any gate this space is curved, |K| up to {figures(found)}",
        number_name="Largest |K| on the attention-weight chart",
        number=_largest_text(whole),
        doubt=f"{_verdict(whole)}. All outputs of the {config.value_count} values together fill a"
        f" flat piece of {measured.hull_dimension} dimensions.",
        drawn=f"K over the input square for an ungated model with n = {config.value_count} values"
        f" in D = {config.model_dim} dimensions. Dashed: K = 0.",
        formula=r"$y = \sum_i \alpha_i U_i$ with fixed $U_i$ is flat in the weights $\alpha$: there"
        f" |K| is at most {figures(np.abs(whole.gaussian).max(), 1)}, with a bound of"
        f" {_bound(whole)}. In the inputs x, which choose the weights by a softmax, |K| reaches"
        f" {figures(found)}.",
        look_for="Which chart is drawn. The inputs have two dimensions, so they reach only a"
        f" surface within the {measured.hull_dimension} dimensions that the weights fill.",
    )


def own_range() -> Fooled:
    specimen = _ungated(FLAT_SHEET)
    surface = measure_specimen(specimen, GRID).surface
    field = _resolved(surface)
    sizes, largest = np.abs(field), float(np.nanmax(np.abs(field)))
    end = float(np.nanquantile(sizes, QUANTILE))
    scale = ColourScale(palette.SIGNED_SCALE, -end, end, beyond=float((sizes > end).mean()))
    squared = float(surface.diameter[0]) ** 2
    domes, saddles = float((field > 0).mean()), float((field < 0).mean())
    return Fooled(
        figure=quantity_map(surface.axis, field, scale, "K"),
        lie=f"a landscape with cliffs: domes on {percent(domes)} of it, saddles on"
        f" {percent(saddles)}",
        number_name="Largest |K| × diameter²",
        number=_largest_text(surface, squared),
        doubt=f"{_verdict(surface)}. The colours end at |K| = {figures(end, 1)}.",
        drawn="K over the input square of an ungated sheet of three values. The colours end where"
        f" they do everywhere here, at the {percent(QUANTILE)} quantile of |K|, but without the"
        f" floor of {figures(palette.COLOUR_RANGE_FLOOR)} that keeps a flat sheet grey.",
        formula=f"The largest |K| is {figures(largest, 1)}; the bound of K reaches"
        f" {_bound(surface)}. Times the squared diameter, {figures(squared)}, that is"
        f" {figures(largest * squared, 1)} without a unit.",
        look_for="The ends of the colours. A pattern that is as fine as the grid is another sign:"
        " no smooth surface does that.",
    )


def small_step() -> Fooled:
    model = build_specimen(_ungated(SHEET_BY_DIFFERENCES))
    grid = square_grid(GRID)
    surface = measure_surface(model, grid)
    found, better = (
        difference_curvature(model, grid.points, step).reshape(GRID, GRID).numpy()
        for step in (SMALL_STEP, DIFFERENCE_STEP)
    )
    total = float((np.abs(found) * surface.area_element[0] * grid.weights.numpy()).sum())
    largest, usual = np.abs(found).max(), np.abs(better).max()
    rounding = np.finfo(float).eps / 2
    h, wide = figures(SMALL_STEP, 1), figures(DIFFERENCE_STEP, 1)
    return Fooled(
        figure=signed_map(surface.axis, found),
        lie=f"it curves everywhere, |K| up to {figures(largest, 2)}, total curvature"
        f" {figures(total, 2)}",
        number_name="Largest |K|, from exact derivatives",
        number=_largest_text(surface),
        doubt=f"{_verdict(surface)}. Differences with a step of {wide} find at most"
        f" {figures(usual, 1)}.",
        drawn="K over the input square of an ungated sheet of three values, from central"
        f" differences with a step of {h} in double precision.",
        formula=r"$y_{uu} \approx (y(u+h) - 2y(u) + y(u-h))/h^2$: rounding of about"
        f" {figures(rounding, 1)} becomes {figures(rounding / SMALL_STEP**2, 1)} at h = {h}, but"
        f" {figures(rounding / DIFFERENCE_STEP**2, 1)} at h = {wide}.",
        look_for="What happens at another step: curvature stays, rounding changes beyond"
        " recognition.",
    )


def saturated() -> Fooled:
    specimen = _ungated(SATURATED)
    chart = chart_of(specimen)
    surface = measure_surface(chart, square_grid(GRID))
    field = surface.gaussian_where(surface.decided)[0]
    size = np.log10(np.abs(field))
    total = adaptive_integrals(chart, None, TOLERANCE, "rigorous").absolute
    found, middle = float(surface.largest_curvature[0]), float(np.nanmedian(np.abs(field)))
    low, high = float(np.nanmin(size)), float(np.nanmax(size))
    value, error = float(total.value), float(total.error)
    return Fooled(
        figure=quantity_map(
            surface.axis, size, ColourScale(palette.SEQUENTIAL_SCALE, low, high, log=True), "|K|"
        ),
        lie=f"curved beyond all measure, |K| up to {figures(found, 1)}",
        number_name="Total curvature ∫|K| dA",
        number=("" if bool(total.complete) else "at least ") + plus_minus(value, error),
        doubt=f"A whole sphere has {figures(WHOLE_SPHERE)}, whatever its size. ±: rounding bound"
        " and sampling error.",
        drawn="|K| over the input square, as powers of ten, for an ungated model of"
        f" {specimen.config.value_count} values whose keys are {specimen.sharpness:g} times as"
        f" large as usual. Left open, {percent(np.isnan(field).mean())} of it: |K| not above its"
        " bound.",
        formula=rf"$\int |K|\,dA$ = {figures(value)}. Where |K| = {figures(found, 1)}, a sphere as"
        rf" curved has the radius $1/\sqrt{{|K|}}$ = {figures(found**-0.5, 1)}. On half of the"
        f" chart |K| is above {figures(middle, 1)}.",
        look_for="How small the surface is where K is large: a softmax with one weight near 1"
        " hardly moves.",
    )


def stretched_axes() -> Fooled:
    grid = square_grid(GRID, -CAP, CAP)
    sphere = SURFACES["sphere by gating"].chart
    surface = measure_surface(sphere, grid)
    drawn = np.abs(measure_surface(stretched_sphere(STRETCH), grid).gaussian)
    _, high = _ends(surface)
    return Fooled(
        figure=side_view(surface, STRETCH),
        lie=f"an egg: K is {drawn.max() / drawn.min():.0f} times as large at its tip as at its rim",
        **_constant(surface),
        drawn="A sphere made by gating, seen from its side: the chart's grid lines and, bold, a"
        f" cross-section. A unit upwards is drawn {STRETCH:g} times as long as one sideways.",
        formula=rf"On a sphere of radius r, $K = 1/r^2$ = {high:.5g} with r = {high**-0.5:.3g}. The"
        f" egg that is drawn would have K from {figures(drawn.min(), 2)} to"
        f" {figures(drawn.max(), 2)}.",
        look_for="The ticks of both axes: equal steps of y must be equally far apart.",
    )


def even_scale() -> Fooled:
    surface = measure_surface(SURFACES["sphere by gating"].chart, square_grid(GRID))
    low, high = _ends(surface)
    field = _resolved(surface)
    scale = ColourScale(palette.SEQUENTIAL_SCALE, low, high)
    return Fooled(
        figure=quantity_map(surface.axis, field, scale, "K", ("u", "v")),
        lie="rough ground: from point to point K jumps over the whole scale",
        **_constant(surface),
        drawn="K over the chart of a sphere made by gating, on a scale of colours from the least K"
        " to the largest, as plotting programs choose it.",
        formula=f"From {low!r} to {high!r}: {len(np.unique(field))} different numbers. The last"
        f" digit of double precision is worth {figures(np.spacing(high), 1)} here.",
        look_for="The ends of the colours: they read the same.",
    )


def normalised() -> Fooled:
    specimen = _ungated(NORMALISED)
    surface = measure_specimen(specimen, GRID).surface
    dim = specimen.config.model_dim
    gap = np.abs(surface.gaussian[0] - 1 / dim)
    within = bool((gap <= surface.gaussian_error[0]).all() and surface.resolved.all())
    bound = _bound(surface)
    share = float(surface.shares.positive[0])
    ungated = specimen.config.gate is None
    return Fooled(
        figure=globe(surface, math.sqrt(dim)),
        lie=f"a ball, K > 0 on {percent(share)} of it: there must be a gate",
        number_name=f"|K − 1/{dim}| in a model {'without' if ungated else 'with'} a gate",
        number=f"at most {bound}" if within else f"up to {figures(gap.max())}",
        doubt=f"The computed K is off 1/{dim} by at most {error_text(gap.max())}, at any point.",
        drawn="The outputs of an ungated model with normalisation after attention, seen from"
        f" outside, with the chart's grid lines; round it the outline of a ball of radius √{dim}.",
        formula=rf"$y / \sqrt{{\overline{{y^2}}}}$ has length $\sqrt D$ = {math.sqrt(dim):.4g}: a"
        f" sphere with K = 1/D = {1 / dim:.4g}. Measured: {surface.gaussian[0].min():.10g} to"
        f" {surface.gaussian[0].max():.10g}.",
        look_for="Where a constant K comes from. Here every output has the same length, and there"
        " is no gate to have done it.",
    )
