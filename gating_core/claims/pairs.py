"""Differences between two variants, seed by seed, and their tests: the evidence of C3, C4 and C5.

A verdict must not rise because models failed. So differences come twice: as measured, and *in the
worst case* for the claim, where each failed pair counts as far to the wrong side as any pair of its
task is to either, and the errors of totals count against the claim, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.claims.claim import Thresholds
from gating_core.claims.models import BASE, Conditions, ModelRow, Models
from gating_core.claims.statistics import Paired, holm, paired
from gating_core.claims.text import (
    MISSING,
    TextTable,
    interval,
    listed,
    probability,
    signed,
    spans,
)

PAIRS_FAILED = (
    "A failed model counts against the claim: its pair gets the largest difference of any pair of"
    " the task, with the sign that speaks against the claim. If that changes the verdict, the"
    " verdict is “partly” or “not enough data”."
)
TOTAL = "total_curvature"  # the column that has an error
Range = tuple[float, float, float]  # a value, and between what it is known to lie


@dataclass(frozen=True, eq=False)
class Pairs:
    """``variant`` less ``against`` on one task, for the seeds that have rows of both.

    ``differences`` are by seed, ``keys`` those of the first variant's rows. ``failed`` seeds have
    none: a model failed, or, for ``lower`` ones among them, the right total is a lower estimate.
    """

    conditions: Conditions
    task: str
    variant: str
    against: str
    differences: dict[int, Range]
    failed: tuple[int, ...]  # seeds
    keys: tuple[str, ...]
    lower: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """The number of differences."""
        return len(self.differences)

    @property
    def name(self) -> str:
        """The task, and what else is not as in the base."""
        return self.task if self.conditions == BASE else f"{self.task} ({self.conditions.text})"

    @property
    def values(self) -> list[float]:
        """The differences as measured."""
        return [value for value, *_ in self.differences.values()]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the differences."""
        return tuple(self.differences)

    def worst(self, sign: float, least: float = 0.0) -> np.ndarray:
        """All differences, the failed ones last: as far to the side of ``sign`` as any.

        At ``least`` so far: where all others hardly differ, that would count for nothing.
        """
        values, lows, highs = np.array(list(self.differences.values())).T
        failed = np.full(len(self.failed), sign * max(np.abs(values).max(), least))
        return np.concatenate([lows if sign < 0 else highs, failed])


def pairs_of(
    models: Models, variant: str, against: str, column: str, at: Conditions = BASE
) -> list[Pairs]:
    """Compare two variants by a ``column`` of their rows, on every task that has rows of both.

    A total that is a lower estimate may stand on the left, where it makes a difference too small;
    on the right it counts as failed.
    """
    every = []
    for task in models.tasks(at):
        left, right = models.at(at, task, variant), models.at(at, task, against)
        differences: dict[int, Range] = {}
        failed, lower = [], []
        for seed in sorted(left.keys() & right.keys()):
            a, b = _range(left[seed], column), _range(right[seed], column)
            too_low = column == TOTAL and right[seed].lower_estimate
            if a is None or b is None or too_low:
                failed.append(seed)
                lower += [seed] * (a is not None and b is not None)
            else:
                differences[seed] = a[0] - b[0], a[1] - b[2], a[2] - b[1]
        if differences or failed:
            keys = tuple(left[seed].key for seed in differences)
            missing = tuple(failed), keys, tuple(lower)
            every.append(Pairs(at, task, variant, against, differences, *missing))
    return every


def missing_text(every: Sequence[Pairs], fewest: int) -> str:
    """Say how many pairs are missing and why, and what is not tested; a space first, or nothing.

    ``fewest`` pairs are needed for a test.
    """
    missing = sum(len(pairs.failed) for pairs in every)
    if not missing and all(pairs.count >= fewest for pairs in every):
        return ""
    lower = sum(len(pairs.lower) for pairs in every)
    counts = {
        "the ungated total leaves out unresolved points": lower,
        "a model failed": missing - lower,
    }
    reasons = [f"in {count} {why}" for why, count in counts.items() if count]
    text = ""
    if missing:
        cells = sum(bool(pairs.failed) for pairs in every)
        base = all(pairs.conditions == BASE for pairs in every)
        text = f" {missing} of {missing + sum(pairs.count for pairs in every)} pairs are missing on"
        text += f" {cells} of {len(every)} {'tasks' if base else 'settings and tasks'}:"
        text += f" {listed(reasons)}."
    few = [pairs.name for pairs in every if pairs.count < fewest]
    if few:
        text += f" Not tested, because fewer than {fewest} pairs are left: {listed(few)}."
    return text


def _range(row: ModelRow, column: str) -> Range | None:
    """A number with its range; ``None`` where the model failed. Only totals have an error."""
    value, error = getattr(row, column), row.total_error if column == TOTAL else 0.0
    if row.error or value is None or error is None:
        return None
    least = 0.0 if column == TOTAL else -np.inf  # an integral of |K| is not negative
    return value, max(value - error, least), value + error


# --- Tests over several pairs --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Comparison:
    """One variant less another on one task; ``measured`` is ``None`` without a pair.

    ``p`` is Holm's over the tasks, NaN where it was not tested.
    """

    pairs: Pairs
    measured: Paired | None
    worst_case: Paired | None
    p: float
    worst_case_p: float

    def sign(self, level: float, worst_case: bool = False) -> int:
        """Return 1 if the first is significantly ahead, −1 if it is behind, else 0.

        As measured, or with all doubt against the claim.
        """
        of, p = self.measured, self.p
        if worst_case:
            of, p = self.worst_case, self.worst_case_p
        return int(np.sign(of.mean)) if of is not None and p <= level else 0


def compared(every: Sequence[Pairs], t: Thresholds) -> tuple[Comparison, ...]:
    """Test all of ``every``, with Holm's p over those that have pairs enough."""
    measured = [paired(x.seeds, x.values, t.confidence) if x.count else None for x in every]
    worst = [
        paired(x.seeds + x.failed, x.worst(-1.0), t.confidence) if x.count else None for x in every
    ]

    def p(results: Sequence[Paired | None]) -> list[float]:
        return holm(
            [
                of.p if of is not None and x.count >= t.fewest_seeds else np.nan
                for of, x in zip(results, every, strict=True)
            ]
        ).tolist()

    return tuple(map(Comparison, every, measured, worst, p(measured), p(worst)))


def table(comparisons: Sequence[Comparison], factor: float = 1.0) -> TextTable:
    """All numbers of ``comparisons``, a row for each; differences times ``factor``."""
    columns = ("setting", "task", "difference", "pairs", "mean", "95 % interval", "worst seed",
               "p (Holm)", "p in the worst case", "failed seeds")  # fmt: skip
    rows = []
    for one in comparisons:
        pairs, of = one.pairs, one.measured
        numbers = [MISSING] * 5
        if of is not None:
            seed, worst = of.worst
            numbers = [
                signed(factor * of.mean),
                interval(factor * of.low, factor * of.high),
                f"{signed(factor * worst)} (seed {seed})",
                probability(one.p),
                probability(one.worst_case_p),
            ]
        rows.append(
            (
                pairs.conditions.text,
                pairs.task,
                f"{pairs.variant} − {pairs.against}",
                str(pairs.count),
                *numbers,
                spans(pairs.failed) or MISSING,
            )
        )
    return TextTable(columns, tuple(rows))
