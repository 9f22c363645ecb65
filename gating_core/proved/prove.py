"""The sign of K proved cell by cell, and the totals with it.

The chart is cut into cells. On each, Taylor models enclose K times a positive number (`criterion`):
where the enclosure does not contain zero, K has that sign on all of the cell. Other cells are
halved. In each pass one half of the cells that are halved are the largest without a proved sign,
the other half are those with the widest bounds of the integral. Cells without a sign are *open*.

The results hold for the function in exact arithmetic, with its weights as they are; rounding is
enclosed too, on the assumptions of `gating_core.jets.bounded`. No enclosure can show that K is 0.
So *flat* is a label of the whole chart, given where a theorem proves it
(`gating_core.geometry.flatness`), as for one layer without a gate and with three values. With four
values a theorem gives K one sign on the whole chart (`gating_core.geometry.keys`).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import torch

from gating_core.geometry.flatness import flatness_proofs
from gating_core.geometry.grid import SMALLEST, Cells, chart_cells
from gating_core.geometry.keys import sign_proofs
from gating_core.geometry.metric import Whitening
from gating_core.jets.bounded import U
from gating_core.jets.casts import carried
from gating_core.jets.jet import Jet
from gating_core.jets.second_order import second_order_jet, taylor_jet
from gating_core.jets.taylor import TaylorModel
from gating_core.proved.criterion import Curving, curving, largest_total
from gating_core.proved.signs import (
    ANY,
    FIRST_SIDE,
    FLAT,
    LABELS,
    NEGATIVE,
    NOT_NEGATIVE,
    OPEN_CODE,
    POSITIVE,
    Interval,
    ProvedCurvature,
    Signs,
    choose,
    labels_of,
    search,
    variation,
    worse_side,
)

Function = Callable[[torch.Tensor], torch.Tensor]
ROUNDING = 16 * U
DEGREE = 3  # of the Taylor models: higher ones decide larger cells and take longer for each
BATCH_NUMBERS = 4096  # D times the cells that are halved in one pass
Totals = tuple[Interval, Interval, Interval]  # of |K| dA, K dA and dA


@dataclass(frozen=True, eq=False)
class Judged(Signs):
    """N cells with proved signs, and bounds of the integrals over each.

    ``immersed`` (N,) bool: whether the map is proved to be an immersion on the cell. ``gaussian``,
    ``absolute`` and ``area`` (N, 2): lower and upper bounds of the integrals of K dA, |K| dA, dA.
    """

    immersed: torch.Tensor
    gaussian: torch.Tensor
    absolute: torch.Tensor
    area: torch.Tensor

    def of_sign(self, sign: int) -> Judged:
        """Add that the map is an immersion and K has this ``sign``, 1 or -1, in all cells."""
        label = LABELS.index(POSITIVE if sign > 0 else NEGATIVE)
        limits = (0.0, torch.inf) if sign > 0 else (-torch.inf, 0.0)
        gaussian = self.gaussian.clamp(*limits)
        return replace(
            self,
            labels=torch.full_like(self.labels, label),
            immersed=torch.ones_like(self.immersed),
            gaussian=gaussian,
            absolute=gaussian if sign > 0 else -gaussian.flip(-1),
        )

    def below(self, parents: Judged) -> Judged:
        """Add what is proved of the ``parents``, as `Signs.below` does; an immersion, too."""
        combined = super().below(parents)
        return replace(
            combined, immersed=self.immersed | parents.immersed.repeat(len(self) // len(parents))
        )


def judge(
    function: Function, cells: Cells, degree: int = DEGREE, whiten: Whitening | None = None
) -> Judged:
    """Judge ``cells`` of the surface that ``function`` (N, 2) -> (..., N, D) draws.

    ``degree`` is that of the Taylor models, ``whiten`` the metric. ``ValueError`` for a function
    that draws several surfaces.
    """
    jet = taylor_jet(function, cells.centres, cells.radius, degree)
    k = curving(_single_surface(jet), whiten)
    det, density, labels = k.determinant.ball(), k.density.ball(), labels_of(k.sign)
    immersed = (det.value > det.bound) | (labels != OPEN_CODE)
    size = 4 * cells.radius.prod(-1)
    gaussian = _integral(k.density, size)
    largest = (density.magnitude + density.bound) * size * (1 + ROUNDING)
    largest = largest.nan_to_num(torch.inf, torch.inf)
    degenerate = (det.value < 4 * det.bound).nonzero().squeeze(-1)
    if len(degenerate) and k.first.shape[-1] == 3:
        bound = largest_total(k.first[:, degenerate], k.second[:, degenerate], size[degenerate])
        largest[degenerate] = torch.minimum(largest[degenerate], bound)
    gaussian = torch.minimum(torch.maximum(gaussian, -largest[:, None]), largest[:, None])
    return Judged(
        cells.centres,
        cells.radius,
        labels,
        _worse_side(k, cells.radius, labels, immersed),
        immersed,
        gaussian,
        _absolute(gaussian, largest, labels),
        _integral(k.area, size).clamp(min=0.0),
    )


def _single_surface(jet: Jet) -> Jet:
    """Return the jet without its leading axes; ``ValueError`` if there are several surfaces."""
    leading = jet.shape[:-2]
    if leading.numel() != 1:
        raise ValueError(f"function returned {leading.numel()} surfaces; one is proved at a time")
    return cast(Any, jet)[(0,) * len(leading)] if leading else jet


def _integral(density: TaylorModel, size: torch.Tensor) -> torch.Tensor:
    """(N, 2): bounds of the integral of a ``density`` over cells of chart area ``size`` (N,)."""
    mean = density.cell_mean()
    middle = mean.value * size
    spread = mean.bound * size * (1 + ROUNDING) + middle.abs() * ROUNDING
    bounds = torch.stack([middle - spread, middle + spread], -1)
    unknown = bounds.isnan().any(-1)
    bounds[unknown, 0], bounds[unknown, 1] = -torch.inf, torch.inf
    return bounds


def _absolute(gaussian: torch.Tensor, largest: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """(N, 2): bounds of the integral of |K| dA, which is at most ``largest`` (N,)."""
    low, high = gaussian.unbind(-1)
    least = torch.maximum(low, -high).clamp(min=0.0)
    proved = labels != OPEN_CODE
    most = torch.where(proved, torch.maximum(-low, high), largest)
    return torch.stack([least, torch.maximum(least, most)], -1)


def _worse_side(
    k: Curving, radius: torch.Tensor, labels: torch.Tensor, immersed: torch.Tensor
) -> torch.Tensor:
    """(N,): the axis to split: the sign varies most along it, or K dA where the sign is proved."""
    open_cells = (labels == OPEN_CODE).unsqueeze(-1)
    score = torch.where(open_cells, variation(k.sign, radius), variation(k.density, radius))
    return worse_side(torch.where(immersed.unsqueeze(-1), score, torch.inf), radius)


@dataclass(frozen=True)
class Budget:
    """A limit to a proof: ``seconds``, ``cells``, or a result that is precise enough.

    It is when at most ``open_share`` of the chart is open, and the bounds of the total of |K| dA
    (of dA, where K = 0) differ by at most ``relative_width`` of the upper one.
    """

    seconds: float = 2.0
    cells: int = 1_000_000
    open_share: float = 0.001
    relative_width: float = 0.01


USUAL = Budget()


def prove_curvature(
    function: Function,
    covariance: object = None,
    budget: Budget = USUAL,
    degree: int = DEGREE,
    casts: str = "refuse",
) -> ProvedCurvature:
    """Prove the sign of K on as much of the chart [-1, 1]^2 as ``budget`` allows.

    ``function`` is any torch callable (N, 2) -> (..., N, D), D >= 2, that draws one surface, whose
    operations have error rules; `MissingRule` names one that has none, or a comparison of weights
    alone that rounding decides, as linear attention may have. ``covariance`` gives the metric, as
    for `gating_core.geometry.curvature`. ``degree``, 0 (balls) to 4, is that of the Taylor models.
    ``casts`` as for `second_order_jet`. ``ValueError`` for a function that `second_order_jet`
    refuses, or of several surfaces.
    """
    steps = proof_steps(carried(function, casts), covariance, budget, degree)
    return deque(steps, maxlen=1).pop()


def proof_steps(
    function: Function, covariance: object = None, budget: Budget = USUAL, degree: int = DEGREE
) -> Iterator[ProvedCurvature]:
    """`prove_curvature`, yielding a result after each pass; later results are never worse."""
    start = time.perf_counter()
    cells = chart_cells(FIRST_SIDE)
    some = cells.centres[:: FIRST_SIDE + 1]
    jet = second_order_jet(function, some)  # refuses what is no map
    value = jet.value
    dim = value.shape[-1]
    if value.shape[:-2].numel() != 1 or dim < 2:
        raise ValueError(
            f"function returned shape {tuple(value.shape)}; it must be one surface, D >= 2"
        )
    whiten = None if covariance is None else Whitening(covariance, dim)
    (proof,) = flatness_proofs(function, value)
    (one,) = sign_proofs(function, 1)
    if one is not None and one.sign == 0:
        proof, one = one.reason, None
    totals = NOT_NEGATIVE, ANY, NOT_NEGATIVE

    count = len(cells)

    def judge_cells(batch: Cells) -> Judged:
        found = judge(function, batch, degree, whiten)
        return found if one is None else found.of_sign(one.sign)

    def choose_cells(judged: Judged) -> torch.Tensor:
        nonlocal count
        room = max(budget.cells - count, 0) // 2  # each split adds two cells
        chosen = _next(judged, proof is not None, min(max(BATCH_NUMBERS // dim, 1), room))
        count += 2 * int(chosen.sum())
        return chosen

    for judged in search(judge_cells, cells, choose_cells):
        absolute, gaussian, area = map(Interval.within, totals, _totals(judged, proof))
        totals = absolute, gaussian, area
        result = ProvedCurvature(
            judged.cells,
            torch.full_like(judged.labels, LABELS.index(FLAT)) if proof else judged.labels,
            judged.immersed,
            *totals,
            _area_share(judged, POSITIVE),
            _area_share(judged, NEGATIVE),
            proof,
            count,
            time.perf_counter() - start,
            jet.notes,
            None if one is None else one.reason,
        )
        yield result
        if _enough(result, budget):
            return


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


def _area_share(judged: Judged, label: str) -> float:
    """The share of the surface's area that cells with a ``label`` have at least."""
    signed = judged.labels == LABELS.index(label)
    least, rest = max(_sum(judged.area[signed]).low, 0.0), _sum(judged.area[~signed]).high
    return least / (least + max(rest, 0.0)) * (1 - ROUNDING) if least > 0 else 0.0


def _sum(bounds: torch.Tensor) -> Interval:
    """The sum of intervals (N, 2), rounded outwards."""
    low, high = bounds.sum(0).tolist()
    slack = ((len(bounds) + 2) * 2 * U * bounds.abs().sum(0)).tolist()
    return Interval(low - slack[0], high + slack[1])
