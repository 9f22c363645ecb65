"""Sentences about manifolds, written from the numbers on the screen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gating_core.attention import SMALLEST_WEIGHT
from gating_core.experiments.specimen import COLOURINGS, MeasuredSpecimen
from gating_core.geometry import (
    CURVED,
    FLAT,
    MOST_CURVED,
    POINT_TYPES,
    SurfaceIntegrals,
    concentration,
)
from ui.common.words import (
    SLIGHT,
    beyond_text,
    bound_text,
    curvature_text,
    doubt_text,
    percent,
    plus_minus,
    short,
    total_text,
    vector_text,
    verdict_text,
)
from ui.drawing.axes import Axes
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


def caption(side: MeasuredSpecimen) -> str:
    """What stands below the heading: the sizes, and how much it curves, and how unevenly."""
    config = side.specimen.config
    layers = "1 layer" if config.depth == 1 else f"{config.depth} layers"
    return (
        f"{layers}, D = {config.model_dim}, n = {config.value_count} · total curvature"
        f" {_total(side)}"
    )


def _total(side: MeasuredSpecimen) -> str:
    if degenerate(side):
        return "**none**: no surface"
    if side.verdict.word == FLAT:
        return "**0**: flat"
    text = f"**{total_text(side.total, flat=False)}**"
    share = float(concentration(side.surface)[0])
    return (
        f"{text}, {percent(share)} of it on {percent(MOST_CURVED)} of the area" if share else text
    )


def side_name(side: MeasuredSpecimen) -> str:
    """What a side is called in tables and over numbers."""
    gate = side.specimen.config.gate
    if gate is None:
        return SIDE_NAMES[0]
    return SIDE_NAMES[1] if gate.strength else "Gate at λ = 0"


def degenerate(side: MeasuredSpecimen) -> bool:
    """Whether the outputs fill a line or a point, as far as one can see: there is no surface."""
    return side.verdict.proof is None and not bool(side.surface.resolved.any())


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
        return (
            f"{name} there is no surface to measure: the outputs lie on a line or fold so sharply"
            " that no tangent plane is known."
        )
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


def scale_note(picture: ManifoldPicture, look: Look) -> str:
    """What the strip of colours and the scenes do not show by themselves."""
    scale, parts = picture.scale, []
    if COLOURINGS[look.colouring].range == "signed":
        parts.append("dashed: K = 0")
    if scale.log:
        parts.append("logarithmic")
    if scale.soft is not None:
        parts.append(f"asinh scale, linear within ±{short(scale.soft)}")
    if scale.beyond > 0:
        parts.append(beyond_text(scale.beyond))
    if any(np.isfinite(x).any() for name, x in picture.view.arrays.items() if "_crease_" in name):
        parts.append(f"teal: the most curved {percent(MOST_CURVED)} of the area")
    if picture.boxes_vary:
        parts.append("each λ in a box of its own")
    return " · ".join(parts)


def total_caption(side: MeasuredSpecimen, found: SurfaceIntegrals) -> str:
    """The doubt under a total."""
    if degenerate(side):
        return "no tangent plane is resolved"
    return doubt_text(found.absolute, side.verdict)


def total_of(side: MeasuredSpecimen, found: SurfaceIntegrals) -> str:
    """The headline number."""
    if degenerate(side):
        return "none"
    return total_text(found.absolute, side.verdict.word == FLAT)


def total_help(side: MeasuredSpecimen) -> str:
    """What a total is, and by which numbers a flat one is called flat."""
    text = (
        "The integral of |K| over the surface: how much it curves in all, whatever its size. A"
        " sphere has 4π ≈ 12.6, the corner of a cube π/2 ≈ 1.57."
    )
    return f"{text} Here: {bound_text(side.verdict)}" if side.verdict.word == FLAT else text


def point_rows(sides: list[MeasuredSpecimen], at: tuple[int, int], look: Look) -> dict[str, list]:
    """The table of the marked point: one column a side."""
    rows: dict[str, list] = {"At the marked point": []}
    table = [_point(side, at, look) for side in sides]
    rows["At the marked point"] = list(table[0])
    for side, column in zip(sides, table, strict=True):
        rows[side_name(side)] = [column.get(name, "–") for name in table[0]]
    return rows


def _point(side: MeasuredSpecimen, at: tuple[int, int], look: Look) -> dict[str, str]:
    row, column = at
    surface, axis = side.surface, side.surface.axis
    weights = side.weights[look.layer][:, row, column]
    found = {
        "Chart": f"({axis[column]:z.3f}, {axis[row]:z.3f})",
        "Output y": vector_text(surface.values[0, row, column]),
        "Attention weights": " | ".join(vector_text(head) for head in weights),
        "Gate": "none",
        "K": curvature_text(surface, (0, row, column)),
        "|H|": "unresolved",
        "Principal curvatures": "for D = 3 only" if side.principal is None else "unresolved",
        "Point": POINT_TYPES[side.types[row, column]],
    }
    if side.gates:
        found["Gate"] = vector_text(side.gates[look.layer][:, row, column])
    if surface.resolved[0, row, column]:
        found["|H|"] = short(float(side.mean_norm[row, column]))
        if side.principal is not None and side.principal_error is not None:
            error = float(side.principal_error[row, column])
            pair = (plus_minus(float(k), error) for k in side.principal[row, column])
            found["Principal curvatures"] = ", ".join(pair)
    return found
