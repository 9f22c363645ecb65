"""The sign of K proved cell by cell, and the totals with it.

The chart is cut into cells. On each, Taylor models enclose K times a positive number (`criterion`):
where the enclosure does not contain zero, K has that sign on all of the cell. Other cells are
halved. In each pass one half of the cells that are halved are the largest without a proved sign,
the other half are those with the widest bounds of the integral. Cells without a sign are *open*.

The results hold for the function in exact arithmetic, with its weights as they are; rounding is
enclosed too, on the assumptions of `gating_core.jets.bounded`. No enclosure can show that K is 0.
So *flat* is a label of the whole chart, given where a theorem proves it
(`gating_core.geometry.flatness`), as for one layer without a gate and with three values.
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
    """When to stop: after ``seconds``, after ``cells``, or when the result is precise enough.

    It is when at most ``open_share`` of the chart is open, and the bounds of the total of |K| dA
    (of dA, where K = 0) differ by at most ``relative_width`` of the upper one.
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
    """`prove_curvature`, yielding a result after each pass; later results are never worse."""
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

    def judge_cells(batch: Cells) -> Judged:
        with one_thread():  # many small operations: several threads would wait for each other
            return judge(function, batch, degree, whiten)

    judged, count = judge_cells(cells), len(cells)
    while True:
        totals = _within(totals, _totals(judged, proof))
        result = ProvedCurvature(
            judged.cells,
            torch.full_like(judged.labels, LABELS.index(FLAT)) if proof else judged.labels,
            judged.immersed,
            *totals,
            proof,
            count,
            time.perf_counter() - start,
        )
        room = max(budget.cells - result.count, 0) // 2  # each split adds two cells
        chosen = _next(judged, proof is not None, min(max(BATCH_NUMBERS // dim, 1), room))
        if _enough(result, budget) or not chosen.any():
            return result
        yield result
        judged = judged.split(chosen, judge_cells)
        count += 2 * int(chosen.sum())


def _enough(result: ProvedCurvature, budget: Budget) -> bool:
    if result.seconds >= budget.seconds or result.count >= budget.cells:
        return True
    total = result.area if result.proof else result.absolute
    return result.open <= budget.open_share and total.width <= budget.relative_width * total.high


def _next(judged: Judged, flat: bool, batch: int) -> torch.Tensor:
    """(N,): which cells to halve."""
    small = judged.radius.amax(-1) <= SMALLEST
    chosen = torch.zeros(len(judged), dtype=torch.bool)
    bounds = judged.area if flat else judged.absolute
    if not flat:
        choose(chosen, judged.open_sizes, batch // 2)
    choose(
        chosen,
        torch.where(small | chosen, 0.0, bounds[:, 1] - bounds[:, 0]),
        batch - int(chosen.sum()),
    )
    return chosen


def _totals(judged: Judged, proof: str | None) -> Totals:
    if proof:
        zero = Interval(0.0, 0.0)
        return zero, zero, _sum(judged.area)
    return _sum(judged.absolute), _sum(judged.gaussian), _sum(judged.area)


def _within(before: Totals, now: Totals) -> Totals:
    """The intersection of both bounds of each total."""
    absolute, gaussian, area = (a.within(b) for a, b in zip(before, now, strict=True))
    return absolute, gaussian, area


def _sum(bounds: torch.Tensor) -> Interval:
    """The sum of intervals (N, 2), rounded outwards."""
    low, high = bounds.sum(0).tolist()
    slack = ((len(bounds) + 2) * 2 * U * bounds.abs().sum(0)).tolist()
    return Interval(low - slack[0], high + slack[1])
