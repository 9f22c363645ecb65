"""Classical surfaces with known curvature, to test the geometry and to teach it.

Each takes chart points (N, 2) on [-1, 1]^2 and returns (N, D); its Gaussian curvature stands
beside it in closed form. Source: do Carmo, *Differential Geometry of Curves and Surfaces*,
chapters 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

Map = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Surface:
    """A chart and its Gaussian curvature, both functions of points (N, 2)."""

    chart: Map
    gaussian: Map


def _constant(value: float) -> Map:
    return lambda p: torch.full((len(p),), value, dtype=torch.float64)


def _plane(p: torch.Tensor) -> torch.Tensor:
    u, v = p.unbind(-1)
    return torch.stack([1 + u + 2 * v, u - v, 3 * v - u], -1)


def _warped_plane(p: torch.Tensor) -> torch.Tensor:
    u, v = p.unbind(-1)
    x, y = torch.sinh(u) + 0.2 * v, v + 0.3 * u * v
    return torch.stack([x, y, 2 * x - y + 1], -1)


def _cylinder(p: torch.Tensor) -> torch.Tensor:
    u, v = p.unbind(-1)
    return torch.stack([torch.cos(u), torch.sin(u), v], -1)


def _cone(p: torch.Tensor) -> torch.Tensor:
    u, v = p.unbind(-1)
    r = v + 2
    return torch.stack([r * torch.cos(u), r * torch.sin(u), 2 * r], -1)


def gnomonic_sphere(p: torch.Tensor, radius: float = 0.7) -> torch.Tensor:
    """The sheet (u, v, 1) under the scalar gate radius / |y|: a sphere by gating."""
    u, v = p.unbind(-1)
    sheet = torch.stack([u, v, 0 * v + 1], -1)
    return sheet * (radius / (u * u + v * v + 1).sqrt()).unsqueeze(-1)


def _ellipsoid(p: torch.Tensor) -> torch.Tensor:
    u, v = p.unbind(-1)
    return torch.stack([2 * torch.cos(u) * torch.cos(v), torch.sin(u) * torch.cos(v),
                        0.5 * torch.sin(v)], -1)  # fmt: skip


def _ellipsoid_gaussian(p: torch.Tensor) -> torch.Tensor:
    a, b, c = 2.0, 1.0, 0.5
    x, y, z = _ellipsoid(p).unbind(-1)
    return 1 / ((a * b * c) ** 2 * (x**2 / a**4 + y**2 / b**4 + z**2 / c**4) ** 2)


def _saddle(p: torch.Tensor) -> torch.Tensor:
    u, v = p.unbind(-1)
    return torch.stack([u, v, u * u - v * v], -1)


def _paraboloid(p: torch.Tensor) -> torch.Tensor:
    u, v = p.unbind(-1)
    return torch.stack([u, v, u * u + v * v], -1)


def _torus(p: torch.Tensor) -> torch.Tensor:
    u, v = (2 * p).unbind(-1)
    ring = 2 + torch.cos(v)
    return torch.stack([ring * torch.cos(u), ring * torch.sin(u), torch.sin(v)], -1)


def _catenoid(p: torch.Tensor) -> torch.Tensor:
    u, v = p.unbind(-1)
    return torch.stack([torch.cosh(v) * torch.cos(u), torch.cosh(v) * torch.sin(u), v], -1)


def _helicoid(p: torch.Tensor) -> torch.Tensor:
    u, v = p.unbind(-1)
    return torch.stack([torch.sinh(v) * torch.sin(u), -torch.sinh(v) * torch.cos(u), u], -1)


def _pseudosphere(p: torch.Tensor) -> torch.Tensor:
    u, t = p.unbind(-1)
    t = t + 1.5
    return torch.stack([torch.cos(u) / torch.cosh(t), torch.sin(u) / torch.cosh(t),
                        t - torch.tanh(t)], -1)  # fmt: skip


def _flat_torus(p: torch.Tensor) -> torch.Tensor:
    u, v = p.unbind(-1)
    return torch.stack([torch.cos(u), torch.sin(u), 2 * torch.cos(v), 2 * torch.sin(v)], -1)


def _complex_square(p: torch.Tensor) -> torch.Tensor:
    u, v = p.unbind(-1)
    return torch.stack([u, v, u * u - v * v, 2 * u * v], -1)


def _square_of_radius(p: torch.Tensor) -> torch.Tensor:
    return (p**2).sum(-1)


def stretched_sphere(stretch: float) -> Map:
    """The sphere by gating with its third axis drawn ``stretch`` times as long."""
    factors = torch.tensor([1.0, 1.0, stretch], dtype=torch.float64)
    return lambda p: gnomonic_sphere(p) * factors


SURFACES: dict[str, Surface] = {
    "plane": Surface(_plane, _constant(0.0)),
    "warped plane": Surface(_warped_plane, _constant(0.0)),
    "cylinder": Surface(_cylinder, _constant(0.0)),
    "cone": Surface(_cone, _constant(0.0)),
    "sphere by gating": Surface(gnomonic_sphere, _constant(1 / 0.7**2)),
    "ellipsoid": Surface(_ellipsoid, _ellipsoid_gaussian),
    "saddle": Surface(_saddle, lambda p: -4 / (1 + 4 * _square_of_radius(p)) ** 2),
    "paraboloid": Surface(_paraboloid, lambda p: 4 / (1 + 4 * _square_of_radius(p)) ** 2),
    "torus": Surface(_torus, lambda p: torch.cos(2 * p[:, 1]) / (2 + torch.cos(2 * p[:, 1]))),
    "catenoid": Surface(_catenoid, lambda p: -1 / torch.cosh(p[:, 1]) ** 4),
    "helicoid": Surface(_helicoid, lambda p: -1 / torch.cosh(p[:, 1]) ** 4),
    "pseudosphere": Surface(_pseudosphere, _constant(-1.0)),
    "flat torus in R4": Surface(_flat_torus, _constant(0.0)),
    "graph of z^2 in C2": Surface(
        _complex_square, lambda p: -8 / (1 + 4 * _square_of_radius(p)) ** 3
    ),
}
