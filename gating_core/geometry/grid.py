"""Square grids on a chart, with quadrature weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gating_core.checks import check_integer

LARGEST_GRID = 1001


@dataclass(frozen=True, eq=False)
class Grid:
    """A square grid on a chart: ``points`` (R * C, 2) in row order, ``weights`` (R, C).

    Row r holds v = ``axis[r]``, column c holds u = ``axis[c]``. The weights are the trapezoid
    rule's and add up to the chart's area.
    """

    axis: torch.Tensor
    points: torch.Tensor
    weights: torch.Tensor


def square_grid(size: int = 61, low: float = -1.0, high: float = 1.0) -> Grid:
    """``size`` by ``size`` points on [low, high]^2; ``size`` must be odd, 3 to 1001."""
    check_integer("size", size, 3, LARGEST_GRID)
    if size % 2 == 0:
        raise ValueError(f"size is {size}; it must be odd, so that every second point is a grid")
    axis = torch.linspace(low, high, size, dtype=torch.float64)
    v, u = torch.meshgrid(axis, axis, indexing="ij")
    line = torch.full((size,), (high - low) / (size - 1), dtype=torch.float64)
    line[[0, -1]] /= 2
    return Grid(axis, torch.stack([u.flatten(), v.flatten()], -1), torch.outer(line, line))
