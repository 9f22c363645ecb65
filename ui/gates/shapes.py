"""Which shape is a gate designed for, and how well does a small network learn that gate?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gating_core.geometry import SurfaceResult, square_grid
from gating_core.theory import Design, design, fit_gate, gate_values, measure_image

SIZES = (0.25, 2.0)  # of the shape, where the sheet is 1 from the origin
UNITS = (4, 8, 16, 32)
STEPS = 300
GRID = 61


@dataclass(frozen=True)
class ShapeRequest:
    """A shape by its name and size; the network's tanh ``units``, and the ``seed`` it starts at."""

    shape: str = "sphere"
    size: float = 0.75
    units: int = 32
    seed: int = 0


@dataclass(frozen=True, eq=False)
class FittedGate:
    """The gate that a sigmoid can reach, the network that learned it, and both images.

    ``size`` is the shape's, made smaller if it had to be. Arrays are (R, C).
    """

    size: float
    largest_error: float  # of the gate, on the grid that K is measured on
    learned_error: float  # on the grid that the network learned from
    wanted: np.ndarray  # the gate's values
    error: np.ndarray  # network less gate
    exact: SurfaceResult
    fitted: SurfaceResult


def measure_design(request: ShapeRequest, size: int = GRID) -> Design:
    """The gate for the shape, and what it makes of the sheet."""
    return design(request.shape, request.size, square_grid(size))


def fit_shape(request: ShapeRequest, steps: int = STEPS,
              size: int = GRID) -> Iterator[float | FittedGate]:  # fmt: skip
    """Fit a network to the gate for the shape; shares done, then the result."""
    grid = square_grid(size)
    gate = measure_design(request, size).reachable
    for fit in fit_gate(gate, request.seed, request.units, steps):
        yield fit.step / steps
    wanted = gate_values(gate, grid)[..., 0]
    error = gate_values(fit.network, grid)[..., 0] - wanted
    yield FittedGate(
        size=gate.size,
        largest_error=float(np.abs(error).max()),
        learned_error=fit.largest_error,
        wanted=wanted,
        error=error,
        exact=measure_image(gate, grid),
        fitted=measure_image(fit.network, grid),
    )
