"""A second opinion: one surface, measured in several independent ways.

Four ways: exact derivatives (`gating_core.jets`), central differences in float64 and in float32,
the discrete curvature of a triangle mesh, and the paper's proxy. The first needs no step; the
others are wrong by truncation where their step is large and by rounding where it is small, and
the error curves here show both. Shapes: N points, R x C grid points, D outputs.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

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
from gating_core.geometry.error_curves import (
    DIFFERENCE_STEPS,
    MESH_SIZES,
    ErrorCurve,
    Function,
    Scale,
    curvature_scale,
    difference_errors,
    mesh_errors,
    one_surface,
    proxy_errors,
)
from gating_core.geometry.grid import Grid
from gating_core.geometry.metric import whitened
from gating_core.geometry.surface import surface_result
from gating_core.jets.second_order import second_order_jet

SAMPLE_SIDE = 31  # at most so many points along each side go into the curves over steps
STENCIL = 9  # evaluations for the differences at one point
JET_WORTH = 13  # evaluations that take as long as one point's derivatives with bounds


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
    differences = (
        2 * grid + 3 * len(DIFFERENCE_STEPS) * sampled
    )  # K twice and the proxy, at every step
    return STENCIL * differences + JET_WORTH * (grid + sampled + meshes)


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
    exact = one_surface(field.gaussian, count)
    values = whitened(jet.value.detach(), covariance)
    scale = curvature_scale(field, values, grid.weights)
    difference = one_surface(difference_curvature(function, grid.points, step, covariance), count)
    mesh = None
    if values.shape[-1] == 3 and values.isfinite().all():
        mesh = mesh_curvature(values.reshape(*shape, 3).numpy())
    proxy = paper_proxy(function, grid.points, step)

    keep = _sample(grid)
    points, thinned = grid.points[keep], _thinned(field, keep)
    curves = [
        difference_errors(function, points, thinned, DIFFERENCE_STEPS, covariance, dtype, scale)
        for dtype in (torch.float64, torch.float32)
    ]
    assert curves[0] is not None
    ends = (float(grid.axis[0]), float(grid.axis[-1]))
    return SecondOpinion(
        axis=grid.axis.numpy(),
        step=step,
        exact=exact.reshape(shape),
        exact_error=one_surface(field.gaussian_error, count).reshape(shape),
        known=surface_result(function, jet, field, grid).known[0],
        resolved=one_surface(field.resolved, count).reshape(shape),
        bound_kind=field.bound_kind,
        difference=difference.reshape(shape),
        mesh=mesh,
        proxy=one_surface(proxy.per_point, count).reshape(shape),
        proxy_mean=float(proxy.mean),
        proxy_limit=float(proxy_limit(jet).mean),
        scale=scale,
        difference_curve=curves[0],
        single_curve=curves[1],
        mesh_curve=mesh_errors(function, MESH_SIZES, covariance, ends, scale),
        proxy_curve=proxy_errors(function, points),
    )


def _sample(grid: Grid) -> torch.Tensor:
    """Indices of the grid points that the curves over steps use."""
    edge = torch.minimum(grid.axis - grid.axis[0], grid.axis[-1] - grid.axis)
    inside = torch.nonzero(edge >= min(max(DIFFERENCE_STEPS), float(edge.max()))).flatten()
    inside = inside[:: -(-len(inside) // SAMPLE_SIDE)]
    return (inside[:, None] * len(grid.axis) + inside).flatten()


def _thinned(field: CurvatureField, keep: torch.Tensor) -> CurvatureField:
    """Return ``field`` at the points ``keep``."""
    numbers = [part.name for part in fields(field) if part.name != "bound_kind"]
    return replace(field, **{name: getattr(field, name)[..., keep] for name in numbers})
