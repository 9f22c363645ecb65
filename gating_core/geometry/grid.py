"""Square grids on a chart, with quadrature weights; and a chart divided into cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
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
    axis[size // 2] = (low + high) / 2  # linspace leaves 1e-17 of a zero
    v, u = torch.meshgrid(axis, axis, indexing="ij")
    line = torch.full((size,), (high - low) / (size - 1), dtype=torch.float64)
    line[[0, -1]] /= 2
    return Grid(axis, torch.stack([u.flatten(), v.flatten()], -1), torch.outer(line, line))


# --- Cells ----------------------------------------------------------------------------------------


SMALLEST = 2.0**-24  # half width: a smaller cell is split no further


@dataclass(frozen=True, eq=False)
class Cells:
    """N boxes of the chart [-1, 1]^2 about ``centres`` (N, 2), of half widths ``radius`` (N, 2)."""

    centres: torch.Tensor
    radius: torch.Tensor

    def __len__(self) -> int:
        return len(self.centres)

    def __getitem__(self, index: torch.Tensor | slice) -> Cells:
        return Cells(self.centres[index], self.radius[index])

    @property
    def share(self) -> float:
        """The share of the chart's area that the cells cover."""
        return float(self.radius.prod(-1).sum())


def chart_cells(side: int) -> Cells:
    """The chart in ``side`` x ``side`` cells; powers of two have no rounding in them."""
    along = (2 * torch.arange(side, dtype=torch.float64) + 1) / side - 1
    v, u = torch.meshgrid(along, along, indexing="ij")
    centres = torch.stack([u.flatten(), v.flatten()], -1)
    return Cells(centres, torch.full_like(centres, 1 / side))


def grid_points_near(cells: Cells, axis: np.ndarray) -> np.ndarray:
    """(R, C): the points of a grid with that ``axis`` (R,) that are nearest to any of ``cells``.

    A point is marked if a cell reaches into the square about it that is half a step wide each way.
    """
    marked = np.zeros((len(axis), len(axis)), dtype=bool)
    step = (axis[-1] - axis[0]) / (len(axis) - 1)
    low, high = (
        np.clip(np.round((x.numpy() - axis[0]) / step).astype(int), 0, len(axis) - 1)
        for x in (cells.centres - cells.radius, cells.centres + cells.radius)
    )
    for column in (low[:, 0], high[:, 0]):
        for row in (low[:, 1], high[:, 1]):
            marked[row, column] = True
    return marked
