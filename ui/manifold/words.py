"""Sentences about manifolds, written from the numbers on the screen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gating_core.attention import SMALLEST_WEIGHT
from gating_core.experiments.specimen import COLOURINGS, MeasuredSpecimen
from gating_core.geometry import CURVED, FLAT, POINT_TYPES
from ui.common import words as common
from ui.common.lessons import section
from ui.drawing.axes import Axes
from ui.drawing.panels import View
from ui.manifold.picture import ManifoldPicture, ManifoldView
from ui.manifold.request import DISTANT, Metric

VARIANT_NAMES = ("Without gate", "With gate")


def heading(variant: MeasuredSpecimen) -> str:
    """What stands over a surface, whatever the strength of its gate."""
    gate = variant.specimen.config.gate
    if gate is None:
        return VARIANT_NAMES[0]
    per = "channel" if gate.granularity == "elementwise" else "head"
    return f"The same with a {gate.record.title} at {gate.position}, one per {per}"


def variant_name(variant: MeasuredSpecimen) -> str:
    """What a variant is called in tables and over numbers."""
    gate = variant.specimen.config.gate
    if gate is None:
        return VARIANT_NAMES[0]
    return VARIANT_NAMES[1] if gate.strength else "Gate at λ = 0"


def degenerate(variant: MeasuredSpecimen) -> bool:
    """Whether no tangent plane is known anywhere: no surface, or one too fine to see."""
    return variant.verdict.proof is None and not bool(variant.surface.resolved.any())


def on_a_line(variant: MeasuredSpecimen) -> bool:
    """Whether the outputs are averages of values on a line, or of one: there is no surface."""
    config, dimension = variant.specimen.config, variant.hull_dimension
    plain = config.gate is None and not config.residual and config.norm != "post"
    return plain and dimension is not None and dimension < 2


def readings(ungated: MeasuredSpecimen, dial: Sequence[MeasuredSpecimen]) -> list[str]:
    """One paragraph for every strength that says what is on the screen."""
    first = _sentence("**Without a gate**", ungated)
    return [f"{first} {_sentence(_with_gate(variant), variant)}" for variant in dial] or [first]


def _with_gate(variant: MeasuredSpecimen) -> str:
    gate = variant.specimen.config.gate
    assert gate is not None
    if gate.strength == 0:
        return "**With its gate at λ = 0**"
    return f"**With the {gate.record.title} at λ = {gate.strength:.2f}**"


def _sentence(name: str, variant: MeasuredSpecimen) -> str:
    if degenerate(variant):
        why = "all outputs lie on a line: there is no surface"
        if not on_a_line(variant):
            why = "rounding hides every tangent plane, so flat or curved is not known"
        return f"{name} {why}."
    return f"{name} the surface is {common.verdict_text(variant.verdict)}{_bending(variant)}."


def _bending(variant: MeasuredSpecimen) -> str:
    """Flat and bent are two things: a rolled sheet of paper is both."""
    if variant.verdict.word != FLAT or variant.verdict.proof is not None:
        return ""
    share = float((variant.types == POINT_TYPES.index("parabolic")).mean())
    return " in itself, although it bends like a rolled sheet of paper" if share > 0.5 else ""


def slice_warning(variant: MeasuredSpecimen) -> str:
    """Why an ungated surface curves, where it does: it is never the gate."""
    config, hull = variant.specimen.config, variant.hull_dimension
    if variant.verdict.word != CURVED or variant.verdict.curved <= common.SLIGHT:
        return ""
    if not config.layer.fixed_values:
        return section("manifold", "slice_tokens")
    if not config.layer.weights_on_simplex:
        return section("manifold", "slice_off_simplex")
    if config.norm == "post":
        return section("manifold", "slice_normalised")
    if config.residual:
        return section("manifold", "slice_residual")
    if config.norm == "pre":
        return section("manifold", "slice_query")
    return "" if hull == 2 else section("manifold", "slice_inputs", hull=hull)


def chart_text(variants: list[MeasuredSpecimen]) -> str:
    """Which chart is shown, and what it leaves out."""
    if variants[0].specimen.chart == "inputs":
        return section("manifold", "chart_inputs")
    text = section("manifold", "chart_weights", smallest=f"{SMALLEST_WEIGHT:g}")
    reach = next((x.reach for x in variants if x.reach is not None), None)
    if reach is not None:
        text += f" The inputs with these weights reach |x| = {common.short(reach)}"
        text += ", far outside the input square." if reach > DISTANT else "."
    elif len(variants) > 1 and variants[1].specimen.config.value_count > 3:
        text += " For n > 3 the gate reads a hidden state that in general no input produces."
    return text


def axes_text(axes: Axes, shares: list[float], depth: int) -> str:
    """What the drawn axes are, and how much of each variant's variance they show."""
    if not axes.principal:
        return ""
    shown = " and ".join(common.percent(share) for share in shares)
    both = len(shares) > 1
    names = " (without gate, with gate)" if both else ""
    whose = "the points of both models together" if both else "the points"
    return (
        f"The drawn axes are three principal components of {whose}, at {depth} layer"
        f"{'s' if depth > 1 else ''} and λ = 1. They show {shown} of the variance{names}. They stay"
        " the same when λ or the depth changes. K is measured in all dimensions."
    )


def metric_text(metric: Metric) -> str:
    """Which covariance lengths are measured with, where it is not the identity."""
    if metric == Metric():
        return ""
    what = {
        "isotropic": f"variance s² = {metric.variance:g} in every direction: K is multiplied by it",
        "diagonal": "variances " + ", ".join(f"{x:g}" for x in metric.variances),
        "turned": f"variance {metric.ratio:g} along {metric.angle:g}° in the plane of the first two"
        " drawn axes, 1 in all other directions",
    }[metric.kind]
    return f"Lengths are measured with the covariance chosen under *Doubt*: {what}."


def part_note(variant: MeasuredSpecimen, view: ManifoldView) -> dict[str, str]:
    """What is shown instead of a head or channel that the layer does not have."""
    inner = COLOURINGS[view.colouring].inner
    if not inner or view.part is None:
        return {}
    stacks = variant.weights if inner == "head" else variant.gates
    count = len(stacks[view.layer]) if stacks else 0
    if view.part < count:
        return {}
    return {"part": f"The layer has {count} to choose from. Shown: the mean."}


def scale_note(picture: ManifoldPicture, view: ManifoldView, frame: int) -> str:
    """What the colour scale and the scenes do not show by themselves in a ``frame``."""
    scale = picture.scale
    signed = COLOURINGS[view.colouring].range == "signed"
    if signed and scale.collapsed:
        return "K = 0 wherever it is known"
    beyond = max(shares[min(frame, len(shares) - 1)] for shares in picture.beyond)
    notes = {
        "black line: K = 0": signed,
        "logarithmic": scale.log,
        f"asinh scale, linear within ±{common.short(scale.soft or 0.0)}": scale.soft is not None,
        common.beyond_text(beyond): beyond > 0,
        common.crease_text(): _is_drawn(picture.view, "_crease_u", frame),
        "hatched: not known": _is_drawn(picture.view, "_hatch_u", frame),
        "each λ is drawn to its own scale": picture.boxes_vary,
    }
    return " · ".join(note for note, there in notes.items() if there)


def _is_drawn(view: View, line: str, frame: int) -> bool:
    return any(
        np.isfinite(x[frame] if name in view.framed else x).any()
        for name, x in view.arrays.items()
        if name.endswith(line)
    )


# --- The marked point -----------------------------------------------------------------------------


def point_rows(
    variants: list[MeasuredSpecimen], at: tuple[int, int], view: ManifoldView
) -> dict[str, list[str]]:
    """The table of the marked point: one column for each variant."""
    columns = [_point(variant, at, view) for variant in variants]
    names = list(columns[0])
    return {"At the marked point": names} | {
        variant_name(variant): [column[name] for name in names]
        for variant, column in zip(variants, columns, strict=True)
    }


def _point(variant: MeasuredSpecimen, at: tuple[int, int], view: ManifoldView) -> dict[str, str]:
    surface, axis = variant.surface, variant.surface.axis
    heads = variant.weights[view.layer][:, *at]
    mean_norm, principal = "unresolved", "unresolved"
    if variant.principal is None or variant.principal_error is None:
        principal = "for D = 3 only"
    elif surface.resolved[0, *at]:
        error = float(variant.principal_error[at])
        principal = ", ".join(common.plus_minus(float(k), error) for k in variant.principal[at])
    if surface.resolved[0, *at]:
        mean_norm = common.short(float(variant.mean_norm[at]))
    gates = variant.gates[view.layer][:, *at] if variant.gates else None
    return {
        "Chart": f"({axis[at[1]]:z.3f}, {axis[at[0]]:z.3f})",
        "Output y": common.vector_text(surface.values[0, *at]),
        "Attention weights": " | ".join(map(common.vector_text, heads)),
        "Gate": "none" if gates is None else common.vector_text(gates),
        "K": common.curvature_text(surface, (0, *at)),
        "|H|": mean_norm,
        "Principal curvatures": principal,
        "Point": POINT_TYPES[variant.types[at]],
    }
