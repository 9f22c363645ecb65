"""Classical surfaces with known curvature, to test the geometry and to teach it.

Each takes chart points (N, 2) on [-1, 1]^2 and returns (N, D), with its Gaussian curvature in
closed form. Source: do Carmo, *Differential Geometry of Curves and Surfaces*,
chapters 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

RADIUS = 0.7  # of the sphere by gating
Map = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class ClassicSurface:
    """A chart and its Gaussian curvature, both functions of points (N, 2)."""

    chart: Map
    gaussian: Map


def _constant(value: float) -> Map:
    return lambda p: torch.full((len(p),), value, dtype=torch.float64)


def gnomonic_sphere(p: torch.Tensor) -> torch.Tensor:
    """The sheet (u, v, 1) under the scalar gate 0.7 / |y|: a sphere by gating."""
    u, v = p.unbind(-1)
    sheet = torch.stack([u, v, 0 * v + 1], -1)
    return sheet * (RADIUS / (u * u + v * v + 1).sqrt()).unsqueeze(-1)


def _ellipsoid(u: torch.Tensor, v: torch.Tensor) -> list[torch.Tensor]:
    return [2 * torch.cos(u) * torch.cos(v), torch.sin(u) * torch.cos(v), 0.5 * torch.sin(v)]


def _ellipsoid_gaussian(p: torch.Tensor) -> torch.Tensor:
    a, b, c = 2.0, 1.0, 0.5
    x, y, z = _ellipsoid(*p.unbind(-1))
    return 1 / ((a * b * c) ** 2 * (x**2 / a**4 + y**2 / b**4 + z**2 / c**4) ** 2)


def _square_of_radius(p: torch.Tensor) -> torch.Tensor:
    return (p**2).sum(-1)


def stretched_sphere(stretch: float) -> Map:
    """The sphere by gating with its third axis drawn ``stretch`` times as long."""
    factors = torch.tensor([1.0, 1.0, stretch], dtype=torch.float64)
    return lambda p: gnomonic_sphere(p) * factors


def _surface(coordinates: Callable[..., Sequence[torch.Tensor]], gaussian: Map) -> ClassicSurface:
    """A surface whose D ``coordinates`` are functions of u and v."""
    return ClassicSurface(lambda p: torch.stack([*coordinates(*p.unbind(-1))], -1), gaussian)


SURFACES: dict[str, ClassicSurface] = {
    "plane": _surface(lambda u, v: [1 + u + 2 * v, u - v, 3 * v - u], _constant(0.0)),
    "warped plane": _surface(
        lambda u, v: (x := torch.sinh(u) + 0.2 * v, y := v + 0.3 * u * v, 2 * x - y + 1),
        _constant(0.0),
    ),
    "cylinder": _surface(lambda u, v: [torch.cos(u), torch.sin(u), v], _constant(0.0)),
    "cone": _surface(
        lambda u, v: [(v + 2) * torch.cos(u), (v + 2) * torch.sin(u), 2 * (v + 2)], _constant(0.0)
    ),
    "sphere by gating": ClassicSurface(gnomonic_sphere, _constant(1 / RADIUS**2)),
    "ellipsoid": _surface(_ellipsoid, _ellipsoid_gaussian),
    "saddle": _surface(
        lambda u, v: [u, v, u * u - v * v], lambda p: -4 / (1 + 4 * _square_of_radius(p)) ** 2
    ),
    "paraboloid": _surface(
        lambda u, v: [u, v, u * u + v * v], lambda p: 4 / (1 + 4 * _square_of_radius(p)) ** 2
    ),
    "torus": _surface(
        lambda u, v: [
            (ring := 2 + torch.cos(2 * v)) * torch.cos(2 * u),
            ring * torch.sin(2 * u),
            torch.sin(2 * v),
        ],
        lambda p: torch.cos(2 * p[:, 1]) / (2 + torch.cos(2 * p[:, 1])),
    ),
    "catenoid": _surface(
        lambda u, v: [torch.cosh(v) * torch.cos(u), torch.cosh(v) * torch.sin(u), v],
        lambda p: -1 / torch.cosh(p[:, 1]) ** 4,
    ),
    "helicoid": _surface(
        lambda u, v: [torch.sinh(v) * torch.sin(u), -torch.sinh(v) * torch.cos(u), u],
        lambda p: -1 / torch.cosh(p[:, 1]) ** 4,
    ),
    "pseudosphere": _surface(
        lambda u, v: [
            torch.cos(u) / torch.cosh(t := v + 1.5),
            torch.sin(u) / torch.cosh(t),
            t - torch.tanh(t),
        ],
        _constant(-1.0),
    ),
    "flat torus in R4": _surface(
        lambda u, v: [torch.cos(u), torch.sin(u), 2 * torch.cos(v), 2 * torch.sin(v)],
        _constant(0.0),
    ),
    "graph of z^2 in C2": _surface(
        lambda u, v: [u, v, u * u - v * v, 2 * u * v],
        lambda p: -8 / (1 + 4 * _square_of_radius(p)) ** 3,
    ),
}
