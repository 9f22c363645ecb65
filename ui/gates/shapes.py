"""Gates that are designed for a shape, and the small network that learns one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gating_core.geometry import square_grid
from gating_core.theory import GateDesign, MeasuredGate, design, fit_gate, measure_any_gate
from ui.common.words import short
from ui.gates.frames import GateFrame, frame_of
from ui.gates.request import GRID_SIZE

SIZES = (0.25, 2.0)  # of the shape, where the sheet is 1 from the origin
UNITS = (4, 8, 16, 32)
FIT_STEPS = 300


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
    largest_error: float  # of the gate
    error: np.ndarray  # network − gate
    exact: MeasuredGate
    fitted: MeasuredGate


def measure_design(request: ShapeRequest, size: int = GRID_SIZE) -> GateDesign:
    """Return the gate for the shape, and what it makes of the sheet."""
    return design(request.shape, request.size, square_grid(size))


def fit_shape(request: ShapeRequest, steps: int = FIT_STEPS,
              size: int = GRID_SIZE) -> Iterator[float | FittedGate]:  # fmt: skip
    """Fit a network to the gate for the shape; shares done, then the result."""
    grid = square_grid(size)
    gate = measure_design(request, size).reachable
    for fit in fit_gate(gate, request.seed, request.units, steps):
        yield fit.step / steps
    exact, fitted = measure_any_gate(gate, grid), measure_any_gate(fit.network, grid)
    error = (fitted.gate - exact.gate)[..., 0]
    yield FittedGate(
        size=gate.size,
        largest_error=float(np.abs(error).max()),
        error=error,
        exact=exact,
        fitted=fitted,
    )


def shape_frames(designed: GateDesign, fit: FittedGate | None) -> dict[str, GateFrame]:
    """Return what is drawn of a shape: the sheet under its gate, and under the network.

    Where no sigmoid reaches the gate, the smaller shape that was fitted stands between them.
    """
    images = {f"gate, size {short(designed.gate.size)}": designed.image}
    if fit is not None:
        images |= {f"gate, size {short(fit.size)}": fit.exact, "network": fit.fitted}
    return {name: frame_of(image) for name, image in images.items()}
