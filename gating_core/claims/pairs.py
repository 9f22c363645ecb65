"""Differences between two variants, seed by seed: the evidence of claims C3, C4 and C5.

A verdict must not rise because models failed. So differences come twice: as measured, and *in the
worst case* for the claim, where each failed pair counts as far to the wrong side as any pair of its
task is to either, and the errors of totals count against the claim, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gating_core.claims.models import BASE, Conditions, ModelRow, Models

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

    ``differences`` are by seed, ``keys`` those of the first variant's rows.
    """

    conditions: Conditions
    task: str
    variant: str
    against: str
    differences: dict[int, Range]
    failed: tuple[int, ...]  # seeds
    keys: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many differences there are."""
        return len(self.differences)

    @property
    def values(self) -> list[float]:
        """The differences as measured."""
        return [value for value, *_ in self.differences.values()]

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of the differences."""
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
        failed = []
        for seed in sorted(left.keys() & right.keys()):
            a, b = _range(left[seed], column), _range(right[seed], column)
            too_low = column == TOTAL and not right[seed].total_complete
            if a is None or b is None or too_low:
                failed.append(seed)
            else:
                differences[seed] = a[0] - b[0], a[1] - b[2], a[2] - b[1]
        if differences or failed:
            keys = tuple(left[seed].key for seed in differences)
            every.append(Pairs(at, task, variant, against, differences, tuple(failed), keys))
    return every


def _range(row: ModelRow, column: str) -> Range | None:
    """What is known of a number; ``None`` where the model failed. Only totals have an error."""
    value, error = getattr(row, column), row.total_error if column == TOTAL else 0.0
    if row.error or value is None or error is None:
        return None
    least = 0.0 if column == TOTAL else -np.inf  # an integral of |K| is not negative
    return value, max(value - error, least), value + error
