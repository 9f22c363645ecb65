"""Integrals of curvature over a chart, with the doubt about them.

Two ways: on a given grid (trapezoid rule), and adaptively, for surfaces whose curvature sits in
narrow ridges that a grid misses. Where a tangent plane is unresolved its share is left out, the
value is a lower estimate, and the result says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from gating_core.config import check_number
from gating_core.geometry import CurvatureField, curvature
from gating_core.jets import second_order_jet

FIRST_CELLS = 16  # cells along each side before any refinement
NODES = 3  # Gauss-Legendre nodes along each side of a cell
TURNING_LIMIT = 0.5  # radians, within one cell
LARGEST_SAMPLE = 300_000  # points, after which the refinement stops where it is


@dataclass(frozen=True, eq=False)
class Integral:
    """An integral over a chart, per leading axis: ``value`` and ``error`` are (...).

    ``error`` adds the rounding bound of K and, for a grid, the change from every second point to
    every point. Where ``complete`` is False some points are unresolved and left out: the value
    is a lower estimate, and the error does not cover what is missing.
    """

    value: torch.Tensor
    error: torch.Tensor
    complete: torch.Tensor


def total_absolute_curvature(field: CurvatureField, weights: torch.Tensor) -> Integral:
    """The integral of |K| dA: free of units, and the same in every chart of the same region.

    ``weights`` are quadrature weights over the chart, (R, C) with R C = N for a grid with points
    in row order, or (N,) for scattered points, where no discretisation error is known and the
    error covers rounding only. ``ValueError`` when the sizes do not match.
    """
    weights = torch.as_tensor(weights, dtype=torch.float64)
    count = field.gaussian.shape[-1]
    if weights.ndim not in (1, 2) or weights.numel() != count:
        raise ValueError(
            f"weights has shape {tuple(weights.shape)}; it must hold {count} weights, one a point"
        )
    density = torch.where(field.resolved, field.gaussian.abs() * field.area_element, 0.0)
    doubt = torch.where(field.resolved, field.gaussian_error * field.area_element, 0.0)
    value = (density * weights.flatten()).sum(-1)
    error = (doubt * weights.flatten()).sum(-1)
    if weights.ndim == 2:
        error = error + (value - _every_second(density, weights)).abs()
    return Integral(value, error, field.resolved.all(-1))


def _every_second(density: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """The integral over every second row and column; the grid's end points must be among them."""
    rows, columns = weights.shape
    if rows % 2 == 0 or columns % 2 == 0 or min(rows, columns) < 3:
        raise ValueError(f"weights has shape {(rows, columns)}; both sizes must be odd, at least 3")
    grid = density.unflatten(-1, (rows, columns))[..., ::2, ::2]
    # Trapezoid weights factor into rows and columns; on every second point they double, end
    # points keep half the new step, so both factors are the old ones taken there, times two.
    return (grid * (4 * weights[::2, ::2])).sum((-2, -1))


def adaptive_total_absolute_curvature(
    function: Callable[[torch.Tensor], torch.Tensor],
    covariance: object = None,
    relative_tolerance: float = 0.01,
) -> Integral:
    """The integral of |K| dA over [-1, 1]^2 for one surface, refined where it is uncertain.

    ``function`` is a torch callable (N, 2) -> (1, N, D) or (N, D). Cells are halved in both
    directions, the most doubtful first, until the summed doubt is below the tolerance or below
    rounding, or 300,000 points are spent; ``error`` is that sum plus rounding, so it says which
    of these it was. The doubt of a cell is the change between it and its quarters, or the square
    of the angle by which its tangent planes turn where that is above half a radian: curvature
    could hide there. An estimate, not a bound: a spike between all points is not seen. Source:
    Davis & Rabinowitz, *Methods of Numerical Integration*, 2nd ed., chapter 6.
    """
    check_number("relative_tolerance", relative_tolerance, 1e-6, 1.0)
    width = 2 / FIRST_CELLS
    corners = torch.arange(FIRST_CELLS, dtype=torch.float64) * width - 1
    cells = torch.cartesian_prod(corners, corners)
    whole = _over_cells(function, covariance, cells, width)
    value, error, rounding = 0.0, 0.0, 0.0
    spent = whole.points
    complete = whole.complete
    while len(cells):
        width /= 2
        steps = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=torch.float64) * width
        quarters = cells[:, None] + steps
        parts = _over_cells(function, covariance, quarters.reshape(-1, 2), width)
        spent += parts.points
        complete = complete and parts.complete
        finer = parts.value.reshape(-1, 4)
        hidden = torch.where(parts.turning > TURNING_LIMIT, parts.turning**2, 0.0)
        doubt = torch.maximum((finer.sum(1) - whole.value).abs(), hidden.reshape(-1, 4).sum(1))
        noise = parts.rounding.reshape(-1, 4)
        # Keep the least doubtful cells, as many as fit into half of what the tolerance leaves.
        order = doubt.argsort()
        allowed = relative_tolerance * (value + float(finer.sum())) + rounding + float(noise.sum())
        finished = int((doubt[order].cumsum(0) <= (allowed - error) / 2).sum())
        if spent > LARGEST_SAMPLE:
            finished = len(order)
        done, rest = order[:finished], order[finished:]
        value += float(finer[done].sum())
        error += float(doubt[done].sum())
        rounding += float(noise[done].sum())
        cells = quarters[rest].reshape(-1, 2)
        whole = replace(parts, value=finer[rest].flatten())
    return Integral(*(torch.tensor(x) for x in (value, error + rounding, complete)))


@dataclass(frozen=True, eq=False)
class _Cells:
    value: torch.Tensor  # (M,): integral of |K| dA over each cell
    rounding: torch.Tensor  # (M,)
    turning: torch.Tensor  # (M,): largest angle between the tangent planes at two nodes, about
    complete: bool
    points: int


def _over_cells(
    function: Callable, covariance: object, corners: torch.Tensor, width: float
) -> _Cells:
    """Gauss-Legendre integrals over the square cells at ``corners`` (M, 2)."""
    nodes, weights = (torch.from_numpy(x) for x in np.polynomial.legendre.leggauss(NODES))
    offsets = torch.cartesian_prod(nodes, nodes).add(1) * (width / 2)
    points = (corners[:, None] + offsets).reshape(-1, 2)
    field = curvature(second_order_jet(function, points), covariance)
    if field.gaussian.numel() != len(points):
        raise ValueError(
            f"function returned {field.gaussian.numel() // len(points)} surfaces; it must be one"
        )
    area = torch.outer(weights, weights).flatten() * (width / 2) ** 2

    def integral(density: torch.Tensor) -> torch.Tensor:
        density = torch.where(field.resolved, density * field.area_element, 0.0)
        return (density.reshape(len(corners), -1) * area).sum(-1)

    # The sine of the angle to the middle node's tangent plane, at every node.
    frames = field.frame.reshape(len(corners), NODES**2, -1, 2)
    middle = frames[:, NODES**2 // 2, None]
    off = frames - middle @ (middle.transpose(-1, -2) @ frames)
    turning = torch.nan_to_num(torch.linalg.vector_norm(off, dim=(-2, -1)), nan=1.0).amax(-1)
    return _Cells(
        value=integral(field.gaussian.abs()),
        rounding=integral(field.gaussian_error),
        turning=turning,
        complete=bool(field.resolved.all()),
        points=len(points),
    )
