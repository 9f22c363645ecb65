"""What fooled us: pictures that mislead on purpose, and beside each the number that does not.

A case computes both from the core; every number in a sentence is a computed one. Shapes: R x C
grid points, D outputs, n values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from gating_core.attention import WeightChart, through_logs
from gating_core.experiments.specimen import Specimen, build_specimen, chart_of, measure_specimen
from gating_core.geometry import (
    DEFAULT_STEP,
    SURFACES,
    adaptive_integrals,
    decided,
    diameter,
    difference_curvature,
    gaussian_range,
    known,
    largest,
    measure_surface,
    square_grid,
    stretched_sphere,
)
from ui.drawing import palette
from ui.drawing.colours import QUANTILE, ColourScale
from ui.manifold.fooled.numbers import percent, plus_minus, settled, short, up, verdict
from ui.manifold.fooled.pictures import globe, quantity_map, side_view, signed_map
from ui.manifold.request import Request, resolve

GRID = 61
SMALL_STEP = 1e-7  # in the chart: of the size that suits one-sided first differences
SHARPNESS = 20.0
TOLERANCE = 0.02  # of the total curvature
STRETCH = 2.0  # how much longer a unit of the upright axis is drawn
CAP = 3.0  # half the chart's side for the stretched sphere: it reaches 72 degrees from the pole
WHOLE_SPHERE = 4 * math.pi  # its total curvature


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
FLAT_SHEET = Request(seed=134)
SHEET_BY_DIFFERENCES = Request(seed=11)
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
    found = largest(surface)
    weights = chart_of(replace(specimen, chart="weights"))
    assert isinstance(weights, WeightChart)
    whole = measure_surface(through_logs(weights), square_grid(GRID))
    return Fooled(
        figure=signed_map(surface.axis, known(surface), zero_line=True),
        lie=f"without any gate this space is curved, |K| up to {short(found)}",
        number_name="Largest |K| on the attention-weight chart",
        number=settled(whole),
        doubt=f"{verdict(whole)}. All outputs of the {config.value_count} values together fill a"
        f" flat piece of {measured.hull_dimension} dimensions.",
        drawn=f"K over the input square for an ungated model with n = {config.value_count} values"
        f" in D = {config.model_dim} dimensions. Dashed: K = 0.",
        formula=r"$y = \sum_i \alpha_i U_i$ with fixed $U_i$ is flat in the weights $\alpha$: there"
        f" |K| is at most {short(np.abs(whole.gaussian).max(), 1)}, with a bound of"
        f" {up(whole.largest_error[0])}. In the inputs x, which choose the weights by a softmax,"
        f" |K| reaches {short(found)}.",
        look_for="Which chart is drawn. The inputs have two dimensions, so they reach only a"
        f" surface within the {measured.hull_dimension} dimensions that the weights fill.",
    )


def _own_range() -> Fooled:
    specimen = _ungated(FLAT_SHEET)
    surface = measure_specimen(specimen, GRID).surface
    field = known(surface)
    sizes, largest = np.abs(field), float(np.nanmax(np.abs(field)))
    end = float(np.nanquantile(sizes, QUANTILE))
    scale = ColourScale(palette.SIGNED_SCALE, -end, end, beyond=float((sizes > end).mean()))
    squared = diameter(surface) ** 2
    domes, saddles = float((field > 0).mean()), float((field < 0).mean())
    return Fooled(
        figure=quantity_map(surface.axis, field, scale, "K"),
        lie=f"a landscape with cliffs: domes on {percent(domes)} of it, saddles on"
        f" {percent(saddles)}",
        number_name="Largest |K| × diameter²",
        number=settled(surface, squared),
        doubt=f"{verdict(surface)}. The colours end at |K| = {short(end, 1)}.",
        drawn="K over the input square of an ungated sheet of three values. The colours end where"
        f" they do everywhere here, at the {percent(QUANTILE)} quantile of |K|, but without the"
        f" floor of {short(palette.COLOUR_RANGE_FLOOR)} that keeps a flat sheet grey.",
        formula=f"The largest |K| is {short(largest, 1)}; the bound of K reaches"
        f" {up(surface.largest_error[0])}. Times the squared diameter, {short(squared)}, that is"
        f" {short(largest * squared, 1)} without a unit.",
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
    largest, usual = np.abs(found).max(), np.abs(better).max()
    rounding = np.finfo(float).eps / 2
    h, wide = short(SMALL_STEP, 1), short(DEFAULT_STEP, 1)
    return Fooled(
        figure=signed_map(surface.axis, found),
        lie=f"it curves everywhere, |K| up to {short(largest, 2)}, total curvature"
        f" {short(total, 2)}",
        number_name="Largest |K|, from exact derivatives",
        number=settled(surface),
        doubt=f"{verdict(surface)}. Differences with a step of {wide} find at most"
        f" {short(usual, 1)}.",
        drawn="K over the input square of an ungated sheet of three values, from central"
        f" differences with a step of {h} in double precision.",
        formula=r"$y_{uu} \approx (y(u+h) - 2y(u) + y(u-h))/h^2$: rounding of about"
        f" {short(rounding, 1)} becomes {short(rounding / SMALL_STEP**2, 1)} at h = {h}, but"
        f" {short(rounding / DEFAULT_STEP**2, 1)} at h = {wide}.",
        look_for="What happens at another step: curvature stays, rounding changes beyond"
        " recognition.",
    )


def _saturated() -> Fooled:
    specimen = _ungated(SATURATED)
    chart = chart_of(specimen)
    surface = measure_surface(chart, square_grid(GRID))
    field = decided(surface)
    size = np.log10(np.abs(field))
    total = adaptive_integrals(chart, None, TOLERANCE, "rigorous").absolute
    found, middle = largest(surface), float(np.nanmedian(np.abs(field)))
    low, high = float(np.nanmin(size)), float(np.nanmax(size))
    value, error = float(total.value), float(total.error)
    return Fooled(
        figure=quantity_map(
            surface.axis, size, ColourScale(palette.SEQUENTIAL_SCALE, low, high, log=True), "|K|"
        ),
        lie=f"curved beyond all measure, |K| up to {short(found, 1)}",
        number_name="Total curvature ∫|K| dA",
        number=("" if bool(total.complete) else "at least ") + plus_minus(value, error),
        doubt=f"A whole sphere has {short(WHOLE_SPHERE)}, whatever its size. ±: rounding bound and"
        " sampling error.",
        drawn="|K| over the input square, as powers of ten, for an ungated model of"
        f" {specimen.config.value_count} values whose keys are {specimen.sharpness:g} times as"
        f" large as usual. Left open, {percent(np.isnan(field).mean())} of it: |K| not above its"
        " bound.",
        formula=rf"$\int |K|\,dA$ = {short(value)}. Where |K| = {short(found, 1)}, a sphere as"
        rf" curved has the radius $1/\sqrt{{|K|}}$ = {short(found**-0.5, 1)}. On half of the chart"
        f" |K| is above {short(middle, 1)}.",
        look_for="How small the surface is where K is large: a softmax with one weight near 1"
        " hardly moves.",
    )


def _stretched_sphere() -> Fooled:
    grid = square_grid(GRID, -CAP, CAP)
    sphere = SURFACES["sphere by gating"].chart
    surface = measure_surface(sphere, grid)
    drawn = np.abs(measure_surface(stretched_sphere(STRETCH), grid).gaussian)
    low, high, error = gaussian_range(surface)
    return Fooled(
        figure=side_view(surface),
        lie=f"an egg: K is {drawn.max() / drawn.min():.0f} times as large at its tip as at its rim",
        number_name="K, least and largest",
        number=f"{low:.5g} to {high:.5g}",
        doubt=f"They differ by {short((high - low) / high, 1)} of K; its bound is {up(error)}.",
        drawn="A sphere made by gating, seen from its side: the chart's grid lines and, bold, a"
        f" cross-section. A unit upwards is drawn {STRETCH:g} times as long as one sideways.",
        formula=rf"On a sphere of radius r, $K = 1/r^2$ = {high:.5g} with r = {high**-0.5:.3g}. The"
        f" egg that is drawn would have K from {short(drawn.min(), 2)} to"
        f" {short(drawn.max(), 2)}.",
        look_for="The ticks of both axes: equal steps of y must be equally far apart.",
    )


def _even_scale() -> Fooled:
    surface = measure_surface(SURFACES["sphere by gating"].chart, square_grid(GRID))
    low, high, error = gaussian_range(surface)
    field = known(surface)
    scale = ColourScale(palette.SEQUENTIAL_SCALE, low, high)
    return Fooled(
        figure=quantity_map(surface.axis, field, scale, "K", ("u", "v")),
        lie="rough ground: from point to point K jumps over the whole scale",
        number_name="K, least and largest",
        number=f"{low:.5g} to {high:.5g}",
        doubt=f"They differ by {short((high - low) / high, 1)} of K; its bound is {up(error)}.",
        drawn="K over the chart of a sphere made by gating, on a scale of colours from the least K"
        " to the largest, as plotting programs choose it.",
        formula=f"From {low!r} to {high!r}: {len(np.unique(field))} different numbers. The last"
        f" digit of double precision is worth {short(np.spacing(high), 1)} here.",
        look_for="The ends of the colours: they read the same.",
    )


def _normalised() -> Fooled:
    specimen = _ungated(NORMALISED)
    surface = measure_specimen(specimen, GRID).surface
    dim = specimen.config.model_dim
    gap = np.abs(surface.gaussian[0] - 1 / dim)
    within = bool((gap <= surface.gaussian_error[0]).all() and surface.resolved.all())
    bound = up(surface.largest_error[0])
    share = float(surface.shares.positive[0])
    ungated = specimen.config.gate is None
    return Fooled(
        figure=globe(surface, math.sqrt(dim)),
        lie=f"a ball, K > 0 on {percent(share)} of it: there must be a gate",
        number_name=f"K − 1/{dim} in a model {'without' if ungated else 'with'} a gate",
        number=f"0 ± {bound}" if within else f"up to {short(gap.max())}",
        doubt=f"The computed K is off 1/{dim} by at most {up(gap.max())}, at any point.",
        drawn="The outputs of an ungated model with normalisation after attention, seen from"
        f" outside, with the chart's grid lines; round it the outline of a ball of radius √{dim}.",
        formula=rf"$y / \sqrt{{\overline{{y^2}}}}$ has length $\sqrt D$ = {math.sqrt(dim):.4g}: a"
        f" sphere with K = 1/D = {1 / dim:.4g}. Measured: {surface.gaussian[0].min():.10g} to"
        f" {surface.gaussian[0].max():.10g}.",
        look_for="Where a constant K comes from. Here every output has the same length, and there"
        " is no gate to have done it.",
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
    "ownrange": Case(
        "A flat sheet on its own colour scale",
        (
            "A scale of colours that knows only its own values turns any noise into a landscape.",
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
