"""A second opinion: one surface, measured in several independent ways, and the errors of each.

Four ways: exact derivatives (`gating_core.jets`), central differences in float64 and in float32,
the discrete curvature of a triangle mesh, and the paper's proxy. The first needs no step; the
others are wrong by truncation where their step is large and by rounding where it is small, and
the error curves here show both.

Shapes: N points, R x C of a grid, D outputs, M steps or grid spacings. A function is a torch
callable (N, 2) -> (N, D) or (1, N, D): one surface. Steps and spacings are lengths in the chart.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.geometry.curvature import CurvatureField, curvature
from gating_core.geometry.discrete import (
    DIFFERENCE_STEP,
    difference_curvature,
    mesh_curvature,
    paper_proxy,
    proxy_limit,
)
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.metric import whitened
from gating_core.geometry.surface import diameter, surface_result
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


def curvature_scale(field: CurvatureField, values: torch.Tensor, weights: torch.Tensor) -> Scale:
    """Choose the scale of errors of K on one surface: see `Scale`.

    ``field`` and ``values`` (N, D), whitened where the field is, belong to the same points;
    ``weights`` are N quadrature weights over the chart.
    """
    resolved = field.resolved.flatten()
    if not resolved.any():
        return Scale(float("nan"), "none")
    area = (field.area_element.flatten() * weights.flatten())[resolved]
    size = float((field.gaussian.flatten()[resolved].abs() * area).sum() / area.sum())
    doubt = float((field.gaussian_error.flatten()[resolved] * area).sum() / area.sum())
    if size > doubt:
        return Scale(size, "mean |K|")
    width = diameter(values.reshape(len(resolved), -1)[resolved])
    return Scale(width**-2, "1 / diameter^2") if width else Scale(float("nan"), "none")


def difference_errors(
    function: Function,
    points: torch.Tensor,
    exact: np.ndarray,
    scale: Scale,
    steps: Sequence[float] = DIFFERENCE_STEPS,
    covariance: object = None,
    dtype: torch.dtype = torch.float64,
) -> ErrorCurve | None:
    """Measure the error of `difference_curvature` over ascending ``steps``.

    ``exact`` (N,) is K, NaN at points that are left out. With ``dtype`` float32 a copy of the
    module is evaluated, and the rounding of its weights is part of the error; None where the
    function is no ``nn.Module``, and so cannot be cast.
    """
    run = function
    if dtype != torch.float64:
        if not isinstance(function, torch.nn.Module):
            return None
        run = copy.deepcopy(function).to(dtype)
    gaps = []
    for step in steps:
        value = difference_curvature(run, points, step, covariance, dtype)
        gaps.append(np.abs(one_surface(value, len(points)) - exact)[~np.isnan(exact)])
    name = f"differences, {str(dtype).removeprefix('torch.')}"
    return _curve(name, np.array(steps), "step", gaps, scale)


def mesh_errors(
    function: Function,
    scale: Scale,
    sizes: Sequence[int] = MESH_SIZES,
    covariance: object = None,
    ends: tuple[float, float] = (-1.0, 1.0),
) -> ErrorCurve | None:
    """Measure the error of `mesh_curvature` against exact K, on square grids of odd ``sizes``.

    Errors are those at resolved interior points. With a covariance the mesh is that of the whitened
    surface. None
    unless D = 3 and all values are finite. Raises ``ValueError`` without sizes.
    """
    if not sizes:
        raise ValueError("sizes is empty; it must name at least one size")
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
        exact, resolved = (
            one_surface(x, size**2).reshape(size, size)[1:-1, 1:-1]
            for x in (field.gaussian, field.resolved)
        )
        discrete = mesh_curvature(values.reshape(size, size, 3).numpy())[1:-1, 1:-1]
        spacings.append(float(grid.axis[1] - grid.axis[0]))
        gaps.append(np.abs(discrete - exact)[resolved])
    return _curve("triangle mesh", np.array(spacings), "grid spacing", gaps, scale)


def proxy_errors(
    function: Function, points: torch.Tensor, steps: Sequence[float] = DIFFERENCE_STEPS
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
    means = [float(paper_proxy(function, points, step).mean) for step in steps]
    gaps = [np.array([abs(mean - exact)]) for mean in means]
    return _curve("paper's proxy", np.array(steps), "step", gaps, Scale(exact, "mean proxy"))


def _curve(
    name: str, x: np.ndarray, x_name: str, gaps: list[np.ndarray], scale: Scale
) -> ErrorCurve:
    """Build a curve from errors (P,) at the points, one array for each value of ``x``."""
    levels = (0.5, HIGH_QUANTILE)
    rows = np.full((len(gaps), len(levels)), np.nan)
    for row, gap in zip(rows, gaps, strict=True):
        if gap.size:
            # Missing values count as infinite; inverted_cdf picks samples and averages no infinity.
            gap = np.where(np.isnan(gap), np.inf, gap)
            row[:] = np.quantile(gap, levels, method="inverted_cdf") / scale.value
    return ErrorCurve(name, x, x_name, rows[:, 0], rows[:, 1], scale)


def one_surface(x: torch.Tensor, count: int) -> np.ndarray:
    """Return the (N,) numbers of one surface from (N,) or (1, N), or raise ``ValueError``."""
    if x.numel() != count:
        raise ValueError(f"function returned {x.numel() // count} surfaces; it must be one")
    return x.detach().flatten().numpy()


# --- The opinion ----------------------------------------------------------------------------------


SAMPLE_SIDE = 31  # at most so many points along each side go into the curves over steps
STENCIL = 9  # evaluations for the differences at one point
JET_EVALUATIONS = 13  # evaluations that take as long as one point's derivatives with bounds


@dataclass(frozen=True, eq=False)
class SecondOpinion:
    """One surface, measured in several ways on one grid; every array is (R, C).

    ``exact``, ``difference`` and ``mesh`` are K in the metric of the covariance; ``known`` is K
    where it is known, NaN elsewhere. ``mesh`` is NaN on the boundary, and None unless D = 3 and all
    values are finite. The proxy ignores the covariance, as in the paper. ``exact`` is meaningless
    where ``resolved`` is False; ``difference`` and ``proxy`` are NaN where a step leaves the domain
    of the function (beyond the edge of an attention-weight chart, for steps above 0.06).
    """

    axis: np.ndarray  # (R,): chart coordinates of rows and columns
    step: float
    exact: np.ndarray
    exact_error: np.ndarray
    known: np.ndarray
    resolved: np.ndarray
    bound_kind: str
    difference: np.ndarray
    mesh: np.ndarray | None
    proxy: np.ndarray
    proxy_mean: float  # over all grid points
    proxy_limit: float  # the same for a step of zero, from exact derivatives
    scale: Scale  # of the errors of K
    difference_curve: ErrorCurve
    single_curve: ErrorCurve | None  # differences in float32; None unless it is an nn.Module
    mesh_curve: ErrorCurve | None
    proxy_curve: ErrorCurve | None  # None for affine surfaces, whose proxy is zero

    @property
    def curves(self) -> list[ErrorCurve]:
        """The error curves that exist."""
        every = (self.difference_curve, self.single_curve, self.mesh_curve, self.proxy_curve)
        return [curve for curve in every if curve is not None]


def opinion_evaluations(side: int, dim: int) -> int:
    """Estimate the cost of a `second_opinion` on ``side`` x ``side`` points, in evaluations."""
    grid, sampled = side**2, min(side, SAMPLE_SIDE) ** 2
    meshes = sum(size**2 for size in MESH_SIZES) if dim == 3 else 0
    # K twice and the proxy, at every step
    differences = 2 * grid + 3 * len(DIFFERENCE_STEPS) * sampled
    return STENCIL * differences + JET_EVALUATIONS * (grid + sampled + meshes)


def second_opinion(
    function: Function, grid: Grid, step: float = DIFFERENCE_STEP, covariance: object = None
) -> SecondOpinion:
    """Measure ``function`` on ``grid`` in every way, and the dependence of each on its step.

    The curves over steps use at most 31 x 31 of the grid's points, so far from the edge that no
    step leads out of the chart; the curve over meshes has grids of its own on the same chart.
    Errors as in `second_order_jet`, `curvature` and `difference_jet`, and ``ValueError`` for
    more than one surface.
    """
    shape, count = tuple(grid.weights.shape), len(grid.points)
    jet = second_order_jet(function, grid.points, "rigorous")
    field = curvature(jet, covariance)

    def shaped(x: torch.Tensor) -> np.ndarray:
        return one_surface(x, count).reshape(shape)

    exact, resolved = shaped(field.gaussian), shaped(field.resolved)
    values = whitened(jet.value.detach(), covariance)
    scale = curvature_scale(field, values, grid.weights)
    difference = shaped(difference_curvature(function, grid.points, step, covariance))
    mesh = None
    if values.shape[-1] == 3 and values.isfinite().all():
        mesh = mesh_curvature(values.reshape(*shape, 3).numpy())
    proxy = paper_proxy(function, grid.points, step)

    keep = _sample(grid)
    points, known = grid.points[keep], np.where(resolved, exact, np.nan).ravel()[keep]
    double, single = (
        difference_errors(function, points, known, scale, DIFFERENCE_STEPS, covariance, dtype)
        for dtype in (torch.float64, torch.float32)
    )
    assert double is not None
    ends = (float(grid.axis[0]), float(grid.axis[-1]))
    return SecondOpinion(
        axis=grid.axis.numpy(),
        step=step,
        exact=exact,
        exact_error=shaped(field.gaussian_error),
        known=surface_result(function, jet, field, grid).known[0],
        resolved=resolved,
        bound_kind=field.bound_kind,
        difference=difference,
        mesh=mesh,
        proxy=shaped(proxy.per_point),
        proxy_mean=float(proxy.mean),
        proxy_limit=float(proxy_limit(jet).mean),
        scale=scale,
        difference_curve=double,
        single_curve=single,
        mesh_curve=mesh_errors(function, scale, MESH_SIZES, covariance, ends),
        proxy_curve=proxy_errors(function, points),
    )


def _sample(grid: Grid) -> torch.Tensor:
    """Indices of the grid points that the curves over steps use."""
    edge = torch.minimum(grid.axis - grid.axis[0], grid.axis[-1] - grid.axis)
    inside = torch.nonzero(edge >= min(max(DIFFERENCE_STEPS), float(edge.max()))).flatten()
    inside = inside[:: -(-len(inside) // SAMPLE_SIDE)]
    return (inside[:, None] * len(grid.axis) + inside).flatten()
