"""Measures of a head: of its surface over a chart, and of its attention on a text.

Total curvature goes with the sharpness of a head. It is to be read beside that of twins
(`gating_core.checkpoints.twins`), and beside the span of the surface: a total has no scale, and a
speck may have a large one.

Shapes: H heads, T tokens, n keys, N points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from gating_core.checkpoints.head_map import HeadMap
from gating_core.checkpoints.layer import Layer, attend
from gating_core.checks import check_number
from gating_core.efficient import (
    CERTIFICATES,
    masses,
    needed_share,
    smallest_k,
    standardised,
)
from gating_core.geometry import (
    Grid,
    Integral,
    MeasuredSurface,
    square_grid,
    total_absolute_curvature,
)

SIDE = 31  # points along each side of the chart
EPSILONS = (0.01, 0.05)  # tail-mass budgets


@dataclass(frozen=True, eq=False)
class HeadMeasures:
    """The measurements of one head on a grid over a chart.

    Attributes:
        total: The integral of |K| dA, without a unit, and its error: rounding and discretisation.
        negative_share: Share of it where K < 0, from 0 to 1; 0 where the total is.
        span: Largest distance of an output from the outputs' mean, over that of a value from the
            values' mean: the size of the surface within the hull of its values.
        entropy: Of the attention weights, in nats: the mean over the chart.
        outside: Share of the outputs' variance outside of their leading principal plane.
        proved_share: Share of the points whose |K| exceeds a rigorous bound of its error.
        top: (N,) int64, the token with the largest weight at each point.
        top_weight: (N,), its weight.
    """

    total: Integral
    negative_share: float
    span: float
    entropy: float
    outside: float
    proved_share: float
    top: torch.Tensor
    top_weight: torch.Tensor


@torch.no_grad()
def measure_head(head: HeadMap, grid: Grid | None = None, bound: str = "rigorous") -> HeadMeasures:
    """Measure a head over its chart, by default at 31 x 31 points, with rigorous bounds.

    ``bound`` as in `second_order_jet`: "estimate" takes a third of the time, and proves nothing.
    """
    grid = square_grid(SIDE) if grid is None else grid
    surface = MeasuredSurface(head, grid, bound=bound)
    jet, field = surface.jet, surface.field
    total = total_absolute_curvature(field, grid.weights)
    density = field.gaussian * field.area_element * grid.weights.flatten()
    negative = -float(density.clamp(max=0)[field.resolved].sum())
    outputs = jet.value - jet.value.mean(0)
    values = head.values - head.values.mean(0)
    spreads = torch.linalg.svdvals(outputs).square()
    size, hull = (float(x.norm(dim=-1).max()) for x in (outputs, values))
    weights = head.weights(grid.points)
    top_weight, top = weights.max(-1)
    proved = field.decided if field.bound_kind == "rigorous" else torch.zeros(1)
    return HeadMeasures(
        total=total,
        negative_share=negative / float(total.value) if total.value > 0 else 0.0,
        span=size / hull if hull else 0.0,
        entropy=float(entropies(weights).mean()),
        outside=float(spreads[2:].sum() / spreads.sum()) if spreads[0] > 0 else 0.0,
        proved_share=float(proved.double().mean()),
        top=head.tokens[top],
        top_weight=top_weight,
    )


def entropies(weights: torch.Tensor) -> torch.Tensor:
    """(...): the entropy in nats of each row of ``weights`` (..., n)."""
    return torch.special.entr(weights).sum(-1)


@dataclass(frozen=True, eq=False)
class TextMeasures:
    """The measurements of all heads of a layer on a text, every token a query; (H,) each.

    Attributes:
        entropy: Of the attention weights, in nats, without a sink's share: the mean over queries.
        sink_share: Weight of the first token, which often serves as a sink: the mean over queries
            that are not special, and not the first token itself.
        value_ratio: Length of the first token's value over the median of the others'.
        sigma: Standard deviation of the scores, the mean over queries.
        needed: For each tail-mass budget ε the smallest number of keys that leaves out at most ε,
            the mean over queries.
        gaussian: The same by the Gaussian approximation, from σ of each query's scores.
        fires: For each of `CERTIFICATES` and ε the share of queries for which it certifies that at
            most half of the visible keys are enough.
    """

    entropy: torch.Tensor
    sink_share: torch.Tensor
    value_ratio: torch.Tensor
    sigma: torch.Tensor
    needed: dict[float, torch.Tensor]
    gaussian: dict[float, torch.Tensor]
    fires: dict[str, dict[float, torch.Tensor]]


@torch.no_grad()
def measure_text(
    layer: Layer,
    states: torch.Tensor,
    special: Sequence[bool] | None = None,
    epsilons: Sequence[float] = EPSILONS,
) -> TextMeasures:
    """Measure the attention of all heads of a layer on a text.

    Args:
        layer: As `read_layer` returns it.
        states: (T, D), T > 1, what its attention reads.
        special: For each token whether it is special; the values of such tokens, besides the first,
            are no part of ``value_ratio``.
        epsilons: Tail-mass budgets, between 0 and 1.
    """
    for epsilon in epsilons:
        check_number("epsilon", epsilon, 1e-9, 1 - 1e-9)
    computed = attend(layer, states)
    scores, weights = computed.scores, computed.scores.softmax(-1)
    ordinary = torch.ones(scores.shape[-1], dtype=torch.bool)
    if special is not None:
        ordinary = ~torch.tensor(special)
    ordinary[0] = False
    if not ordinary.any():
        raise ValueError("the text has no ordinary token besides the first")
    lengths = computed.values.norm(dim=-1)
    left_out = masses(scores)
    sigma = standardised(scores)[1]
    visible = (~scores.isneginf()).sum(-1)
    curves = {name: certificate.curve(scores) for name, certificate in CERTIFICATES.items()}
    return TextMeasures(
        entropy=entropies(weights).mean(-1),
        sink_share=computed.weights[..., ordinary, 0].mean(-1),
        value_ratio=lengths[:, 0] / lengths[:, ordinary].median(-1).values,
        sigma=sigma.mean(-1),
        needed={e: smallest_k(left_out, e).double().mean(-1) for e in epsilons},
        gaussian={e: (needed_share(sigma, e) * visible).clamp(min=1).mean(-1) for e in epsilons},
        fires={
            name: {e: (smallest_k(curve, e) <= visible / 2).double().mean(-1) for e in epsilons}
            for name, curve in curves.items()
        },
    )
