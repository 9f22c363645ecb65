"""The sign of K proved cell by cell, the totals with it, and when to stop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass

import torch

from gating_core.geometry.cells import SMALLEST, chart_cells
from gating_core.geometry.flatness import flatness_proofs
from gating_core.jets.blocks import one_thread
from gating_core.jets.bounded import U
from gating_core.jets.map_check import check_map
from gating_core.pauses import drained
from gating_core.proved.judge import Judged, judge
from gating_core.proved.result import ANY, FLAT, LABELS, NOT_NEGATIVE, OPEN, Interval, ProvedCurvature

clock = time.process_time if os.environ.get('CPU') else time.perf_counter
Function = Callable[[torch.Tensor], torch.Tensor]
FIRST_SIDE = 16
DEGREE = 4
BATCH = 1024  # cells split at a time


@dataclass(frozen=True)
class Budget:
    """When to stop: what is reached first.

    ``open_share`` of the chart is left, and the total is known to ``relative_width`` of itself.
    """

    seconds: float = 2.0
    cells: int = 1_000_000
    open_share: float = 0.0
    relative_width: float = 0.01


def prove_curvature(function: Function, budget: Budget = Budget()) -> ProvedCurvature:
    return drained(proof_steps(function, budget))


def proof_steps(
    function: Function, budget: Budget = Budget(), degree: int = DEGREE
) -> Generator[ProvedCurvature, None, ProvedCurvature]:
    start = clock()
    first = chart_cells(FIRST_SIDE)
    if not getattr(function, "pure", False):
        check_map(function, first.centres)
    (proof,) = flatness_proofs(function, function(first.centres[:1]))
    with one_thread():
        known = judge(function, first, degree)
    count = len(first)
    totals = (NOT_NEGATIVE, ANY, NOT_NEGATIVE)
    while True:
        totals = tuple(a.within(b) for a, b in zip(totals, _totals(known, proof), strict=True))
        labels = torch.full_like(known.labels, LABELS.index(FLAT)) if proof else known.labels
        result = ProvedCurvature(
            known.cells, labels, known.immersed, *totals, proof, count, clock() - start
        )
        some = _next(known, result)
        if _enough(result, budget) or not some.any():
            return result
        yield result
        with one_thread():
            halves = known[some].halves()
            new = judge(function, halves, degree)
        before = known.labels[some].repeat(2)
        settled = before != LABELS.index(OPEN)
        new.labels[settled] = before[settled]
        known = known[~some] + new
        count += len(new)


def _enough(result: ProvedCurvature, budget: Budget) -> bool:
    if result.seconds >= budget.seconds or result.count >= budget.cells:
        return True
    measure = result.area if result.proof else result.absolute
    return result.open <= budget.open_share and measure.width <= budget.relative_width * measure.high


def _next(known: Judged, result: ProvedCurvature) -> torch.Tensor:
    """(N,): which cells to split: half of them open ones, the largest first, half for the total."""
    small = known.radius.amax(-1) <= SMALLEST
    share = known.radius.prod(-1)
    chosen = torch.zeros(len(known), dtype=torch.bool)
    if not result.proof:
        _most(chosen, torch.where((known.labels == LABELS.index(OPEN)) & ~small, share, 0.0), BATCH // 2)
    ends = known.area if result.proof else known.absolute
    width = torch.where(small | chosen, 0.0, ends[:, 1] - ends[:, 0])
    _most(chosen, width, BATCH - int(chosen.sum()))
    return chosen


def _most(chosen: torch.Tensor, weight: torch.Tensor, count: int) -> None:
    top = weight.topk(min(count, len(weight))).indices
    chosen[top[weight[top] > 0]] = True


def _totals(known: Judged, proof: str | None) -> tuple[Interval, Interval, Interval]:
    zero = Interval(0.0, 0.0)
    if proof:
        return zero, zero, _sum(known.area)
    return _sum(known.absolute), _sum(known.gaussian), _sum(known.area)


def _sum(ends: torch.Tensor) -> Interval:
    """The sum of intervals (N, 2), rounded outwards."""
    low, high = ends.sum(0).tolist()
    slack = (len(ends) + 2) * 2 * U * ends.abs().sum(0)
    return Interval(low - float(slack[0]), high + float(slack[1]))
