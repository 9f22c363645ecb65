"""Integrals of curvature over a whole chart, refined where a grid would miss some.

For surfaces whose curvature sits in narrow ridges: rectangular cells are quartered where their
error is large. The first cells have unequal widths, at multiples of irrational numbers, so that no
period of a surface is one of the rule, and a jittered point in each quarter of a cell is compared
with what the rule says of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from gating_core.checks import check_choice, check_number
from gating_core.geometry.curvature import curvature, second_fundamental_form
from gating_core.geometry.flatness import flatness_proofs
from gating_core.geometry.integrals import (
    BENDING_OF_CURVATURE,
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

FIRST_CELLS, FEWEST_CELLS = 24, 8  # cells along each side before any refinement
UNEVEN = 0.3  # of a cell's width, by which an edge between first cells is moved at most
IRRATIONAL = ((5**0.5 - 1) / 2, 2**0.5 - 1)  # for the edges along u and along v
ALWAYS_REFINED = 16  # first cells of the largest error: a narrow peak shows there, in its tails
DEEPEST = 16  # halvings of a first cell, to a width of about 1e-6
EDGE_UNIT = 2.0**-11  # of edges of first cells; nodes of the deepest cells are multiples of
NODE_UNIT = EDGE_UNIT * 2.0 ** -(DEEPEST + 2)  # this, so that cells share theirs exactly
LARGEST_SAMPLE = 300_000  # points, which the refinement does not exceed
CELL_POINTS = 29  # of one cell: 25 nodes, if it shares none, and 4 jittered points
PART_POINTS = 5_000  # sampled at a time
TURNING_LIMIT = 0.8  # sine of the angle between tangent planes in a cell: no holonomy beyond
HOLONOMY_LIMIT = 0.2  # radians, above which a cell is refined
SEED = 2  # of the jittered points
SIMPSON = torch.tensor([1.0, 4.0, 1.0], dtype=torch.float64) / 6
WEIGHTS = torch.outer(SIMPSON, SIMPSON).flatten()
# Nodes of a cell, 5 x 5 row by row: the nine of the whole cell and of its quarters.
NODES = torch.arange(25).reshape(5, 5)
WHOLE = NODES[::2, ::2].flatten()
QUARTERS = [NODES[v : v + 3, u : u + 3].flatten() for v in (0, 2) for u in (0, 2)]
STEPS = torch.tensor([[u, v] for v in (0, 1) for u in (0, 1)], dtype=torch.float64)
# Of nine nodes: loops round their four squares, and round them all, counter-clockwise.
SQUARES = ((0, 1, 4, 3), (1, 2, 5, 4), (3, 4, 7, 6), (4, 5, 8, 7))
RIM = (0, 1, 2, 5, 8, 7, 6, 3)
NAMES = (*DENSITIES, "holonomy")
AREA, GAUSSIAN, ABSOLUTE, BENDING = map(NAMES.index, ("area", "gaussian", "absolute", "bending"))
OF_CURVATURE = torch.ones(len(NAMES), 1, dtype=torch.float64)  # what of |K| is in each of these
OF_CURVATURE[AREA], OF_CURVATURE[BENDING] = 0, BENDING_OF_CURVATURE


@dataclass(frozen=True, eq=False)
class _Cells:
    """M rectangular cells and their integrals; rows are those of `NAMES`."""

    values: torch.Tensor  # (6, M)
    errors: torch.Tensor  # (6, M), estimates
    rounding: torch.Tensor  # (6, M)
    turning: torch.Tensor  # (M,): whether they must be refined, whatever the error
    resolved: bool
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
    of: str = "absolute",
) -> SurfaceIntegrals:
    """Compute all integrals over [-1, 1]^2 of one surface, refined where one is uncertain.

    Values and their errors are estimates, not bounds: what shows at no point is not seen.

    The error of a cell is the largest of four: the change between it and its quarters; the
    difference between jittered points, one in each quarter, and the rule's polynomial there; the
    curvature that the holonomies of its quarters show and its nodes do not; and, where its tangent
    planes are too far apart for holonomy, the area over which they scatter. Cells are quartered,
    those of the largest error first, until the summed error is below the tolerance or below
    rounding. Cells whose holonomy exceeds 0.2, and the 16 first cells of the largest error, are
    refined in any case. ``error`` is the sum plus rounding. Where points or halvings run out
    first, ``finished`` is False, and the |K| of all unfinished cells is part of the error in full.
    Likewise for |II|^2, where |K| unseen counts twice. Cells are chosen for the integral ``of``
    |K|, or of |II|^2: a developable ridge bends and does not curve.

    Args:
        function: Torch callable (N, 2) -> (1, N, D) or (N, D).
        covariance: Of the metric, as for `curvature`.
        relative_tolerance: Error at which to stop, as a share of the integral.
        bound: Of rounding errors, as for `second_order_jet`.
        largest_sample: Points at most. The first cells take 12,000; of fewer they are larger, at
            least 1,300 points, and ``finished`` is False.
        casts: As for `second_order_jet`.
        part: Points that are sampled at a time, about.
        progress: Called with ``None`` after each part.
        of: "absolute" or "bending": the integral that is refined to the tolerance.

    Raises:
        ValueError: The function makes several surfaces, or as `second_order_jet` raises.

    References:
        Davis & Rabinowitz, *Methods of Numerical Integration*, 2nd ed., chapter 6.
    """
    function = carried(function, casts)
    check_number("relative_tolerance", relative_tolerance, 1e-6, 1.0)
    check_choice("of", of, ("absolute", "bending"))
    lead = NAMES.index(of)
    flat = any(
        flatness_proofs(function, evaluate(function, torch.zeros(1, 2, dtype=torch.float64)))
    )
    jitter = torch.Generator().manual_seed(SEED)
    values, errors, rounding = (torch.zeros(len(NAMES), dtype=torch.float64) for _ in range(3))
    first = min(FIRST_CELLS, max(FEWEST_CELLS, math.isqrt(largest_sample // CELL_POINTS)))
    corners, widths = _first_cells(first)
    spent, resolved, finished = 0, True, first == FIRST_CELLS
    for depth in range(DEEPEST + 1):
        parts = []
        blocks = (x.split(max(part // 20, 1)) for x in (corners, widths))
        for here, size in zip(*blocks, strict=True):
            parts.append(_sampled_cells(function, covariance, bound, here, size, jitter))
            progress(None)
        cells = _joined(parts)
        spent, resolved = spent + cells.points, resolved and cells.resolved
        doubt = cells.errors[lead]
        # Finish the cells of least error, as many as fit into half of the tolerance left.
        order = torch.where(cells.turning, torch.inf, doubt).argsort()
        total = values[lead] + cells.values[lead].sum()
        noise = rounding[lead] + cells.rounding[lead].sum()
        allowed = relative_tolerance * total + noise - errors[lead]
        close = int((doubt[order].cumsum(0) <= allowed / 2).sum())
        close = min(close, len(order) - int(cells.turning.sum()))
        wanted = len(order) - (min(close, len(order) - ALWAYS_REFINED) if depth == 0 else close)
        if flat:  # what would be refined is rounding
            close, wanted = len(order), 0
        affordable = max(largest_sample - spent, 0) // (4 * CELL_POINTS)
        kept = len(order) - (min(wanted, affordable) if depth < DEEPEST else 0)
        unfinished, again = order[min(close, kept) : kept], order[kept:]
        finished = finished and not len(unfinished)
        whole = torch.maximum(cells.errors, cells.values.abs() * (OF_CURVATURE > 0))
        errors += cells.errors[:, order[:close][:kept]].sum(1) + whole[:, unfinished].sum(1)
        values += cells.values[:, order[:kept]].sum(1)
        rounding += cells.rounding[:, order[:kept]].sum(1)
        if not len(again):
            break
        half = widths[again, None] / 2
        corners = (corners[again, None] + STEPS * half).flatten(0, 1)
        widths = half.expand(-1, 4, 2).flatten(0, 1)
    flags = torch.tensor(resolved), torch.tensor(finished)
    integrals = SurfaceIntegrals(
        **{
            name: Integral(value, error, *flags, points=spent)
            for name, value, error in zip(NAMES, values, errors + rounding, strict=True)
        },
        notes=cells.notes,
    )
    return integrals.of_flat() if flat else integrals


def _first_cells(side: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Lower corners and widths (M, 2) of ``side``^2 cells that cover the chart, row by row."""
    edges = []
    for irrational in IRRATIONAL:
        count = torch.arange(side + 1, dtype=torch.float64)
        moved = 2 * UNEVEN * (count * irrational % 1 - 0.5)
        moved[[0, -1]] = 0
        ticks = 2 * (count + moved) / side - 1
        edges.append((ticks / EDGE_UNIT).round() * EDGE_UNIT)
    u, v = edges
    corners = torch.cartesian_prod(v[:-1], u[:-1]).flip(-1)
    return corners, torch.cartesian_prod(v.diff(), u.diff()).flip(-1)


def _joined(parts: list[_Cells]) -> _Cells:
    names = ("values", "errors", "rounding", "turning")
    tensors: dict[str, Any] = {
        name: torch.cat([getattr(cells, name) for cells in parts], -1) for name in names
    }
    return replace(
        parts[0],
        **tensors,
        resolved=all(cells.resolved for cells in parts),
        points=sum(cells.points for cells in parts),
    )


def _sampled_cells(
    function: Callable,
    covariance: object,
    bound: str,
    corners: torch.Tensor,
    widths: torch.Tensor,
    jitter: torch.Generator,
) -> _Cells:
    """Apply Simpson's rule to cells with lower ``corners`` and ``widths`` (M, 2), and quarters."""
    count = len(corners)
    ticks = torch.arange(5, dtype=torch.float64) / 4
    nodes = corners[:, None] + torch.cartesian_prod(ticks, ticks).flip(-1) * widths[:, None]
    nodes, at = _distinct(nodes.flatten(0, 1))
    place = torch.rand((count, 4, 2), dtype=torch.float64, generator=jitter)
    within = corners[:, None] + (STEPS + place) * widths[:, None] / 2
    jet = second_order_jet(function, torch.cat([nodes, within.flatten(0, 1)]), bound)
    field = curvature(jet, covariance)
    points = len(nodes) + within[..., 0].numel()
    if field.gaussian.numel() != points:
        raise ValueError(
            f"function returned {field.gaussian.numel() // points} surfaces; it must be one"
        )
    pairs = [density_of(name, field) for name in DENSITIES]
    density, noise = (torch.stack([pair[i].flatten() for pair in pairs]) for i in (0, 1))
    sampled = density[:, len(nodes) :].unflatten(-1, (count, 4))
    density, noise = (x[:, at].unflatten(-1, (count, 25)) for x in (density, noise))
    frame = second_fundamental_form(jet, covariance).frame.reshape(points, -1, 2)
    frame = frame[at].unflatten(0, (count, 25))
    area = widths.prod(-1)
    basis = (_basis(place[..., 1])[..., :, None] * _basis(place[..., 0])[..., None, :]).flatten(-2)

    values, rounding = torch.zeros(2, len(NAMES), count).double()
    missed, unseen = torch.zeros(len(DENSITIES), count).double(), torch.zeros(count).double()
    turning = torch.zeros(count, dtype=torch.bool)
    for quarter, nine in enumerate(QUARTERS):
        here, planes = density[..., nine], frame[:, nine]
        integral = here @ WEIGHTS * area / 4
        missed += (sampled[..., quarter] - (here * basis[:, quarter]).sum(-1)) * area / 4
        rounding[:-1] += noise[..., nine] @ WEIGHTS * area / 4
        holonomy = _holonomy(planes, RIM)
        swept = torch.stack([_holonomy(planes, square) for square in SQUARES]).abs().sum(0)
        unseen += torch.maximum((swept - integral[ABSOLUTE]).abs(), _scatter(planes))
        turning |= holonomy.abs() > HOLONOMY_LIMIT
        values += torch.cat([integral, holonomy[None]])
    rounding[-1] = rounding[GAUSSIAN]
    coarse = torch.cat(
        [density[..., WHOLE] @ WEIGHTS * area, _holonomy(frame[:, WHOLE], RIM)[None]]
    )
    errors = (values - coarse).abs()
    doubt = torch.maximum(torch.maximum(errors[ABSOLUTE], missed[ABSOLUTE].abs()), unseen)
    errors = torch.maximum(errors, doubt * OF_CURVATURE)
    own = [AREA, BENDING]
    errors[own] = torch.maximum(errors[own], missed[own].abs())
    return _Cells(
        values,
        errors,
        rounding,
        turning,
        bool(field.resolved.all()) and not field.jumps,
        points,
        jet.notes,
    )


def _distinct(nodes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return each of ``nodes`` (N, 2) once, and (N,) which of these it is."""
    rows = 2 ** int(2 / NODE_UNIT).bit_length()
    units = ((nodes + 1) / NODE_UNIT).long()
    keys, at = (units[:, 1] * rows + units[:, 0]).unique(return_inverse=True)
    return torch.stack([keys % rows, keys // rows], -1).double() * NODE_UNIT - 1, at


def _basis(x: torch.Tensor) -> torch.Tensor:
    """(..., 3): the quadratic polynomials that are 1 at one of 0, 1/2, 1 and 0 at the others."""
    return torch.stack([(1 - x) * (1 - 2 * x), 4 * x * (1 - x), x * (2 * x - 1)], -1)


def _holonomy(planes: torch.Tensor, loop: tuple[int, ...]) -> torch.Tensor:
    """(M,): holonomy of frames (M, 9, D, 2) along a loop of nodes; 0 where unresolved."""
    return torch.nan_to_num(loop_holonomy([planes[:, node] for node in loop]))


def _scatter(planes: torch.Tensor) -> torch.Tensor:
    """(M,): the area over which tangent planes with frames ``planes`` (M, 9, D, 2) scatter.

    The product of the two largest spreads, so that a ridge along one line has none; zero for
    cells whose planes stay together.
    """
    middle = planes[:, 4, None]
    # Components of each node's tangents outside the middle node's tangent plane.
    off = torch.nan_to_num(planes - middle @ (middle.mT @ planes), nan=1.0)
    lost = torch.linalg.vector_norm(off, dim=(-2, -1)).amax(-1) > TURNING_LIMIT
    columns = off[lost].movedim(-2, 1).flatten(2)
    spreads = torch.linalg.eigvalsh(columns @ columns.mT).clamp(min=0)
    area = torch.zeros(len(off), dtype=off.dtype)
    area[lost] = (spreads[..., -1] * spreads[..., -2]).sqrt()
    return area
