"""Sentences about manifolds, written from the numbers on the screen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gating_core.attention import SMALLEST_WEIGHT
from gating_core.experiments.specimen import (
    COLOURINGS,
    MeasuredSpecimen,
)
from gating_core.geometry import (
    CURVED,
    FLAT,
    POINT_TYPES,
)
from ui.common.words import (
    SLIGHT,
    beyond_text,
    crease_text,
    percent,
    short,
    verdict_text,
)
from ui.drawing.axes import Axes
from ui.drawing.panels import View
from ui.manifold.picture import Look, ManifoldPicture
from ui.manifold.request import DISTANT, Metric

SIDE_NAMES = ("Without gate", "With gate")


def heading(side: MeasuredSpecimen) -> str:
    """What stands over a surface, whatever the strength of its gate."""
    gate = side.specimen.config.gate
    if gate is None:
        return SIDE_NAMES[0]
    per = "channel" if gate.granularity == "elementwise" else "head"
    return f"The same with a {gate.record.title} at {gate.position}, one per {per}"


def side_name(side: MeasuredSpecimen) -> str:
    """What a side is called in tables and over numbers."""
    gate = side.specimen.config.gate
    if gate is None:
        return SIDE_NAMES[0]
    return SIDE_NAMES[1] if gate.strength else "Gate at λ = 0"


def degenerate(side: MeasuredSpecimen) -> bool:
    """Whether no tangent plane is known anywhere: no surface, or one too fine to see."""
    return side.verdict.proof is None and not bool(side.surface.resolved.any())


def on_a_line(side: MeasuredSpecimen) -> bool:
    """Whether the outputs are averages of values on a line, or of one: there is no surface."""
    config, dimension = side.specimen.config, side.hull_dimension
    plain = config.gate is None and not config.residual and config.norm != "post"
    return plain and dimension is not None and dimension < 2


def readings(ungated: MeasuredSpecimen, dial: Sequence[MeasuredSpecimen]) -> list[str]:
    """One paragraph for every strength that says what is on the screen."""
    first = _sentence("**Without a gate**", ungated)
    if not dial:
        return [first]
    return [f"{first} {_sentence(_with_gate(side), side)}" for side in dial]


def _with_gate(side: MeasuredSpecimen) -> str:
    gate = side.specimen.config.gate
    assert gate is not None
    if gate.strength == 0:
        return "**With its gate dialled down to nothing**"
    return f"**With the {gate.record.title} at λ = {gate.strength:.2f}**"


def _sentence(name: str, side: MeasuredSpecimen) -> str:
    if degenerate(side):
        why = "all outputs lie on a line: there is no surface"
        if not on_a_line(side):
            why = "nobody can tell: rounding hides every tangent plane"
        return f"{name} {why}."
    return f"{name} the surface is {verdict_text(side.verdict)}{_bending(side)}."


def _bending(side: MeasuredSpecimen) -> str:
    """Flat and bent are two things: a rolled sheet of paper."""
    if side.verdict.word != FLAT or side.verdict.proof is not None:
        return ""
    share = float((side.types == POINT_TYPES.index("parabolic")).mean())
    return " in itself, although it bends like a rolled sheet of paper" if share > 0.5 else ""


def slice_warning(side: MeasuredSpecimen) -> str:
    """Why an ungated surface curves, where it does: it is never the gate."""
    config = side.specimen.config
    if side.verdict.word != CURVED or side.verdict.curved <= SLIGHT:
        return ""
    if not config.layer.fixed_values:
        return (
            "Curved without a gate: the values are computed from the input and move with it, so"
            " the flatness theorem, which is about fixed values, does not apply."
        )
    if not config.layer.weights_on_simplex:
        return (
            "Curved without a gate: the weights do not add up to one, so an output is no average of"
            " the values, and the flatness theorem, which is about averages, does not apply."
        )
    if config.norm == "post":
        return (
            "Curved without a gate: normalisation puts every output on a sphere of radius √D."
            " Gating is one way to curve, not the only one."
        )
    if config.residual:
        return (
            "Curved without a gate: a residual connection adds the hidden state, which is no"
            " average of fixed values."
        )
    if config.norm == "pre":
        return "Curved without a gate: the normalised query sweeps a curved slice of the weights."
    dimension = side.hull_dimension
    if dimension == 2:
        return ""
    return (
        "It is the slice that curves here, not the manifold: the set of all outputs fills a flat"
        f" piece of {dimension} dimensions, and this chart cuts a curved surface out of it."
    )


def chart_text(sides: list[MeasuredSpecimen]) -> str:
    """Which chart is shown, and what it leaves out."""
    specimen = sides[0].specimen
    if specimen.chart == "inputs":
        return "Chart: the input square [−1, 1]² (query chart)."
    text = (
        "Chart: the first layer's attention weights on a flat slice of the simplex through its"
        f" centre, smallest weight {SMALLEST_WEIGHT:g} (attention-weight chart)."
    )
    reach = next((side.reach for side in sides if side.reach is not None), None)
    if reach is not None:
        text += f" The inputs behind it reach |x| = {short(reach)}"
        text += ", far outside the data." if reach > DISTANT else "."
    elif len(sides) > 1 and sides[1].specimen.config.value_count > 3:
        text += " For n > 3 the gate reads a hidden state that in general no input produces."
    return text


def axes_text(axes: Axes, shares: list[float], depth: int) -> str:
    """What the drawn axes are, and how much of each side's variance they show."""
    if not axes.principal:
        return ""
    shown = " and ".join(percent(share) for share in shares)
    both = len(shares) > 1
    names = " (without gate, with gate)" if both else ""
    whose = "both sides' points together" if both else "the points"
    return (
        f"Drawn: three principal components of {whose}, at {depth} layer"
        f"{'s' if depth > 1 else ''} and λ = 1; they show {shown} of the variance{names}, and stay"
        " put while λ and the depth move. K is measured in all dimensions."
    )


def metric_text(metric: Metric) -> str:
    """Which covariance lengths are measured with, where it is not the identity."""
    if metric == Metric():
        return ""
    what = {
        "isotropic": f"variance s² = {metric.variance:g} in every direction: K is multiplied by it",
        "diagonal": "variances " + ", ".join(f"{x:g}" for x in metric.variances),
        "turned": f"variance {metric.ratio:g} along {metric.angle:g}° in the plane of the first two"
        " drawn axes, 1 elsewhere",
    }[metric.kind]
    return f"Lengths are measured with the covariance chosen under *Doubt*: {what}."


def part_note(side: MeasuredSpecimen, look: Look) -> dict[str, str]:
    """What is shown instead of a head or channel that the layer does not have."""
    inner = COLOURINGS[look.colouring].inner
    if not inner or look.part is None:
        return {}
    stacks = side.weights if inner == "head" else side.gates
    count = len(stacks[look.layer]) if stacks else 0
    if look.part < count:
        return {}
    return {"part": f"The layer has {count} to choose from. Shown: the mean."}


def scale_notes(picture: ManifoldPicture, look: Look) -> list[str]:
    """What the strip of colours and the scenes do not show by themselves, in every frame."""
    return [_scale_note(picture, look, frame) for frame in range(picture.view.frames)]


def _scale_note(picture: ManifoldPicture, look: Look, frame: int) -> str:
    scale, parts = picture.scale, []
    signed = COLOURINGS[look.colouring].range == "signed"
    if signed and scale.collapsed:
        return "K = 0 wherever it is known"
    if signed:
        parts.append("black line: K = 0")
    if scale.log:
        parts.append("logarithmic")
    if scale.soft is not None:
        parts.append(f"asinh scale, linear within ±{short(scale.soft)}")
    beyond = max(side[min(frame, len(side) - 1)] for side in picture.beyond)
    if beyond > 0:
        parts.append(beyond_text(beyond))
    if _is_drawn(picture.view, "_crease_u", frame):
        parts.append(crease_text())
    if _is_drawn(picture.view, "_hatch_u", frame):
        parts.append("hatched: not known")
    if picture.boxes_vary:
        parts.append("each λ in a box of its own")
    return " · ".join(parts)


def _is_drawn(view: View, line: str, frame: int) -> bool:
    return any(
        np.isfinite(x[frame] if name in view.framed else x).any()
        for name, x in view.arrays.items()
        if name.endswith(line)
    )
