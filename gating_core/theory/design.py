"""Gates that turn the sheet into a given shape.

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

from gating_core.checks import check_choice, check_number
from gating_core.geometry.grid import Grid
from gating_core.geometry.surface import SurfaceResult, measure_surface
from gating_core.theory.curvature_formula import sheet
from gating_core.theory.measure import MeasuredGate, measure_any_gate

SHAPE_SIZE_RANGE = (0.05, 5.0)
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
