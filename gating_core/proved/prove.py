"""The sign of K proved cell by cell, and the totals with it.

The chart is cut into cells. On each, Taylor models enclose what has the sign of K (`criterion`): a
cell on which that is not zero has the sign everywhere. Others are halved: half of each pass are the
largest open ones, half are those on which the total is known worst. What is left is *open*.

What holds: cells, signs and integrals for the function in exact arithmetic with its weights as they
are; rounding is enclosed too, on the assumptions of `gating_core.jets.bounded`. *Flat* is never a
matter of cells, for no enclosure shows that K is 0: it is said of the whole chart where a theorem
says so (`gating_core.geometry.flatness`), as of one layer without a gate and with three values.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass

import torch

from gating_core.geometry.cells import SMALLEST, Cells, chart_cells
from gating_core.geometry.flatness import flatness_proofs
from gating_core.geometry.metric import Whitening
from gating_core.jets.blocks import one_thread
from gating_core.jets.bounded import U
from gating_core.jets.second_order import second_order_jet
from gating_core.pauses import drained
from gating_core.proved.judge import DEGREE, Judged, judge
from gating_core.proved.result import (
    ANY,
    FLAT,
    LABELS,
    NOT_NEGATIVE,
    Interval,
    ProvedCurvature,
)
from gating_core.proved.signs import FIRST_SIDE, choose

Function = Callable[[torch.Tensor], torch.Tensor]
BATCH_NUMBERS = 4096  # D times the cells that are halved in one pass
Totals = tuple[Interval, Interval, Interval]  # of |K| dA, K dA and dA


@dataclass(frozen=True)
class Budget:
    """When to stop: after ``seconds``, after ``cells``, or when enough is known.

    That is when no more than ``open_share`` of the chart is open, and the total of |K| dA (of dA,
    where K = 0) is known to ``relative_width`` of itself.
    """

    seconds: float = 2.0
    cells: int = 1_000_000
    open_share: float = 0.001
    relative_width: float = 0.01


USUAL = Budget()


def prove_curvature(
    function: Function, covariance: object = None, budget: Budget = USUAL, degree: int = DEGREE
) -> ProvedCurvature:
    """Prove the sign of K on as much of the chart [-1, 1]^2 as ``budget`` allows.

    ``function`` is any torch callable (N, 2) -> (..., N, D), D >= 2, that draws one surface, whose
    operations have error rules; `MissingRule` names one that has none, or a comparison of weights
    alone that rounding decides, as linear attention may have. ``covariance`` gives the metric, as
    for `gating_core.geometry.curvature`. ``degree``, 0 (balls) to 4, is that of the Taylor models.
    ``ValueError`` for a function that `second_order_jet` refuses, or of several surfaces.
    """
    return drained(proof_steps(function, covariance, budget, degree))


def proof_steps(
    function: Function, covariance: object = None, budget: Budget = USUAL, degree: int = DEGREE
) -> Generator[ProvedCurvature, None, ProvedCurvature]:
    """`prove_curvature`, yielding what is known after each pass; later results never say less."""
    start = time.perf_counter()
    cells = chart_cells(FIRST_SIDE)
    value = second_order_jet(
        function, cells.centres[:: FIRST_SIDE + 1]
    ).value  # refuses what is no map
    dim = value.shape[-1]
    if value.shape[:-2].numel() != 1 or dim < 2:
        raise ValueError(
            f"function returned shape {tuple(value.shape)}; it must be one surface, D >= 2"
        )
    whiten = None if covariance is None else Whitening(covariance, dim)
    (proof,) = flatness_proofs(function, value)
    totals = NOT_NEGATIVE, ANY, NOT_NEGATIVE

    def judged(some: Cells) -> Judged:
        with one_thread():  # many small operations: several threads would wait for each other
            return judge(function, some, degree, whiten)

    known, count = judged(cells), len(cells)
    while True:
        totals = _within(totals, _totals(known, proof))
        result = ProvedCurvature(
            known.cells,
            torch.full_like(known.labels, LABELS.index(FLAT)) if proof else known.labels,
            known.immersed,
            *totals,
            proof,
            count,
            time.perf_counter() - start,
        )
        room = max(budget.cells - result.count, 0) // 2  # a half of a cell is a cell
        chosen = _next(known, proof is not None, min(max(BATCH_NUMBERS // dim, 1), room))
        if _enough(result, budget) or not chosen.any():
            return result
        yield result
        known = known.split(chosen, judged)
        count += 2 * int(chosen.sum())


def _enough(result: ProvedCurvature, budget: Budget) -> bool:
    if result.seconds >= budget.seconds or result.count >= budget.cells:
        return True
    total = result.area if result.proof else result.absolute
    return result.open <= budget.open_share and total.width <= budget.relative_width * total.high


def _next(known: Judged, flat: bool, batch: int) -> torch.Tensor:
    """(N,): which cells to halve."""
    small = known.radius.amax(-1) <= SMALLEST
    chosen = torch.zeros(len(known), dtype=torch.bool)
    ends = known.area if flat else known.absolute
    if not flat:
        choose(chosen, known.open_sizes, batch // 2)
    choose(
        chosen, torch.where(small | chosen, 0.0, ends[:, 1] - ends[:, 0]), batch - int(chosen.sum())
    )
    return chosen


def _totals(known: Judged, proof: str | None) -> Totals:
    if proof:
        zero = Interval(0.0, 0.0)
        return zero, zero, _sum(known.area)
    return _sum(known.absolute), _sum(known.gaussian), _sum(known.area)


def _within(before: Totals, now: Totals) -> Totals:
    """What both say of each total."""
    absolute, gaussian, area = (a.within(b) for a, b in zip(before, now, strict=True))
    return absolute, gaussian, area


def _sum(ends: torch.Tensor) -> Interval:
    """The sum of intervals (N, 2), rounded outwards."""
    low, high = ends.sum(0).tolist()
    slack = ((len(ends) + 2) * 2 * U * ends.abs().sum(0)).tolist()
    return Interval(low - slack[0], high + slack[1])
