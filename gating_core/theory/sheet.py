"""What does a gate make of the flat sheet y = (u, v, 1)?

The sheet is an affine plane that misses the origin, over the chart [-1, 1]^2. A gate is a callable
from chart points (N, 2) to factors (N, 1), one for all channels, or (N, 3), one for each. At
strength s the factor in force is (1 - s) + s g: no gate at all at 0, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.checks import check_number
from gating_core.geometry.grid import Grid

LARGEST_GATE = 1e60  # and 1e-60 the smallest: squares of what they multiply are still numbers
ROUNDING = 1e-12  # of coordinates, whose unit is the half side of a chart
Gate = Callable[[torch.Tensor], torch.Tensor]


def sheet(points: torch.Tensor) -> torch.Tensor:
    """(N, 3): the sheet y = (u, v, 1) over chart points (N, 2)."""
    return torch.cat([points, torch.ones(len(points), 1, dtype=torch.float64)], -1)


@dataclass(frozen=True)
class GatedSheet:
    """A callable (N, 2) -> (N, 3): the sheet times its gate at a strength from 0 to 1."""

    gate: Gate
    strength: float = 1.0

    def __post_init__(self) -> None:
        check_number("strength", self.strength, 0.0, 1.0)

    def factor(self, points: torch.Tensor) -> torch.Tensor:
        """(N, 1) or (N, 3): what the sheet is multiplied by."""
        if self.strength == 0:
            return torch.ones(len(points), 1, dtype=torch.float64)
        gate = self.gate(points)
        return gate if self.strength == 1 else (1 - self.strength) + self.strength * gate

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        flat = sheet(points)
        return flat if self.strength == 0 else flat * self.factor(points)


def gate_values(gate: Gate, grid: Grid) -> np.ndarray:
    """(R, C, 1) or (R, C, 3): the gate itself, at full strength, on the ``grid``.

    In the grid's middle it is asked at 0, of which that is a rounding: there it may be none.
    """
    points = torch.where(grid.points.abs() < ROUNDING, 0.0, grid.points)
    with torch.no_grad():
        found = gate(points).to(torch.float64)
    return found.reshape(*grid.weights.shape, -1).numpy()


def gate_fails(values: np.ndarray) -> np.ndarray:
    """(R, C): where a gate with these ``values`` (R, C, channels) is none.

    It must be a positive, finite number, and between 1e-60 and 1e60 to be measured.
    """
    inside = (values > 1 / LARGEST_GATE) & (values < LARGEST_GATE)
    return np.asarray(~inside.all(-1))
