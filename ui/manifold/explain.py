"""*Explain this plot*: the numbers on the screen, for the four paragraphs below every picture.

The texts stand in ``assets/lessons/manifold.md``.
"""

from __future__ import annotations

from functools import partial

from gating_core.attention import AttentionConfig
from gating_core.experiments.specimen import (
    COLOURINGS,
    MeasuredSpecimen,
    Specimen,
    draggable_gates,
    gate_arrows,
    own_values,
)
from gating_core.geometry import TILT_LIMIT
from ui.common.lessons import section
from ui.common.parts import draw_explanation
from ui.common.words import curvature_text, short, vector_text
from ui.manifold.picture import ManifoldView
from ui.manifold.variants import averaged, draws_plane

_explain = partial(draw_explanation, "manifold")
SUBSCRIPTS = "₁₂₃"
At = tuple[int, int]  # row and column of the marked point
Measured = list[MeasuredSpecimen]  # ungated first


def _point(variant: MeasuredSpecimen, at: At) -> str:
    row, column = at
    axis = variant.surface.axis
    return f"({axis[column]:z.2f}, {axis[row]:z.2f})"


def explain_surfaces(variants: Measured, at: At) -> None:
    """Explain the two surfaces."""
    variant, config = variants[-1], variants[-1].specimen.config
    lines = "lines_grid"
    if draws_plane(variants[0]):
        lines = "lines_square" if averaged(variants[0]) is None else "lines_triangle"
    gates = [vector_text(stack[:, *at]) for stack in variant.gates[-1:]]
    _explain(
        "the surfaces",
        "surfaces",
        dim=config.model_dim,
        lines=section("manifold", lines),
        source=config.layer.come_from,
        point=_point(variant, at),
        weights=vector_text(variant.weights[-1][0, *at]),
        gate=f", the gate is {gates[0]}" if gates else "",
        y=vector_text(variant.surface.values[0, *at]),
        ungated=_without_gate(config),
    )


def _without_gate(config: AttentionConfig) -> str:
    """What an ungated model of this kind computes."""
    if not config.layer.fixed_values:
        return section("manifold", "ungated_tokens")
    if not config.layer.weights_on_simplex:
        return section("manifold", "ungated_off_simplex")
    parts = {
        "an output projection": config.output_projection,
        "the residual": config.residual,
        "normalisation": config.norm == "post",
    }
    after = [name for name, there in parts.items() if there]
    heads = "for every head " if config.heads > 1 else ""
    average = r"$\sum_i \alpha_i U_i$ with $\sum_i \alpha_i = 1$: an average of fixed vectors"
    text = f"Without a gate the layer computes {heads}{average}."
    return f"{text} Then come {' and '.join(after)}." if after else text


def explain_heatmap(variants: Measured, view: ManifoldView, at: At) -> None:
    """Explain the chart coloured by a quantity."""
    colouring, variant = COLOURINGS[view.colouring], variants[-1]
    shown = short(float(colouring.field(variant, view.layer, view.part)[at]))
    if view.colouring == "curvature":
        shown = curvature_text(variant.surface, (0, *at))
    formula, look_for, misread = section("manifold", f"quantity_{view.colouring}").split("\n\n")
    _explain(
        "the heatmaps", "heatmap", quantity=colouring.name, limit=f"{TILT_LIMIT:g}",
        formula=formula, point=_point(variant, at), symbol=colouring.symbol, shown=shown,
        look_for=look_for, misread=misread,
    )  # fmt: skip


def explain_simplex(variants: Measured, view: ManifoldView, at: At) -> None:
    """Explain the triangle of weights."""
    heads = variants[-1].weights[view.layer]
    chosen = view.part if view.colouring == "entropy" and view.part is not None else 0
    head = chosen if chosen < len(heads) else 0
    weights = heads[head, *at]
    _explain(
        "the triangles", "triangles", head=head + 1, weights=vector_text(weights),
        sum=f"{weights.sum():.3g}",
    )  # fmt: skip


def explain_handles(specimen: Specimen) -> None:
    """Explain the pads: values and, where they can be dragged, the first layer's gates."""
    vectors = map(vector_text, own_values(specimen))
    values = ", ".join(f"U{SUBSCRIPTS[i]} = {vector}" for i, vector in enumerate(vectors))
    arrows = weights = ""
    gate = specimen.config.gate
    if gate is not None and draggable_gates(specimen.config):
        one = "channel" if gate.granularity == "elementwise" else "head"
        first = vector_text(gate_arrows(specimen)[0])
        arrows = f" {section('manifold', 'handles_arrows', one=one)}"
        weights = f" {section('manifold', 'handles_weights', gate=first)}"
    config = specimen.config
    averages = config.layer.weights_on_simplex and config.heads == 1
    plain = averages and not config.residual and config.norm != "post"
    stays = " and stays in their plane" if plain else ""
    _explain("the handles", "handles", values=values, arrows=arrows, weights=weights, stays=stays)
