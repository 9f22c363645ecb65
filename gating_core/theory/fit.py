"""A small gate network, fitted to a given gate.

The network is the gate of a gated layer with one more hidden layer: a sigmoid of a linear map of
tanh units that read the state y = (u, v, 1). It is fitted to the gate's values on a grid by
damped least squares, which with as few weights as here needs far fewer steps than descent.
Source: Nocedal & Wright, *Numerical Optimization*, 2nd ed., section 10.3 (Levenberg-Marquardt).
All in float64; P weights, N points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from gating_core.checks import check_integer
from gating_core.geometry.grid import square_grid
from gating_core.jets.blocks import one_thread
from gating_core.randomness import generator
from gating_core.theory.law import Gate, sheet

UNITS_RANGE = (1, 64)
FIT_STEPS_RANGE = (1, 1000)
STEPS_AT_ONCE = 10  # between two yields
FIT_GRID = 31  # points along a side that the network learns from
FIRST_DAMPING = 1e-2
DAMPING_RANGE = (1e-12, 1e12)
EASIER, HARDER = 0.3, 4.0  # what the damping is multiplied by after a good and a bad step


@dataclass(frozen=True, eq=False)
class GateNetwork:
    """A callable (N, 2) -> (N, 1): sigmoid(tanh(y A) b + c), y = (u, v, 1), with its weights."""

    inner: torch.Tensor  # (3, units): A
    outer: torch.Tensor  # (units, 1): b
    offset: torch.Tensor  # (1,): c

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(torch.tanh(sheet(points) @ self.inner) @ self.outer + self.offset)

    def slopes(self, points: torch.Tensor) -> torch.Tensor:
        """(N, P): the derivatives of the values by all weights, A row by row, then b, then c."""
        y = sheet(points)
        units = torch.tanh(y @ self.inner)
        logits = units @ self.outer + self.offset
        slope = torch.sigmoid(logits) * torch.sigmoid(-logits)  # (N, 1)
        of_units = self.outer.mT * (1 - units.square())
        of_inner = (y.unsqueeze(-1) * of_units.unsqueeze(-2)).flatten(1)
        return slope * torch.cat([of_inner, units, torch.ones_like(slope)], -1)

    def moved(self, by: torch.Tensor) -> GateNetwork:
        """Another network, its weights ``by`` (P,) further, in the order of `slopes`."""
        inner, outer, offset = by.split([self.inner.numel(), self.outer.numel(), 1])
        return GateNetwork(
            self.inner + inner.reshape(self.inner.shape),
            self.outer + outer.unsqueeze(-1),
            self.offset + offset,
        )


@dataclass(frozen=True, eq=False)
class GateFit:
    """A network after ``step`` steps, with errors of its values at the training points."""

    step: int
    network: GateNetwork
    largest_error: float
    mean_error: float


def first_network(seed: int, units: int) -> GateNetwork:
    """Draw random weights, which depend on ``seed`` and ``units`` alone."""
    draws = generator(seed, "theory.gate_network")
    inner = torch.randn(3, units, generator=draws, dtype=torch.float64)
    outer = torch.randn(units, 1, generator=draws, dtype=torch.float64) * units**-0.5
    return GateNetwork(inner, outer, torch.zeros(1, dtype=torch.float64))


def fit_gate(gate: Gate, seed: int = 0, units: int = 32, steps: int = 300) -> Iterator[GateFit]:
    """Fit a network of ``units`` tanh units to a scalar ``gate``.

    Yields the fit so far every ten steps; the last one is the result:
    ``*_, fit = fit_gate(gate)``. ``ValueError`` for a gate that is not in (0, 1) everywhere.
    """
    check_integer("units", units, *UNITS_RANGE)
    check_integer("steps", steps, *FIT_STEPS_RANGE)
    points = square_grid(FIT_GRID).points
    with torch.no_grad():
        target = gate(points)
    if not ((target > 0) & (target < 1)).all():
        raise ValueError(
            f"gate has values from {float(target.min()):g} to {float(target.max()):g}; a sigmoid"
            " reaches those between 0 and 1"
        )
    search = _Search(first_network(seed, units), points, target)
    for done in range(0, steps, STEPS_AT_ONCE):
        until = min(done + STEPS_AT_ONCE, steps)
        with one_thread():
            for _ in range(done, until):
                search.step()
        gap = search.missing.abs()
        yield GateFit(until, search.network, float(gap.max()), float(gap.mean()))


class _Search:
    """A damped Gauss-Newton search; a step that increases the error is undone, the next is smaller.

    ``missing`` (N, 1) is the gate minus the network.
    """

    def __init__(self, network: GateNetwork, points: torch.Tensor, target: torch.Tensor) -> None:
        self.network, self.points, self.target = network, points, target
        self.damping = FIRST_DAMPING
        self.missing = target - network(points)

    def step(self) -> None:
        slopes = self.network.slopes(self.points)
        square, gradient = slopes.mT @ slopes, (slopes.mT @ self.missing).squeeze(-1)
        damped = square + self.damping * torch.diag(square.diagonal() + self.damping)
        trial = self.network.moved(torch.linalg.solve(damped, gradient))
        left = self.target - trial(self.points)
        if left.square().sum() < self.missing.square().sum():
            self.network, self.missing = trial, left
            self.damping = max(self.damping * EASIER, DAMPING_RANGE[0])
        else:
            self.damping = min(self.damping * HARDER, DAMPING_RANGE[1])
