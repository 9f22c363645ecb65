"""Errors of other ways of measuring curvature, against their step or grid spacing.

Shapes: N points, D outputs, M steps or grid spacings. A function is a torch callable
(N, 2) -> (N, D) or (1, N, D): one surface. Steps and spacings are lengths in the chart.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.geometry.curvature import CurvatureField, curvature
from gating_core.geometry.discrete import (
    difference_curvature,
    mesh_curvature,
    paper_proxy,
    proxy_limit,
)
from gating_core.geometry.grid import square_grid
from gating_core.geometry.metric import whitened
from gating_core.geometry.surface import diameter
from gating_core.jets.second_order import second_order_jet

Function = Callable[[torch.Tensor], torch.Tensor]

DIFFERENCE_STEPS = tuple(float(f"{10 ** (i / 3):.3g}") for i in range(-18, -2))  # 1e-6 to 1e-1
MESH_SIZES = (21, 31, 41, 61, 81, 121)
HIGH_QUANTILE = 0.95


@dataclass(frozen=True)
class Scale:
    """The number that errors are divided by, in the unit of the quantity, and its kind.

    ``kind`` "mean |K|": averaged over the surface's area. "1 / diameter^2": on a surface where
    that mean is within its error; the diameter is the largest distance between sampled points.
    "mean proxy": the proxy's limit. "none": no point is resolved; ``value`` is NaN.
    """

    value: float
    kind: str


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """The error of one way of measuring, for M steps or grid spacings ``x`` (chart lengths).

    ``median`` and ``high`` (the 95 % quantile) of |error| / ``scale`` over points; infinite where
    that many points have no value, NaN where no point is resolved. Those of the proxy are equal,
    because it is one number for each step.
    """

    name: str
    x: np.ndarray  # (M,), ascending
    x_name: str  # "step" or "grid spacing"
    median: np.ndarray  # (M,)
    high: np.ndarray  # (M,)
    scale: Scale

    @property
    def best(self) -> int | None:
        """The index of the smallest median that is a positive number, if there is one."""
        usable = np.isfinite(self.median) & (self.median > 0)
        return int(np.argmin(np.where(usable, self.median, np.inf))) if usable.any() else None


def curvature_scale(
    field: CurvatureField, values: torch.Tensor, weights: torch.Tensor | None = None
) -> Scale:
    """Choose the scale of errors of K on one surface: see `Scale`.

    ``field`` and ``values`` (N, D), whitened where the field is, belong to the same points;
    ``weights`` are N quadrature weights over the chart, without them all points count the same.
    """
    resolved = field.resolved.flatten()
    if not resolved.any():
        return Scale(float("nan"), "none")
    area = field.area_element.flatten()
    area = (area if weights is None else area * weights.flatten())[resolved]
    size = float((field.gaussian.flatten()[resolved].abs() * area).sum() / area.sum())
    doubt = float((field.gaussian_error.flatten()[resolved] * area).sum() / area.sum())
    if size > doubt:
        return Scale(size, "mean |K|")
    width = diameter(values.reshape(len(resolved), -1)[resolved])
    return Scale(width**-2, "1 / diameter^2") if width else Scale(float("nan"), "none")


def difference_errors(
    function: Function,
    points: torch.Tensor,
    exact: CurvatureField,
    steps: Iterable[float] = DIFFERENCE_STEPS,
    covariance: object = None,
    dtype: torch.dtype = torch.float64,
    scale: Scale | None = None,
) -> ErrorCurve | None:
    """Measure the error of `difference_curvature` over ``steps`` against ``exact`` (N points).

    In float32 a copy of the module is evaluated, its weights rounded as well, which is part of
    the error; None where the function is no ``nn.Module``, and so cannot be cast. Points that
    ``exact`` does not resolve are left out.
    """
    run = function
    if dtype != torch.float64:
        if not isinstance(function, torch.nn.Module):
            return None
        run = copy.deepcopy(function).to(dtype)
    count = len(points)
    gaussian, resolved = one_surface(exact.gaussian, count), one_surface(exact.resolved, count)
    if scale is None:
        scale = curvature_scale(exact, whitened(function(points).detach(), covariance))
    steps = np.sort(np.array(list(steps), dtype=float))
    gaps = []
    for step in steps.tolist():
        value = one_surface(difference_curvature(run, points, step, covariance, dtype), count)
        gaps.append(np.abs(value - gaussian)[resolved])
    name = f"differences, {str(dtype).removeprefix('torch.')}"
    return _curve(name, steps, "step", gaps, scale)


def mesh_errors(
    function: Function,
    sizes: Iterable[int] = MESH_SIZES,
    covariance: object = None,
    ends: tuple[float, float] = (-1.0, 1.0),
    scale: Scale | None = None,
) -> ErrorCurve | None:
    """Measure the error of `mesh_curvature` against exact K, on square grids of odd ``sizes``.

    Over resolved interior points; without ``scale``, that of the finest grid. With a covariance
    the mesh is that of the whitened surface. None unless D = 3 and all values are finite.
    """
    if function(square_grid(3, *ends).points).shape[-1] != 3:
        return None
    spacings, gaps = [], []
    for size in sorted(sizes, reverse=True):
        grid = square_grid(size, *ends)
        jet = second_order_jet(function, grid.points)
        values = whitened(jet.value.detach(), covariance)
        if not values.isfinite().all():
            return None
        field = curvature(jet, covariance)
        gaussian, resolved = (
            one_surface(field.gaussian, size**2),
            one_surface(field.resolved, size**2),
        )
        scale = scale or curvature_scale(field, values, grid.weights)
        discrete = mesh_curvature(values.reshape(size, size, 3).numpy())
        inside = np.zeros((size, size), dtype=bool)
        inside[1:-1, 1:-1] = True
        keep = resolved & inside.ravel()
        spacings.append(float(grid.axis[1] - grid.axis[0]))
        gaps.append(np.abs(discrete.ravel() - gaussian)[keep])
    if scale is None:
        raise ValueError("sizes is empty; it must name at least one size")
    return _curve("triangle mesh", np.array(spacings), "grid spacing", gaps, scale)


def proxy_errors(
    function: Function, points: torch.Tensor, steps: Iterable[float] = DIFFERENCE_STEPS
) -> ErrorCurve | None:
    """Measure the distance of the paper's mean proxy from its limit, relative to the limit.

    None where the limit is exactly zero: on affine surfaces in affine charts.
    """
    limit = proxy_limit(second_order_jet(function, points)).mean
    if limit.numel() != 1:
        raise ValueError(f"function returned {limit.numel()} surfaces; it must be one")
    exact = float(limit)
    if exact == 0:
        return None
    steps = np.sort(np.array(list(steps), dtype=float))
    means = [float(paper_proxy(function, points, step).mean) for step in steps.tolist()]
    gaps = [np.array([abs(mean - exact)]) for mean in means]
    return _curve("paper's proxy", steps, "step", gaps, Scale(exact, "mean proxy"))


def _curve(
    name: str, x: np.ndarray, x_name: str, gaps: list[np.ndarray], scale: Scale
) -> ErrorCurve:
    """Build a curve from errors (P,) at the points, one array for each value of ``x``."""
    levels = (0.5, HIGH_QUANTILE)
    rows = np.full((len(gaps), len(levels)), np.nan)
    for row, gap in zip(rows, gaps, strict=True):
        if gap.size:
            # A missing value is the largest error; sample values keep infinity out of the others.
            gap = np.where(np.isnan(gap), np.inf, gap)
            row[:] = np.quantile(gap, levels, method="inverted_cdf") / scale.value
    return ErrorCurve(name, x, x_name, rows[:, 0], rows[:, 1], scale)


def one_surface(x: torch.Tensor, count: int) -> np.ndarray:
    """Return the (N,) numbers of one surface from (N,) or (1, N), or raise ``ValueError``."""
    if x.numel() != count:
        raise ValueError(f"function returned {x.numel() // count} surfaces; it must be one")
    return x.detach().flatten().numpy()
