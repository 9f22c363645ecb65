"""Integrals of curvature over a chart that is sampled on a grid, with the doubt about them.

By the trapezoid rule; `gating_core.geometry.adaptive` refines where a grid would miss ridges. The
integral of K has a second, independent value: the holonomy sum, which adds up how a tangent frame
turns when it is carried round each cell. Where a tangent plane is unresolved its share is left
out, values are lower estimates, and the result says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch

from gating_core.geometry.curvature import CurvatureField, curvature, second_fundamental_form
from gating_core.geometry.holonomy import loop_holonomy
from gating_core.jets.second_order import SecondOrderJet

NOT_SETTLED = 0.5  # relative error above which a total is no number to quote
Numbers = TypeVar("Numbers", np.ndarray, torch.Tensor)


@dataclass(frozen=True, eq=False)
class Integral:
    """An integral over a chart, per leading axis: ``value`` and ``error`` are (...).

    ``error`` adds the rounding error and, where it is known, that of the discretisation. Where
    ``complete`` is False some points are unresolved and left out: integrals of non-negative
    quantities are lower estimates, and the error does not cover what is missing.
    """

    value: torch.Tensor
    error: torch.Tensor
    complete: torch.Tensor

    def settled(self, slight: float = 0.0) -> torch.Tensor:
        """(...): whether the value is known well enough to be quoted: see `settled`."""
        return settled(self.value, self.error, slight)


def settled(value: Numbers, error: Numbers, slight: float = 0.0) -> Numbers:
    """Whether values are known well enough to be quoted: to half of themselves.

    An error of ``slight`` or less is good enough for any value, however small: for curves, where
    nobody would see it. Arrays or tensors of one shape in, booleans of that shape out.
    """
    return (error <= NOT_SETTLED * abs(value)) | (error <= slight)


@dataclass(frozen=True, eq=False)
class SurfaceIntegrals:
    """Area, integrals of K, |K| and max(K, 0) over the surface, and K once more by holonomy."""

    area: Integral
    gaussian: Integral
    absolute: Integral
    positive: Integral
    holonomy: Integral


# Densities per unit of chart area, from a field: name -> function of (K, sqrt(det g)).
DENSITIES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "area": lambda k, area: area,
    "gaussian": lambda k, area: k * area,
    "absolute": lambda k, area: k.abs() * area,
    "positive": lambda k, area: k.clamp(min=0) * area,
}


def total_absolute_curvature(field: CurvatureField, weights: torch.Tensor) -> Integral:
    """The integral of |K| dA: free of units, and the same in every chart of the same region.

    ``weights`` are quadrature weights over the chart, (R, C) with R C = N for a grid with points
    in row order, or (N,) for scattered points, where no discretisation error is known and the
    error covers rounding only. ``ValueError`` when the sizes do not match.
    """
    return _grid_integral("absolute", field, weights)


def grid_integrals(
    jet: SecondOrderJet, weights: torch.Tensor, covariance: object = None
) -> SurfaceIntegrals:
    """All integrals of a jet sampled on a grid with trapezoid ``weights`` (R, C), both odd.

    Errors are rounding plus the change from every second point to every point.
    """
    field = curvature(jet, covariance)
    frame = second_fundamental_form(jet, covariance).frame
    weights = torch.as_tensor(weights, dtype=torch.float64)
    values = {name: _grid_integral(name, field, weights) for name in DENSITIES}
    frame = frame.unflatten(-3, tuple(weights.shape))
    fine, coarse = (_grid_holonomy(frame[..., ::s, ::s, :, :]) for s in (1, 2))
    rounding = 100 * frame.shape[-2] * weights.numel() * torch.finfo(torch.float64).eps
    holonomy = Integral(fine, (fine - coarse).abs() + rounding, values["gaussian"].complete)
    return SurfaceIntegrals(**values, holonomy=holonomy)


def _grid_integral(name: str, field: CurvatureField, weights: torch.Tensor) -> Integral:
    weights = torch.as_tensor(weights, dtype=torch.float64)
    count = field.gaussian.shape[-1]
    if weights.ndim not in (1, 2) or weights.numel() != count:
        raise ValueError(
            f"weights has shape {tuple(weights.shape)}; it must hold {count} weights, one a point"
        )
    if not weights.isfinite().all():
        raise ValueError("weights contains NaN or infinite values; all must be finite")
    density, doubt = density_of(name, field)
    value = (density * weights.flatten()).sum(-1)
    error = (doubt * weights.flatten()).sum(-1)
    if weights.ndim == 2:
        error = error + (value - _every_second(density, weights)).abs()
    return Integral(value, error, field.resolved.all(-1))


def density_of(name: str, field: CurvatureField) -> tuple[torch.Tensor, torch.Tensor]:
    """A density and its rounding error, zero where the point is unresolved."""
    density = DENSITIES[name](field.gaussian, field.area_element)
    if name == "area":
        doubt = field.area_error
    else:
        doubt = field.gaussian_error * field.area_element + field.gaussian.abs() * field.area_error
    return (
        torch.where(field.resolved, density, 0.0),
        torch.where(field.resolved, doubt, 0.0),
    )


def _every_second(density: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """The integral over every second row and column; the grid's end points must be among them."""
    rows, columns = weights.shape
    if rows % 2 == 0 or columns % 2 == 0 or min(rows, columns) < 3:
        raise ValueError(f"weights has shape {(rows, columns)}; both sizes must be odd, at least 3")
    grid = density.unflatten(-1, (rows, columns))[..., ::2, ::2]
    # Trapezoid weights factor into rows and columns; on every second point they double, end
    # points keep half the new step, so both factors are the old ones taken there, times two.
    return (grid * (4 * weights[::2, ::2])).sum((-2, -1))


def _grid_holonomy(frame: torch.Tensor) -> torch.Tensor:
    """The sum over all cells of a grid of frames (..., R, C, D, 2); unresolved cells count 0."""
    a, b = frame[..., :-1, :-1, :, :], frame[..., :-1, 1:, :, :]
    c, d = frame[..., 1:, 1:, :, :], frame[..., 1:, :-1, :, :]
    return torch.nan_to_num(loop_holonomy([a, b, c, d])).sum((-2, -1))
