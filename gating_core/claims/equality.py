"""Claim C5: no advantage where the boundary is straight. Decided by equivalence and its power."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gating_core.claims.claim import (
    NOT_DONE,
    NOT_ENOUGH,
    NOT_SUPPORTED,
    PARTLY,
    SUPPORTED,
    WORDS,
    Claim,
    Needs,
    Thresholds,
    Wording,
    guarded,
)
from gating_core.claims.design import LINEAR, PRIMARY, UNGATED
from gating_core.claims.models import BASE, Gap, Models
from gating_core.claims.pairs import accuracy, pairs_of
from gating_core.claims.rows import StackRow
from gating_core.claims.statistics import Equivalence, equivalence, seeds_for_power
from gating_core.claims.text import (
    MISSING,
    TextTable,
    counted,
    interval,
    listed,
    number,
    probability,
    share,
    signed,
    spans,
)


@dataclass(frozen=True, eq=False)
class LinearTask:
    """One variant less the ungated model on a linear task; ``measured`` may be ``None``.

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
    """Of the test accuracy, on the linear tasks; ``controls``: other variants less ungated."""

    tasks: tuple[LinearTask, ...]
    controls: dict[str, tuple[LinearTask, ...]]
    gaps: tuple[Gap, ...]

    @property
    def done(self) -> list[tuple[LinearTask, Equivalence]]:
        """The tasks that have pairs."""
        return [(one, one.measured) for one in self.tasks if one.measured is not None]


def equivalences(models: Models, _stacks: Sequence[StackRow], t: Thresholds) -> Equivalences:
    """Compare all variants of the base with the ungated model."""

    def of(variant: str) -> tuple[LinearTask, ...]:
        some = (_linear_task(models, task, variant, t) for task in models.tasks())
        return tuple(one for one in some if one is not None)

    others = [name for name in models.variants if name not in (UNGATED, PRIMARY)]
    gaps = models.gaps(models.variants)
    return Equivalences(of(PRIMARY), {name: of(name) for name in others}, gaps)


def _linear_task(models: Models, task: str, variant: str, t: Thresholds) -> LinearTask | None:
    pairs = pairs_of(models, BASE, task, variant, UNGATED, accuracy)
    if not pairs.differences:
        return LinearTask(task, None, (), (), pairs.failed) if pairs.failed else None
    measured = equivalence(pairs.seeds, pairs.values, t.margin, t.level)
    seeds, least = pairs.seeds + pairs.failed, t.lost_margins * t.margin
    worst = [equivalence(seeds, pairs.worst(sign, least), t.margin, t.level) for sign in (-1, 1)]
    return LinearTask(task, measured, tuple(worst), pairs.keys, pairs.failed)


def equal_on_linear_tasks(evidence: Equivalences, t: Thresholds) -> str:
    """Decide by equivalence on both linear tasks."""
    by_task = {one.task: one for one in evidence.tasks}
    tasks = [by_task[name] for name in LINEAR if name in by_task]
    if len(tasks) < len(LINEAR) or any(one.count < t.fewest_seeds for one in tasks):
        return NOT_ENOUGH
    measured = _both([equality_word(one.measured, t) for one in tasks if one.measured is not None])
    cases = zip(*(one.worst_cases for one in tasks), strict=True)
    worst = [_both([equality_word(one, t) for one in case]) for case in cases]
    return guarded(measured, max(worst, key=WORDS.index))


def equality_word(result: Equivalence, t: Thresholds) -> str:
    """The verdict of one comparison; "partly": no advantage beyond the margin, but not equal."""
    if result.equivalent:
        return SUPPORTED
    if result.no_advantage:
        return PARTLY
    advantage = result.interval[0] >= t.margin
    return NOT_SUPPORTED if advantage or result.power >= t.power else NOT_ENOUGH


def _both(words: Sequence[str]) -> str:
    if NOT_ENOUGH in words:
        return NOT_ENOUGH
    return words[0] if len(set(words)) == 1 else PARTLY


# --- Text -----------------------------------------------------------------------------------------


def _wording(evidence: Equivalences, word: str, t: Thresholds) -> Wording:
    parts = []
    for one, of in evidence.done:
        low, high = (100 * end for end in of.interval)
        parts.append(
            f"On {one.task} the difference is {signed(100 * of.paired.mean)} points"
            f" ({1 - 2 * t.level:.0%} interval {interval(low, high)}),"
            f" {'within' if of.equivalent else 'not known to be within'} ±{t.margin_points:g}"
            f" point. The power is {share(of.power)}."
        )
    lost = [
        f"{counted(len(one.failed), 'pair')} on {one.task}" for one in evidence.tasks if one.failed
    ]
    if lost:
        parts.append(f"Failed: {listed(lost)}.")
    absent = [name for name in LINEAR if name not in {one.task for one, _ in evidence.done}]
    if absent:
        parts.append(f"There are no pairs on {listed(absent)}.")
    return Wording(" ".join(parts), _table(evidence), _changes(evidence, word, t))


def _changes(evidence: Equivalences, word: str, t: Thresholds) -> str:
    needed = []
    for one, of in evidence.done:
        if not of.equivalent and of.power < t.power:
            count = seeds_for_power(of.paired.deviation, t.margin, t.level, t.power)
            needed.append(f"{count or 'more than a thousand'} seeds on {one.task}")
    if needed:
        return f"A power of {t.power:.0%} at the observed deviations needs {listed(needed)}."
    if word == SUPPORTED:
        return f"A task on which the interval leaves ±{t.margin_points:g} point."
    if word == NOT_ENOUGH:
        return f"{t.fewest_seeds} pairs on each of the tasks {listed(LINEAR)}."
    return f"Intervals within ±{t.margin_points:g} point on both tasks."


def _table(evidence: Equivalences) -> TextTable:
    columns = ("task", "difference, points", "pairs", "mean", "90 % interval", "95 % interval",
               "deviation", "worst seed", "p (two one-sided)", "power", "failed seeds")  # fmt: skip
    of_gate = [(PRIMARY, one) for one in evidence.tasks]
    of_others = [(name, one) for name, some in evidence.controls.items() for one in some]
    return TextTable(columns, tuple(_table_row(name, one) for name, one in of_gate + of_others))


def _table_row(name: str, one: LinearTask) -> tuple[str, ...]:
    of, failed = one.measured, spans(one.failed) or MISSING
    name = f"{name} − {UNGATED}"
    if of is None:
        return (one.task, name, "0", *[MISSING] * 7, failed)
    seed, worst = of.paired.worst
    low, high = of.interval
    return (
        one.task, name, str(one.count), signed(100 * of.paired.mean),
        interval(100 * low, 100 * high), interval(100 * of.paired.low, 100 * of.paired.high),
        number(100 * of.paired.deviation), f"{signed(100 * worst)} (seed {seed})",
        probability(of.p), share(of.power), failed,
    )  # fmt: skip


def _summary(evidence: Equivalences, _: Thresholds) -> str:
    parts = [
        f"{one.task} {signed(100 * of.paired.mean, 2)}"
        f" {interval(100 * of.interval[0], 100 * of.interval[1], 2)}"
        for one, of in evidence.done
    ]
    return f"{', '.join(parts)} points" if parts else "no pairs"


C5 = Claim(
    name="C5",
    title="No better where it is straight",
    claim="Where the decision boundary is linear, gated models have no consistent advantage.",
    test="Test accuracy on both linear tasks, sigmoid gate minus ungated, seed by seed: equivalence"
    " by two one-sided Student t tests at {t.level:.0%} each, with a margin of"
    " {t.margin_points:g} point. The power is that at the observed standard deviation if the"
    " true difference is zero.",
    verdict="Supported: equivalent on both tasks, with at least {t.fewest_seeds} pairs each."
    " Partly: neither task has an advantage beyond the margin, but equivalence does not hold on"
    " both; or one task passes and one does not. Not supported here: neither passes, although the"
    " power is at least {t.power:.0%}, or the advantage is known to exceed the margin. Not enough"
    " data: fewer pairs, one task only, or a task that fails with a power below {t.power:.0%}.",
    failures="A failed model counts against the claim: its pair gets the largest difference of any"
    " pair of the task, with either sign, and at least {t.lost_margins:g} margins. If that changes"
    " the verdict, the verdict is “partly” or “not enough data”." + NOT_DONE,
    needs=Needs(tasks=LINEAR),
    evidence=equivalences,
    decide=equal_on_linear_tasks,
    wording=_wording,
    summary=_summary,
)
