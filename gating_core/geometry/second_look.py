"""A second look at a surface, at points that lie on no grid.

They show curvature that repeats with the grid's step and vanishes at its points. Every verdict on a
whole chart without a proof uses them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from gating_core.geometry.curvature import CurvatureField
from gating_core.geometry.grid import Grid

SEED = 1


@dataclass(frozen=True, eq=False)
class SecondLook:
    """Signs of K of T surfaces at ``points`` jittered points.

    (T,) each: whether K > 0, or K < 0, beyond its error at any of them; and whether K is within its
    error, at a resolved point, at all of them.
    """

    points: int
    positive: np.ndarray
    negative: np.ndarray
    zero: np.ndarray

    def frame(self, here: slice) -> SecondLook:
        """The look at some of the surfaces."""
        return SecondLook(self.points, self.positive[here], self.negative[here], self.zero[here])


def jittered(grid: Grid) -> torch.Tensor:
    """As many points as ``grid`` has, moved by up to half a step each way, within the chart."""
    generator = torch.Generator().manual_seed(SEED)
    step = grid.axis[1] - grid.axis[0]
    moved = torch.rand(grid.points.shape, dtype=torch.float64, generator=generator) - 0.5
    points, (low, high) = grid.points + moved * step, grid.axis[[0, -1]]
    points = torch.where(points < low, 2 * low - points, points)  # mirrored at the chart's border
    return torch.where(points > high, 2 * high - points, points)


def second_look(field: CurvatureField, lost: torch.Tensor | None = None) -> SecondLook:
    """Look at a ``field`` (..., N) of curvatures, but not at ``lost`` points (N,)."""
    count = field.gaussian.shape[-1]
    decided, resolved = (x.reshape(-1, count) for x in (field.decided, field.resolved))
    gaussian, flat = (x.reshape(-1, count) for x in (field.gaussian, field.flat))
    zero = flat & resolved
    if lost is not None:
        decided, zero = decided & ~lost, zero | lost
    return SecondLook(
        count,
        (decided & (gaussian > 0)).any(-1).numpy(),
        (decided & (gaussian < 0)).any(-1).numpy(),
        zero.all(-1).numpy(),
    )
