"""What does a gate change, seed by seed? What claims C3, C4 and C5 are decided from.

A verdict must not rise because models failed. So differences come twice: as measured, and *in the
worst case* for the claim, where each failed pair counts as far to the wrong side as any pair of its
task is to either, and the errors of totals count against the claim, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gating_core.claims.grid import CONTROLS
from gating_core.claims.models import BASE, PRIMARY, UNGATED, Gap, Models, Place, linear, nonlinear
from gating_core.claims.rows import ModelRow
from gating_core.claims.statistics import Equivalence, Paired, equivalence, holm, paired
from gating_core.claims.thresholds import Thresholds


@dataclass(frozen=True, eq=False)
class Comparison:
    """One variant less another on one task; ``measured`` is ``None`` without a pair.

    ``p`` is Holm's over the tasks, NaN where it was not tested. ``keys`` are those of the rows that
    differences are of, the first variant's.
    """

    place: Place
    task: str
    variant: str
    against: str
    measured: Paired | None
    worst_case: Paired | None
    keys: tuple[str, ...]
    failed: tuple[int, ...]  # seeds
    p: float = np.nan
    worst_case_p: float = np.nan

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return 0 if self.measured is None else self.measured.count

    def ahead(self, level: float) -> bool:
        """Whether the first is significantly ahead, by what was measured."""
        return self.measured is not None and self.p <= level and self.measured.mean > 0

    def behind(self, level: float) -> bool:
        """Whether it is significantly behind."""
        return self.measured is not None and self.p <= level and self.measured.mean < 0

    def ahead_in_the_worst_case(self, level: float) -> bool:
        """The same with everything uncertain against it."""
        found = self.worst_case
        return found is not None and self.worst_case_p <= level and found.mean > 0


Range = tuple[float, float, float]  # a value, and between what it is known to lie
Numbers = Callable[[ModelRow], Range | None]


@dataclass(frozen=True, eq=False)
class Differences:
    """Comparisons by variant, against the ungated model, each a family of tests over the tasks.

    ``controls`` are the primary gate less each control; ``varied`` that less the ungated model
    where something else is varied, too. Only ``families[PRIMARY]`` decides.
    """

    families: dict[str, tuple[Comparison, ...]]
    controls: dict[str, tuple[Comparison, ...]]
    varied: tuple[Comparison, ...]
    gaps: tuple[Gap, ...]

    @property
    def deciding(self) -> tuple[Comparison, ...]:
        """The primary gate's."""
        return self.families.get(PRIMARY, ())


def curvature_differences(models: Models, t: Thresholds) -> Differences:
    """Of the total absolute curvature, on all tasks."""
    return _differences(models, models.tasks(), models.tasks, _total, t)


def accuracy_differences(models: Models, t: Thresholds) -> Differences:
    """Of the test accuracy, on tasks that are not linear."""
    return _differences(
        models,
        nonlinear(models.tasks()),
        lambda place: nonlinear(models.tasks(place)),
        _accuracy,
        t,
    )


def _differences(
    models: Models,
    tasks: list[str],
    tasks_at: Callable[[Place], list[str]],
    numbers: Numbers,
    t: Thresholds,
) -> Differences:
    present = models.variants()

    def family(variant: str, against: str, place: Place = BASE) -> tuple[Comparison, ...]:
        chosen = tasks if place == BASE else tasks_at(place)
        some = (compared(models, place, task, variant, against, numbers, t) for task in chosen)
        return adjusted([one for one in some if one is not None], t)

    others = [name for name in present if name != UNGATED]
    families = {name: family(name, UNGATED) for name in others}
    controls = {name: family(PRIMARY, name) for name in CONTROLS if name in present}
    varied = [
        x for place in models.places if place != BASE for x in family(PRIMARY, UNGATED, place)
    ]
    gaps = models.gaps(tasks, present)
    return Differences(families, controls, tuple(varied), gaps)


def _total(row: ModelRow) -> Range | None:
    if row.total_curvature is None or row.total_error is None:
        return None
    value, error = row.total_curvature, row.total_error
    return value, max(value - error, 0.0), value + error  # an integral of |K| is not negative


def _accuracy(row: ModelRow) -> Range | None:
    value = row.test_accuracy
    return None if value is None else (value, value, value)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Differences by seed, and between what they lie; seeds that failed; keys of rows."""

    differences: dict[int, Range]
    failed: tuple[int, ...]
    keys: tuple[str, ...]

    def worst(self, sign: float, least: float = 0.0) -> np.ndarray:
        """All differences, the failed ones last: as far to the side of ``sign`` as any.

        At ``least`` so far: where all others hardly differ, that would count for nothing.
        """
        values, lows, highs = np.array(list(self.differences.values())).T
        failed = np.full(len(self.failed), sign * max(np.abs(values).max(), least))
        return np.concatenate([lows if sign < 0 else highs, failed])


def pairs_of(
    models: Models, place: Place, task: str, variant: str, against: str, numbers: Numbers
) -> Pairs:
    """``variant`` less ``against``, for the seeds that have rows of both.

    A total that is a lower estimate may stand on the left, where it makes a difference too small;
    on the right it counts as failed.
    """
    left, right = models.at(place, task, variant), models.at(place, task, against)
    found: dict[int, Range] = {}
    failed = []
    for seed in sorted(left.keys() & right.keys()):
        one, other = left[seed], right[seed]
        a = None if one.error else numbers(one)
        b = None if other.error or _is_lower_estimate(other, numbers) else numbers(other)
        if a is None or b is None:
            failed.append(seed)
        else:
            found[seed] = a[0] - b[0], a[1] - b[2], a[2] - b[1]
    return Pairs(found, tuple(failed), tuple(left[seed].key for seed in found))


def compared(
    models: Models, place: Place, task: str, variant: str, against: str, numbers: Numbers,
    t: Thresholds,
) -> Comparison | None:  # fmt: skip
    """``variant`` less ``against``; ``None`` if no seed has rows of both."""
    pairs = pairs_of(models, place, task, variant, against, numbers)
    if not pairs.differences:
        empty = Comparison(place, task, variant, against, None, None, (), pairs.failed)
        return empty if pairs.failed else None
    values = [value for value, *_ in pairs.differences.values()]
    seeds = tuple(pairs.differences)
    measured = paired(seeds, values, t.confidence)
    worst = paired(seeds + pairs.failed, pairs.worst(-1.0), t.confidence)
    return Comparison(place, task, variant, against, measured, worst, pairs.keys, pairs.failed)


def _is_lower_estimate(row: ModelRow, numbers: Numbers) -> bool:
    return numbers is _total and not row.total_complete


def adjusted(some: Sequence[Comparison], t: Thresholds) -> tuple[Comparison, ...]:
    """The same with Holm's p over those that have pairs enough."""

    def p(found: Paired | None, count: int) -> float:
        return found.p if found is not None and count >= t.fewest_seeds else np.nan

    plain = holm([p(one.measured, one.count) for one in some])
    worst = holm([p(one.worst_case, one.count) for one in some])
    return tuple(
        replace(one, p=float(a), worst_case_p=float(b))
        for one, a, b in zip(some, plain, worst, strict=True)
    )


# --- Equivalence ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LinearTask:
    """The primary gate less the ungated model on a linear task; ``measured`` may be ``None``.

    ``worst_cases`` are those of failed pairs as far below and above as any, at least some margins.
    """

    task: str
    measured: Equivalence | None
    worst_cases: tuple[Equivalence, ...]
    keys: tuple[str, ...]
    failed: tuple[int, ...]  # seeds

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return 0 if self.measured is None else self.measured.paired.count


@dataclass(frozen=True, eq=False)
class Equivalences:
    """Of the test accuracy, on the linear tasks; ``controls`` beside: controls less ungated."""

    tasks: tuple[LinearTask, ...]
    controls: dict[str, tuple[LinearTask, ...]]
    gaps: tuple[Gap, ...]


def equivalences(models: Models, t: Thresholds) -> Equivalences:
    """Of the base."""
    tasks, present = linear(models.tasks()), models.variants()

    def of(variant: str) -> tuple[LinearTask, ...]:
        found = (_linear_task(models, task, variant, t) for task in tasks)
        return tuple(one for one in found if one is not None)

    others = [name for name in present if name not in (UNGATED, PRIMARY)]
    gaps = models.gaps(tasks, present)
    return Equivalences(of(PRIMARY), {name: of(name) for name in others}, gaps)


def _linear_task(models: Models, task: str, variant: str, t: Thresholds) -> LinearTask | None:
    pairs = pairs_of(models, BASE, task, variant, UNGATED, _accuracy)
    if not pairs.differences:
        return LinearTask(task, None, (), (), pairs.failed) if pairs.failed else None
    seeds = tuple(pairs.differences)
    values = [value for value, *_ in pairs.differences.values()]
    measured = equivalence(seeds, values, t.margin, t.level)
    worst = tuple(
        equivalence(
            seeds + pairs.failed, pairs.worst(sign, t.lost_margins * t.margin), t.margin, t.level
        )
        for sign in (-1.0, 1.0)
    )
    return LinearTask(task, measured, worst, pairs.keys, pairs.failed)
