"""Quantities that are measured of every surface on the way through the layers, with errors.

Shapes: S seeds, L depths, N = R x R grid points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.geometry.discrete import proxy_limit
from gating_core.geometry.grid import Grid
from gating_core.geometry.integrals import grid_integral
from gating_core.geometry.surface import MeasuredSurface, diameter
from gating_core.jets.second_order import SecondOrderJet

ROUNDING = 16 * torch.finfo(torch.float64).eps  # of a mean or a distance, relative to itself


@dataclass(frozen=True)
class Quantity:
    """A quantity of a surface, in words, with its symbol."""

    title: str
    symbol: str


QUANTITIES: dict[str, Quantity] = {
    "total": Quantity("total absolute curvature", "∫|K| dA"),
    "mean": Quantity("mean of |K| over the area", "∫|K| dA / ∫dA"),
    "centre": Quantity("|K| at the origin", "|K(0)|"),
    "proxy": Quantity("the paper's proxy", "mean |D²y|"),
    "diameter": Quantity("diameter of the surface", "diameter"),
}


@dataclass(frozen=True, eq=False)
class Quantities:
    """Measured quantities of L surfaces of each of S seeds; arrays (S, L), or (S,) for one surface.

    ``values``, ``errors`` and ``known`` have the keys of `QUANTITIES`: a value, its error, and
    whether the error is complete. Where it is not, because tangent planes are unresolved, total and
    mean are lower estimates at best. The error of the total, and so of the mean, is its change
    under halving of the grid, or its difference from the holonomy sum, whichever is larger; all
    others are bounds on rounding. The proxy is the limit for a step of zero. ``proved`` says
    whether a surface is flat by proof.
    """

    values: dict[str, np.ndarray]
    errors: dict[str, np.ndarray]
    known: dict[str, np.ndarray]
    proved: np.ndarray


def measure_quantities(
    function: Callable[[torch.Tensor], torch.Tensor], jet: SecondOrderJet, grid: Grid
) -> Quantities:
    """Measure all `QUANTITIES` of the surfaces of ``function``, which may prove some to be flat.

    ``jet`` is its jet on ``grid``, with leading axes (L, S) or (S,).
    """
    surface = MeasuredSurface(function, grid, jet=jet)
    field, lead = surface.field, jet.value.shape[:-2]
    proved = torch.tensor([proof is not None for proof in surface.proof]).reshape(lead)
    resolved = field.resolved.all(-1) | proved
    area = grid_integral("area", field, grid.weights)
    total_value, total_error = (x.reshape(lead) for x in (surface.total.value, surface.total.error))
    mean = total_value / area.value
    # Of a quotient t / a: (d_t + |t / a| d_a) / (a - d_a).
    room = (area.value - area.error).clamp(min=0)
    mean_error = (total_error + mean * area.error) / room + mean * ROUNDING
    middle = grid.weights.numel() // 2
    there = field.resolved[..., middle]
    parts = {
        "total": (total_value, total_error, resolved),
        "mean": (torch.where(proved, 0.0, mean), torch.where(proved, 0.0, mean_error), resolved),
        "centre": (
            torch.where(proved, 0.0, field.gaussian[..., middle].abs()),
            torch.where(proved, 0.0, field.gaussian_error[..., middle]),
            there | proved,
        ),
        "proxy": _proxy(jet),
        "diameter": _diameter(jet),
    }

    def by_seed(index: int) -> dict[str, np.ndarray]:
        return {name: part[index].numpy().T for name, part in parts.items()}

    return Quantities(
        values=by_seed(0),
        errors=by_seed(1),
        known=by_seed(2),
        proved=proved.numpy().T,
    )


def stack_depths(depths: list[Quantities]) -> Quantities:
    """Stack L depths, each measured alone with arrays (S,), to arrays (S, L)."""

    def stacked(part: str) -> dict[str, np.ndarray]:
        return {name: np.stack([getattr(x, part)[name] for x in depths], -1) for name in QUANTITIES}

    return Quantities(
        values=stacked("values"),
        errors=stacked("errors"),
        known=stacked("known"),
        proved=np.stack([each.proved for each in depths], -1),
    )


Part = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # (L, S) each: value, error, known


def _proxy(jet: SecondOrderJet) -> Part:
    """The mean norm of the second derivatives; its error is at most the norm of their errors."""
    value = proxy_limit(jet).mean
    uu, uv, vv = _errors(jet)[3:].square().sum(-2)
    error = (uu + 2 * uv + vv).sqrt().mean(-1) * (1 + ROUNDING) + value * ROUNDING
    return value, error, (value + error).isfinite()


def _diameter(jet: SecondOrderJet) -> Part:
    """The diameter; both of its ends have an error."""
    surfaces = jet.value.flatten(0, -3).contiguous()
    value = torch.tensor([diameter(points) for points in surfaces], dtype=torch.float64)
    value = value.reshape(jet.stack.shape[1:-2])
    reach = jet.stack[0].abs().amax((-2, -1))
    error = 2 * _errors(jet)[0].square().sum(-2).sqrt().amax(-1) + (value + reach) * ROUNDING
    return value, error, (value + error).isfinite()


def _errors(jet: SecondOrderJet) -> torch.Tensor:
    """The errors of a jet; infinite where it has none."""
    return torch.full_like(jet.stack, torch.inf) if jet.errors is None else jet.errors
