"""Integrals of curvature over a whole chart, refined where a grid would miss some.

For surfaces whose curvature sits in narrow ridges: square cells are halved where their error is
large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gating_core.checks import check_number
from gating_core.geometry.curvature import curvature, second_fundamental_form
from gating_core.geometry.flatness import flatness_proofs
from gating_core.geometry.integrals import (
    DENSITIES,
    Integral,
    SurfaceIntegrals,
    density_of,
    loop_holonomy,
)
from gating_core.jets.casts import carried
from gating_core.jets.map_check import evaluate
from gating_core.jets.second_order import second_order_jet
from gating_core.progress import Progress, silent

FIRST_CELLS = 16  # cells along each side before any refinement
DEEPEST = 14  # halvings of a first cell, to a width of about 1e-5
LARGEST_SAMPLE = 300_000  # points, after which the refinement stops
PART_POINTS = 5_000  # sampled at a time
TURNING_LIMIT = 0.8  # sine of the angle between tangent planes in a cell: no holonomy beyond
HOLONOMY_LIMIT = 0.2  # radians, above which a cell is refined
SIMPSON = torch.tensor([1.0, 4.0, 1.0], dtype=torch.float64) / 6
QUARTERS = ((0, 1, 4, 3), (1, 2, 5, 4), (3, 4, 7, 6), (4, 5, 8, 7))
RIM = (0, 1, 2, 5, 8, 7, 6, 3)  # the nodes round a cell, row by row, counter-clockwise
# Unseen curvature adds to the error of every integral of K, and not to that of the area.
COUNTS_DOUBT = torch.tensor([[0.0], [1.0], [1.0], [1.0], [1.0]], dtype=torch.float64)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Square cells, M of them; each row of ``values`` is one density's integral over them."""

    values: torch.Tensor  # (4, M)
    rounding: torch.Tensor  # (4, M)
    holonomy: torch.Tensor  # (M,)
    swept: torch.Tensor  # (M,): sum of the absolute holonomies of its quarters
    scatter: torch.Tensor  # (M,): area over which tangent planes scatter, where holonomy fails
    complete: bool
    points: int
    notes: tuple[str, ...]


@torch.no_grad()  # a graph of all points would fill the memory
def adaptive_integrals(
    function: Callable[[torch.Tensor], torch.Tensor],
    covariance: object = None,
    relative_tolerance: float = 0.01,
    bound: str = "estimate",
    largest_sample: int = LARGEST_SAMPLE,
    casts: str = "refuse",
    part: int = PART_POINTS,
    progress: Progress = silent,
) -> SurfaceIntegrals:
    """Compute all integrals over [-1, 1]^2 of one surface, refined where total |K| is uncertain.

    ``function`` is a torch callable (N, 2) -> (1, N, D) or (N, D). Cells are halved in both
    directions, those of the largest error first, until the summed error is below the tolerance (of
    the integral of |K|) or below rounding, or until ``largest_sample`` points or 14 halvings are
    spent; ``error`` is that sum plus rounding. The error of a cell is the largest of three: the
    change between it and its quarters; the curvature that the holonomies of its quarters show and
    its sample points do not; and, where its tangent planes are too far apart for holonomy, the area
    over which they scatter. Cells whose holonomy exceeds 0.2 are always refined. This is an
    estimate, not a bound: what cancels between all points is not seen. ``casts`` as for
    `second_order_jet`; ``progress`` is called with ``None`` after about every ``part`` points.
    Source: Davis & Rabinowitz, *Methods of Numerical Integration*, 2nd ed., chapter 6.
    """
    function = carried(function, casts)
    check_number("relative_tolerance", relative_tolerance, 1e-6, 1.0)
    flat = any(
        flatness_proofs(function, evaluate(function, torch.zeros(1, 2, dtype=torch.float64)))
    )
    if flat:  # what would be refined is rounding
        largest_sample = 0
    width = 2 / FIRST_CELLS
    ticks = torch.arange(FIRST_CELLS, dtype=torch.float64) * width - 1
    cells = torch.cartesian_prod(ticks, ticks)
    whole = _by_parts(function, covariance, bound, cells, width, part, progress)
    values, errors, rounding = (torch.zeros(5, dtype=torch.float64) for _ in range(3))
    spent, complete = whole.points, whole.complete
    before = torch.cat([whole.values, whole.holonomy[None]])
    while len(cells):
        width /= 2
        steps = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=torch.float64) * width
        quarters = cells[:, None] + steps
        corners = quarters.reshape(-1, 2)
        parts = _by_parts(function, covariance, bound, corners, width, part, progress)
        spent += parts.points
        complete = complete and parts.complete
        after = torch.cat([parts.values, parts.holonomy[None]]).unflatten(-1, (-1, 4))
        noise = torch.cat([parts.rounding, parts.rounding[1:2]]).unflatten(-1, (-1, 4)).sum(-1)
        change = (after.sum(-1) - before).abs()
        unseen = torch.maximum((parts.swept - parts.values[2]).abs(), parts.scatter)
        doubt = torch.maximum(change[2], unseen.reshape(-1, 4).sum(-1))
        turning = (after[4].abs() > HOLONOMY_LIMIT).any(-1)
        # Finish the cells of least error, as many as fit into half of the tolerance left.
        order = torch.where(turning, torch.inf, doubt).argsort()
        total = values[2] + after[2].sum()
        allowed = relative_tolerance * total + rounding[2] + noise[2].sum() - errors[2]
        finished = int((doubt[order].cumsum(0) <= allowed / 2).sum())
        finished = min(finished, len(order) - int(turning.sum()))
        if spent > largest_sample or width < 2 / FIRST_CELLS / 2**DEEPEST:
            finished = len(order)
        done, rest = order[:finished], order[finished:]
        values += after[:, done].sum((1, 2))
        errors += torch.maximum(change, doubt * COUNTS_DOUBT)[:, done].sum(1)
        rounding += noise[:, done].sum(1)
        cells = quarters[rest].reshape(-1, 2)
        before = after[:, rest].flatten(1)
    flag = torch.tensor(complete)
    names = ("area", "gaussian", "absolute", "positive", "holonomy")
    integrals = SurfaceIntegrals(
        **{
            name: Integral(value, error, flag)
            for name, value, error in zip(names, values, errors + rounding, strict=True)
        },
        notes=whole.notes,
    )
    return integrals.of_flat() if flat else integrals


def _by_parts(
    function: Callable,
    covariance: object,
    bound: str,
    corners: torch.Tensor,
    width: float,
    part: int,
    progress: Progress,
) -> _Cells:
    """Sample all cells, about ``part`` points at a time."""
    blocks = []
    for some in corners.split(max(part // 9, 1)):
        blocks.append(_sampled_cells(function, covariance, bound, some, width))
        progress(None)
    names = ("values", "rounding", "holonomy", "swept", "scatter")
    return _Cells(
        **{name: torch.cat([getattr(cells, name) for cells in blocks], -1) for name in names},
        complete=all(cells.complete for cells in blocks),
        points=sum(cells.points for cells in blocks),
        notes=blocks[0].notes,
    )


def _sampled_cells(
    function: Callable, covariance: object, bound: str, corners: torch.Tensor, width: float
) -> _Cells:
    """Apply Simpson's rule to the nine nodes of each square cell at ``corners`` (M, 2)."""
    ticks = torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64) * width
    v, u = torch.meshgrid(ticks, ticks, indexing="ij")
    offsets = torch.stack([u.flatten(), v.flatten()], -1)
    points = (corners[:, None] + offsets).reshape(-1, 2)
    jet = second_order_jet(function, points, bound)
    field = curvature(jet, covariance)
    if field.gaussian.numel() != len(points):
        raise ValueError(
            f"function returned {field.gaussian.numel() // len(points)} surfaces; it must be one"
        )
    weights = torch.outer(SIMPSON, SIMPSON).flatten() * width**2
    sums = [
        [(x.reshape(len(corners), 9) * weights).sum(-1) for x in density_of(name, field)]
        for name in DENSITIES
    ]
    frame = second_fundamental_form(jet, covariance).frame
    frame = frame.reshape(len(corners), 9, -1, 2)
    middle = frame[:, 4, None]
    # Components of each node's tangents outside the middle node's tangent plane.
    off = torch.nan_to_num(frame - middle @ (middle.mT @ frame), nan=1.0)
    loops = torch.stack([loop_holonomy([frame[:, i] for i in loop]) for loop in QUARTERS])
    return _Cells(
        values=torch.stack([value for value, _ in sums]),
        rounding=torch.stack([error for _, error in sums]),
        holonomy=torch.nan_to_num(loop_holonomy([frame[:, i] for i in RIM])),
        swept=torch.nan_to_num(loops).abs().sum(0),
        scatter=_scatter(off),
        complete=bool(field.resolved.all()) and not field.jumps,
        points=len(points),
        notes=jet.notes,
    )


def _scatter(off: torch.Tensor) -> torch.Tensor:
    """(M,): the area over which tangent planes scatter, from their parts ``off`` (M, 9, D, 2).

    The product of the two largest spreads, so that a ridge along one line has none; zero for
    cells whose planes stay together.
    """
    lost = torch.linalg.vector_norm(off, dim=(-2, -1)).amax(-1) > TURNING_LIMIT
    columns = off[lost].movedim(-2, 1).flatten(2)
    spreads = torch.linalg.eigvalsh(columns @ columns.mT).clamp(min=0)
    area = torch.zeros(len(off), dtype=off.dtype)
    area[lost] = (spreads[..., -1] * spreads[..., -2]).sqrt()
    return area
