"""What fooled us: pictures that mislead on purpose, and beside each the number that does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ui.manifold.fooled import makers
from ui.manifold.fooled.makers import Fooled
from ui.manifold.request import Request


@dataclass(frozen=True)
class Case:
    """``why``: two sentences. ``make`` computes; ``request`` is the model on the Manifold page."""

    title: str
    why: tuple[str, str]
    make: Callable[[], Fooled]
    request: Request | None = None


FOOLED: dict[str, Case] = {
    "flat space, curved slice": Case(
        "A curved picture of a flat space",
        (
            "A surface inside a flat space can be curved, as a balloon in a room is.",
            "The outputs fill a flat piece of space; what curves is the slice that the inputs cut"
            " out of it.",
        ),
        makers.curved_slice,
        makers.SIX_VALUES,
    ),
    "noise on its own scale": Case(
        "A flat sheet on its own colour scale",
        (
            "A scale of colours that knows only its own values turns any noise into a landscape.",
            "Rounding leaves such a pattern on every flat sheet; only a bound tells it from"
            " curvature.",
        ),
        makers.own_range,
        makers.FLAT_SHEET,
    ),
    "step too small": Case(
        "Finite differences with too small a step",
        (
            "Second differences divide rounding by the square of the step, so smaller is not"
            " better.",
            "Exact derivatives have no step, and bring a bound with them.",
        ),
        makers.small_step,
        makers.SHEET_BY_DIFFERENCES,
    ),
    "saturated softmax": Case(
        "A saturated softmax",
        (
            "K has the unit 1/length²: a piece that a saturated softmax has shrunk to almost"
            " nothing has an enormous K.",
            "The total curvature counts every piece by its area, and has no unit.",
        ),
        makers.saturated,
        makers.SATURATED,
    ),
    "stretched axes": Case(
        "A sphere on stretched axes",
        (
            "The same length is longer on one axis than on the other, and the eye believes the"
            " screen.",
            "Curvature belongs to the surface, not to the drawing: on a sphere it is the same"
            " everywhere.",
        ),
        makers.stretched_axes,
    ),
    "colours without zero": Case(
        "A sphere on colours from least to largest",
        (
            "A scale from the least value to the largest has no floor: where nothing varies, it"
            " spreads over the last digits.",
            "Colours that are symmetric about zero show a sphere in one colour.",
        ),
        makers.even_scale,
    ),
    "normalisation": Case(
        "A sphere without a gate",
        (
            "Normalisation divides every output by its own length, and so lays a flat sheet round a"
            " ball.",
            "Gating is one way to curve, not the only one: look at the ungated model before you"
            " blame the gate.",
        ),
        makers.normalised,
        makers.NORMALISED,
    ),
}
