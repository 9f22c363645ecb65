"""Measures of a head: of its surface over a chart, and of its attention there.

Total curvature goes with the sharpness of a head. It is to be read beside that of twins
(`gating_core.checkpoints.twins`), and beside the span of the surface: a total has no scale, and a
speck may have a large one.

Shapes: n keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gating_core.checkpoints.head_map import HeadMap
from gating_core.geometry import (
    Grid,
    Integral,
    MeasuredSurface,
    square_grid,
    total_absolute_curvature,
)

SIDE = 31  # points along each side of the chart


@dataclass(frozen=True, eq=False)
class HeadMeasures:
    """The measurements of one head on a grid over a chart.

    Attributes:
        total: The integral of |K| dA, without a unit, and its error: rounding and discretisation.
        negative_share: Share of it where K < 0, from 0 to 1; 0 where the total is.
        span: Largest distance of an output from the outputs' mean, over that of a value from the
            values' mean: the size of the surface within the hull of its values.
        entropy: Of the attention weights, in nats: the mean over the chart.
        proved_share: Share of the points whose |K| exceeds a rigorous bound of its error.
    """

    total: Integral
    negative_share: float
    span: float
    entropy: float
    proved_share: float


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
    size, hull = (float(x.norm(dim=-1).max()) for x in (outputs, values))
    proved = field.decided if field.bound_kind == "rigorous" else torch.zeros(1)
    return HeadMeasures(
        total=total,
        negative_share=negative / float(total.value) if total.value > 0 else 0.0,
        span=size / hull if hull else 0.0,
        entropy=float(entropies(head.weights(grid.points)).mean()),
        proved_share=float(proved.double().mean()),
    )


def entropies(weights: torch.Tensor) -> torch.Tensor:
    """(...): the entropy in nats of each row of ``weights`` (..., n)."""
    return torch.special.entr(weights).sum(-1)
