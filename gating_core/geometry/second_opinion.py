"""What do other ways of measuring say about the same surface?

Four ways: exact derivatives (`gating_core.jets`), central differences in float64 and in float32,
the discrete curvature of a triangle mesh, and the paper's proxy. The first needs no step; the
others are wrong by truncation where their step is large and by rounding where it is small, and
the error curves here show both.

Shapes: N points, R x C grid points, D outputs, M steps or grid spacings. A function is a torch
callable (N, 2) -> (N, D) or (1, N, D): one surface. Steps and spacings are lengths in the chart.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace

import numpy as np
import torch

from gating_core.geometry.curvature import CurvatureField, curvature
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.metric import whitening
from gating_core.geometry.proxy import central_differences, paper_proxy, proxy_limit
from gating_core.jets.second_order import SecondOrderJet, second_order_jet

Function = Callable[[torch.Tensor], torch.Tensor]

DEFAULT_STEP = 1e-3
STEPS = tuple(float(f"{10 ** (i / 3):.3g}") for i in range(-18, -2))  # 1e-6 to 1e-1
MESH_SIZES = (21, 31, 41, 61, 81, 121)
SAMPLE_SIDE = 31  # at most so many points along each side go into the curves over steps
HIGH_QUANTILE = 0.95
SLIVER = 1e-12  # area over squared sides: a triangle below it has no angles


@dataclass(frozen=True)
class Scale:
    """What errors are divided by, in the unit of the quantity, and what that is.

    ``kind`` "mean |K|": averaged over the surface's area. "1 / diameter^2": on a surface where
    that mean is within its error; the diameter is the largest distance between sampled points.
    "mean proxy": the proxy's limit. "none": no point is resolved; ``value`` is NaN.
    """

    value: float
    kind: str


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """How far one way of measuring is off, for M steps or grid spacings ``x`` (chart lengths).

    ``median`` and ``high`` (the 95 % quantile) of |error| / ``scale`` over points, every point
    counting the same; infinite where that many points have no value at all, NaN where no point
    is resolved. The proxy's are one number a step, so both are the same.
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


@dataclass(frozen=True, eq=False)
class SecondOpinion:
    """One surface, measured in all these ways on one grid; every array is (R, C).

    ``exact``, ``difference`` and ``mesh`` are K in the metric of the covariance. ``mesh`` is NaN
    on the boundary, and None unless D = 3 and all values are finite. The proxy knows no
    covariance: it is the paper's, of the outputs as they are. ``exact`` means nothing where
    ``resolved`` is False; ``difference`` and ``proxy`` are NaN where the step leads to where the
    function is undefined (beyond the edge of an attention-weight chart, for steps above 0.06).
    """

    axis: np.ndarray  # (R,): chart coordinates of rows and columns
    step: float
    exact: np.ndarray
    exact_error: np.ndarray
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
        """The error curves that there are."""
        every = (self.difference_curve, self.single_curve, self.mesh_curve, self.proxy_curve)
        return [curve for curve in every if curve is not None]


# --- Other ways of measuring ----------------------------------------------------------------------


def difference_jet(
    function: Function,
    points: torch.Tensor,
    step: float = DEFAULT_STEP,
    dtype: torch.dtype = torch.float64,
) -> SecondOrderJet:
    """Value, first and second derivatives at ``points`` (N, 2) by central differences.

    Values and differences are computed in ``dtype``, then kept in float64. The function may be
    any (N, 2) -> (..., N, D). ``errors`` is None: nothing bounds the truncation. ``ValueError``
    for a step that is not between 1e-8 and 1, and for wrong shapes.
    """
    differences = central_differences(function, points, step, dtype).double()
    return SecondOrderJet(differences.mT.contiguous(), 2)


def difference_curvature(
    function: Function,
    points: torch.Tensor,
    step: float = DEFAULT_STEP,
    covariance: object = None,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """K (..., N) in float64 from `difference_jet`, by the same formula as the exact one.

    NaN or infinite where the differences of the two tangents vanish.
    """
    return curvature(difference_jet(function, points, step, dtype), covariance).gaussian


def mesh_curvature(values: np.ndarray) -> np.ndarray:
    """PyVista's discrete K (R, C) of the triangulated grid ``values`` (R, C, 3).

    The angle that a vertex lacks of a full turn, over a third of the area of its triangles
    (Meyer et al., *Discrete differential-geometry operators*, 2003). All diagonals run the same
    way: where they flip, as a mesher that picks the shorter one does, the errors of single
    vertices do not get smaller with the grid. NaN on the boundary, where the angle means
    something else, and beside triangles without area, which PyVista counts as flat.
    ``ValueError`` unless ``values`` is (R, C, 3), R and C at least 3, and finite.
    """
    import pyvista  # here: a second to import, and no picture waits for it

    values = np.asarray(values, dtype=float)
    if values.ndim != 3 or values.shape[-1] != 3 or min(values.shape[:2]) < 3:
        raise ValueError(f"values has shape {values.shape}; it must be (R, C, 3) with R, C >= 3")
    if not np.isfinite(values).all():
        raise ValueError("values contains NaN or infinite values; all must be finite")
    shape = values.shape[:2]
    vertices, corners = np.ascontiguousarray(values).reshape(-1, 3), _triangles(*shape)
    mesh = pyvista.PolyData.from_regular_faces(vertices, corners)
    found = np.array(mesh.curvature("gaussian")).reshape(shape)

    a, b, c = (vertices[corner] for corner in corners.T)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=-1)
    sides = ((b - a) ** 2 + (c - a) ** 2).sum(-1)
    found.flat[corners[area <= SLIVER * sides].ravel()] = np.nan
    found[[0, -1]] = found[:, [0, -1]] = np.nan
    return found


def _triangles(rows: int, columns: int) -> np.ndarray:
    """(2 (R - 1) (C - 1), 3): two triangles for every cell of a grid counted by rows."""
    a = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    b, c, d = a + 1, a + columns, a + columns + 1
    return np.concatenate([np.stack([a, b, c], -1), np.stack([b, d, c], -1)])


# --- Errors ---------------------------------------------------------------------------------------


def curvature_scale(
    field: CurvatureField, values: torch.Tensor, weights: torch.Tensor | None = None
) -> Scale:
    """What errors of K on one surface are divided by: see `Scale`.

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
    points = values.reshape(len(resolved), -1)[resolved]
    points = points - points.mean(0)
    diameter = max(float(torch.cdist(block, points).max()) for block in points.split(512))
    return Scale(diameter**-2, "1 / diameter^2") if diameter else Scale(float("nan"), "none")


def difference_errors(
    function: Function,
    points: torch.Tensor,
    exact: CurvatureField,
    steps: Iterable[float] = STEPS,
    covariance: object = None,
    dtype: torch.dtype = torch.float64,
    scale: Scale | None = None,
) -> ErrorCurve | None:
    """The error of `difference_curvature` over ``steps``, against the field ``exact`` (N points).

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
    gaussian, resolved = _one(exact.gaussian, count), _one(exact.resolved, count)
    if scale is None:
        scale = curvature_scale(exact, _whitened(function(points).detach(), covariance))
    steps = np.sort(np.array(list(steps), dtype=float))
    gaps = []
    for step in steps.tolist():
        found = _one(difference_curvature(run, points, step, covariance, dtype), count)
        gaps.append(np.abs(found - gaussian)[resolved])
    name = f"differences, {str(dtype).removeprefix('torch.')}"
    return _curve(name, steps, "step", gaps, scale)


def mesh_errors(
    function: Function,
    sizes: Iterable[int] = MESH_SIZES,
    covariance: object = None,
    ends: tuple[float, float] = (-1.0, 1.0),
    scale: Scale | None = None,
) -> ErrorCurve | None:
    """The error of `mesh_curvature` against exact K, on square grids of these odd ``sizes``.

    Over resolved interior points; without ``scale``, that of the finest grid. With a covariance
    the mesh is that of the whitened surface. None unless D = 3 and all values are finite.
    """
    spacings, gaps = [], []
    for size in sorted(sizes, reverse=True):
        grid = square_grid(size, *ends)
        jet = second_order_jet(function, grid.points)
        values = _whitened(jet.value.detach(), covariance)
        if values.shape[-1] != 3 or not values.isfinite().all():
            return None
        field = curvature(jet, covariance)
        gaussian, resolved = _one(field.gaussian, size**2), _one(field.resolved, size**2)
        scale = scale or curvature_scale(field, values, grid.weights)
        found = mesh_curvature(values.reshape(size, size, 3).numpy())
        inside = np.zeros((size, size), dtype=bool)
        inside[1:-1, 1:-1] = True
        keep = resolved & inside.ravel()
        spacings.append(float(grid.axis[1] - grid.axis[0]))
        gaps.append(np.abs(found.ravel() - gaussian)[keep])
    if scale is None:
        raise ValueError("sizes is empty; it must name at least one size")
    return _curve("triangle mesh", np.array(spacings), "grid spacing", gaps, scale)


def proxy_errors(
    function: Function, points: torch.Tensor, steps: Iterable[float] = STEPS
) -> ErrorCurve | None:
    """How far the paper's proxy, averaged over ``points``, is from its limit, relative to it.

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
    """From the errors at the points, (P,) for each of M values of ``x``."""
    levels = (0.5, HIGH_QUANTILE)
    found = np.full((len(gaps), len(levels)), np.nan)
    for row, gap in zip(found, gaps, strict=True):
        if gap.size:
            # No value at all is the largest error; taking sample values keeps infinity out of
            # the others.
            gap = np.where(np.isnan(gap), np.inf, gap)
            row[:] = np.quantile(gap, levels, method="inverted_cdf") / scale.value
    return ErrorCurve(name, x, x_name, found[:, 0], found[:, 1], scale)


def _one(x: torch.Tensor, count: int) -> np.ndarray:
    """(N,) from (N,) or (1, N); ``ValueError`` where there are several surfaces."""
    if x.numel() != count:
        raise ValueError(f"function returned {x.numel() // count} surfaces; it must be one")
    return x.detach().flatten().numpy()


def _whitened(values: torch.Tensor, covariance: object) -> torch.Tensor:
    """(..., N, D): ``values`` in coordinates in which the covariance is the identity."""
    return values if covariance is None else values @ whitening(covariance, values.shape[-1])


# --- All of them ----------------------------------------------------------------------------------


def second_opinion(
    function: Function, grid: Grid, step: float = DEFAULT_STEP, covariance: object = None
) -> SecondOpinion:
    """Measure ``function`` on ``grid`` in every way, and how each depends on its step.

    The curves over steps use at most 31 x 31 of the grid's points, so far from the edge that no
    step leads out of the chart; the curve over meshes has grids of its own on the same chart.
    Errors as in `second_order_jet`, `curvature` and `difference_jet`, and ``ValueError`` for
    more than one surface.
    """
    shape, count = tuple(grid.weights.shape), len(grid.points)
    jet = second_order_jet(function, grid.points, "rigorous")
    field = curvature(jet, covariance)
    exact = _one(field.gaussian, count)
    values = _whitened(jet.value.detach(), covariance)
    scale = curvature_scale(field, values, grid.weights)
    difference = _one(difference_curvature(function, grid.points, step, covariance), count)
    mesh = None
    if values.shape[-1] == 3 and values.isfinite().all():
        mesh = mesh_curvature(values.reshape(*shape, 3).numpy())
    proxy = paper_proxy(function, grid.points, step)

    keep = _sample(grid)
    points, thinned = grid.points[keep], _thinned(field, keep)
    curves = [
        difference_errors(function, points, thinned, STEPS, covariance, dtype, scale)
        for dtype in (torch.float64, torch.float32)
    ]
    assert curves[0] is not None
    ends = (float(grid.axis[0]), float(grid.axis[-1]))
    return SecondOpinion(
        axis=grid.axis.numpy(),
        step=step,
        exact=exact.reshape(shape),
        exact_error=_one(field.gaussian_error, count).reshape(shape),
        resolved=_one(field.resolved, count).reshape(shape),
        bound_kind=field.bound_kind,
        difference=difference.reshape(shape),
        mesh=mesh,
        proxy=_one(proxy.per_point, count).reshape(shape),
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
    inside = torch.nonzero(edge >= min(max(STEPS), float(edge.max()))).flatten()
    inside = inside[:: -(-len(inside) // SAMPLE_SIDE)]
    return (inside[:, None] * len(grid.axis) + inside).flatten()


def _thinned(field: CurvatureField, keep: torch.Tensor) -> CurvatureField:
    """``field`` at some of its points."""
    numbers = [part.name for part in fields(field) if part.name != "bound_kind"]
    return replace(field, **{name: getattr(field, name)[..., keep] for name in numbers})
