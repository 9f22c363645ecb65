"""Gates that turn the sheet into a given shape, and a small network that learns such a gate.

A star-shaped surface is a radius R for every direction. The gate g = R(y/|y|) / |y| moves every
point y of the sheet along its ray to the surface: its image is the part of the shape that the
sheet covers, seen from the origin. A sigmoid gate lies in (0, 1), so that it
reaches exactly the shapes that lie between the origin and the sheet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.checks import check_choice, check_integer, check_number
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.surface import SurfaceResult, measure_surface
from gating_core.jets.blocks import one_thread
from gating_core.progress import Progress, silent
from gating_core.randomness import generator
from gating_core.theory.curvature_formula import Gate, sheet
from gating_core.theory.measure import MeasuredGate, measure_any_gate

SHAPE_SIZE_RANGE = (0.05, 5.0)
HIGHEST_REACHABLE = 0.75  # value of a gate that was scaled for a sigmoid
BUMPS = 0.12  # their height, of the sphere's radius
WAVES = 4.0  # radians of the bumps' waves for one unit of direction
SADDLE_DEPTH = 2.5  # 1/g at the middle of the saddle


@dataclass(frozen=True)
class Shape:
    """A star-shaped surface: ``radius`` maps unit vectors (N, 3) to distances (N, 1)."""

    radius: Callable[[torch.Tensor], torch.Tensor]
    why: str


def _sphere(d: torch.Tensor) -> torch.Tensor:
    return 1 + 0 * d[:, :1]


def _ellipsoid(d: torch.Tensor) -> torch.Tensor:
    x, y, z = (d * d).split(1, -1)
    return (x / 1.5625 + y / 0.5625 + z).rsqrt()


def _bumpy(d: torch.Tensor) -> torch.Tensor:
    x, y, _ = (d * WAVES).split(1, -1)
    return 1 + BUMPS * (torch.cos(x) * torch.cos(y))


def _rounded_cube(d: torch.Tensor) -> torch.Tensor:
    fourth = (d * d) * (d * d)
    return fourth.sum(-1, keepdim=True).sqrt().rsqrt()


def _saddle(d: torch.Tensor) -> torch.Tensor:
    x, y, z = d.split(1, -1)
    return z / (SADDLE_DEPTH * z * z + x * x - y * y)


SHAPES: dict[str, Shape] = {
    "sphere": Shape(_sphere, "all distances from the origin are equal"),
    "ellipsoid": Shape(_ellipsoid, "semi-axes 1.25, 0.75 and 1"),
    "bumpy sphere": Shape(_bumpy, "a sphere with waves in two directions"),
    "rounded cube": Shape(_rounded_cube, "the sum of fourth powers is constant"),
    "saddle": Shape(_saddle, "a piece of a hyperboloid of one sheet"),
}


@dataclass(frozen=True)
class DesignedGate:
    """A callable (N, 2) -> (N, 1): the gate for ``size`` times the shape called ``name``."""

    name: str
    size: float = 1.0

    def __post_init__(self) -> None:
        check_choice("shape", self.name, SHAPES)
        check_number("size", self.size, *SHAPE_SIZE_RANGE)

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        """(N, 1): the shape's radius over the sheet's distance from 0, at ``points`` (N, 2)."""
        y = sheet(points)
        over = (y * y).sum(-1, keepdim=True).rsqrt()
        return self.size * (SHAPES[self.name].radius(y * over) * over)


@dataclass(frozen=True)
class RadialGraph:
    """A callable (N, 2) -> (N, 3): the shape itself over the sheet's directions, without a gate."""

    name: str
    size: float = 1.0

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        """(N, 3): the points of the shape in the directions of the sheet at ``points`` (N, 2)."""
        direction = sheet(points)
        direction = direction / (direction * direction).sum(-1, keepdim=True).sqrt()
        return self.size * (SHAPES[self.name].radius(direction) * direction)


@dataclass(frozen=True, eq=False)
class GateDesign:
    """A shape, the gate that makes it on a grid, and whether a sigmoid gate can."""

    gate: DesignedGate
    values: np.ndarray  # (R, C)
    target: SurfaceResult  # the shape itself
    image: MeasuredGate  # the sheet under the gate

    @property
    def lowest(self) -> float:
        """The gate's smallest value."""
        return float(self.values.min())

    @property
    def highest(self) -> float:
        """The gate's largest value."""
        return float(self.values.max())

    @property
    def sigmoid_reaches(self) -> bool:
        """True if all values are in (0, 1)."""
        return self.lowest > 0 and self.highest < 1

    @property
    def size_limit(self) -> float:
        """The size of the shape at which the gate's largest value is 1."""
        return self.gate.size / self.highest

    @property
    def reachable(self) -> DesignedGate:
        """The gate for the same shape, made smaller where needed to keep its values below 0.75.

        Sigmoids come near 1 only for large logits, where a network hardly learns.
        """
        return DesignedGate(
            self.gate.name, min(self.gate.size, HIGHEST_REACHABLE * self.size_limit)
        )

    @property
    def agrees(self) -> bool:
        """True if K of shape and image agree within both errors, wherever both are resolved."""
        target, image = self.target, self.image.surface
        both = target.resolved & image.resolved
        gap = np.abs(target.gaussian - image.gaussian)
        allowed = target.gaussian_error + image.gaussian_error
        return bool((gap <= allowed)[both].all() and both.any())


def design(name: str, size: float, grid: Grid) -> GateDesign:
    """Compute and measure the gate for ``size`` times the shape ``name`` of `SHAPES`."""
    gate = DesignedGate(name, size)
    image = measure_any_gate(gate, grid)
    return GateDesign(
        gate=gate,
        values=image.gate[..., 0],
        target=measure_surface(RadialGraph(name, size), grid),
        image=image,
    )


# --- A network that learns a gate -----------------------------------------------------------------


UNITS_RANGE = (1, 64)
FIT_STEPS_RANGE = (1, 1000)
STEPS_AT_ONCE = 10  # between two reports of progress
FIT_GRID = 31  # points along a side that the network learns from
FIRST_DAMPING = 1e-2
DAMPING_RANGE = (1e-12, 1e12)
EASIER, HARDER = 0.3, 4.0  # what the damping is multiplied by after a good and a bad step


@dataclass(frozen=True, eq=False)
class GateNetwork:
    """A callable (N, 2) -> (N, 1): sigmoid(tanh(y A) b + c), y = (u, v, 1), with its P weights.

    The gate of a gated layer with one more hidden layer, of tanh units that read the state y.
    """

    inner: torch.Tensor  # (3, units): A
    outer: torch.Tensor  # (units, 1): b
    offset: torch.Tensor  # (1,): c

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        """(N, 1): the gate's values, within (0, 1), at ``points`` (N, 2)."""
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
    """A fitted network, with errors of its values at the training points."""

    network: GateNetwork
    largest_error: float
    mean_error: float


def first_network(seed: int, units: int) -> GateNetwork:
    """Draw random weights, which depend on ``seed`` and ``units`` alone."""
    draws = generator(seed, "theory.gate_network")
    inner = torch.randn(3, units, generator=draws, dtype=torch.float64)
    outer = torch.randn(units, 1, generator=draws, dtype=torch.float64) * units**-0.5
    return GateNetwork(inner, outer, torch.zeros(1, dtype=torch.float64))


def fit_gate(
    gate: Gate, seed: int = 0, units: int = 32, steps: int = 300, progress: Progress = silent
) -> GateFit:
    """Fit a network of ``units`` tanh units to a scalar ``gate``, in float64.

    By damped least squares on the gate's values on a grid, which with as few weights as here needs
    far fewer steps than descent. Source: Nocedal & Wright, *Numerical Optimization*, 2nd ed.,
    section 10.3 (Levenberg-Marquardt).

    ``progress`` is called with the share done every ten steps. ``ValueError`` for a gate that is
    not in (0, 1) everywhere.
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
        progress(until / steps)
    gap = search.missing.abs()
    return GateFit(search.network, float(gap.max()), float(gap.mean()))


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
