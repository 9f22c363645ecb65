"""Differences between two variants, seed by seed: the evidence of claims C3, C4 and C5.

A verdict must not rise because models failed. So differences come twice: as measured, and *in the
worst case* for the claim, where each failed pair counts as far to the wrong side as any pair of its
task is to either, and the errors of totals count against the claim, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gating_core.claims.models import Conditions, Models
from gating_core.claims.rows import ModelRow

PAIRS_FAILED = (
    "A failed model counts against the claim: its pair gets the largest difference of any pair of"
    " the task, with the sign that speaks against the claim. If that changes the verdict, the"
    " verdict is “partly” or “not enough data”."
)
Range = tuple[float, float, float]  # a value, and between what it is known to lie
Quantity = Callable[[ModelRow], Range | None]


def total(row: ModelRow) -> Range | None:
    """The total absolute curvature, with its error."""
    if row.total_curvature is None or row.total_error is None:
        return None
    value, error = row.total_curvature, row.total_error
    return value, max(value - error, 0.0), value + error  # an integral of |K| is not negative


def accuracy(row: ModelRow) -> Range | None:
    """The test accuracy."""
    return _known(row.test_accuracy)


def proxy(row: ModelRow) -> Range | None:
    """The paper's proxy."""
    return _known(row.proxy)


def normalised_proxy(row: ModelRow) -> Range | None:
    """The proxy divided by the Jacobian's norm."""
    return _known(row.normalised_proxy)


def _known(value: float | None) -> Range | None:
    return None if value is None else (value, value, value)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Differences by seed, and between what they lie; seeds that failed; keys of the first rows."""

    differences: dict[int, Range]
    failed: tuple[int, ...]
    keys: tuple[str, ...]

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
    models: Models, conditions: Conditions, task: str, variant: str, against: str,
    quantity: Quantity,
) -> Pairs:  # fmt: skip
    """``variant`` less ``against``, for the seeds that have rows of both.

    A total that is a lower estimate may stand on the left, where it makes a difference too small;
    on the right it counts as failed.
    """
    left, right = models.at(conditions, task, variant), models.at(conditions, task, against)
    differences: dict[int, Range] = {}
    failed = []
    for seed in sorted(left.keys() & right.keys()):
        one, other = left[seed], right[seed]
        too_low = quantity is total and not other.total_complete
        a = None if one.error else quantity(one)
        b = None if other.error or too_low else quantity(other)
        if a is None or b is None:
            failed.append(seed)
        else:
            differences[seed] = a[0] - b[0], a[1] - b[2], a[2] - b[1]
    return Pairs(differences, tuple(failed), tuple(left[seed].key for seed in differences))
