"""Claims C3 and C4: what does a gate gain on each task? Decided by tests over tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gating_core.claims.claim import (
    NOT_DONE,
    NOT_ENOUGH,
    NOT_SUPPORTED,
    PARTLY,
    SUPPORTED,
    Claim,
    Needs,
    Thresholds,
    Wording,
    guarded,
)
from gating_core.claims.design import CONTROLS, NONLINEAR, PRIMARY, UNGATED
from gating_core.claims.models import BASE, Conditions, Gap, Models
from gating_core.claims.pairs import PAIRS_FAILED, Quantity, accuracy, pairs_of, total
from gating_core.claims.rows import StackRow
from gating_core.claims.statistics import Paired, holm, paired
from gating_core.claims.text import (
    MISSING,
    TextTable,
    counted,
    interval,
    listed,
    probability,
    signed,
    spans,
)


@dataclass(frozen=True)
class Measure:
    """What is compared; ``unit`` and ``factor`` are those of a difference as text."""

    quantity: Quantity
    adjective: str  # of whoever is ahead
    title: str
    unit: str = ""
    factor: float = 1.0


CURVATURE = Measure(total, "more curved", "difference of ∫|K| dA")
ACCURACY = Measure(accuracy, "better", "difference of test accuracy, points", " points", 100.0)


@dataclass(frozen=True, eq=False)
class Comparison:
    """One variant less another on one task; ``measured`` is ``None`` without a pair.

    ``p`` is Holm's over the tasks, NaN where it was not tested. ``keys`` are those of the rows that
    differences are of, the first variant's.
    """

    conditions: Conditions
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
        """Whether it is ahead with everything uncertain against it."""
        worst = self.worst_case
        return worst is not None and self.worst_case_p <= level and worst.mean > 0


@dataclass(frozen=True, eq=False)
class Differences:
    """Comparisons by variant, against the ungated model, each a family of tests over the tasks.

    ``controls`` are the primary gate less each control; ``varied`` that less the ungated model
    where something else is varied, too. Only ``families[PRIMARY]`` decides.
    """

    measure: Measure
    families: dict[str, tuple[Comparison, ...]]
    controls: dict[str, tuple[Comparison, ...]]
    varied: tuple[Comparison, ...]
    gaps: tuple[Gap, ...]
    shown: tuple[str, ...] = (PRIMARY,)  # families of the picture that goes with the verdict

    @property
    def deciding(self) -> tuple[Comparison, ...]:
        """The primary gate's."""
        return self.families.get(PRIMARY, ())


def differences(
    measure: Measure, models: Models, _stacks: Sequence[StackRow], t: Thresholds,
    shown: tuple[str, ...] = (PRIMARY,),
) -> Differences:  # fmt: skip
    """Compare all variants of the base by one measure."""

    def family(variant: str, against: str, at: Conditions = BASE) -> tuple[Comparison, ...]:
        some = [compared(models, at, task, variant, against, measure.quantity, t)
                for task in models.tasks(at)]  # fmt: skip
        return adjusted([one for one in some if one is not None], t)

    return Differences(
        measure,
        {name: family(name, UNGATED) for name in models.variants if name != UNGATED},
        {name: family(PRIMARY, name) for name in CONTROLS if name in models.variants},
        tuple(x for at in models.conditions if at != BASE for x in family(PRIMARY, UNGATED, at)),
        models.gaps(models.variants),
        shown,
    )


def compared(
    models: Models, at: Conditions, task: str, variant: str, against: str, quantity: Quantity,
    t: Thresholds,
) -> Comparison | None:  # fmt: skip
    """``variant`` less ``against``; ``None`` if no seed has rows of both."""
    pairs = pairs_of(models, at, task, variant, against, quantity)
    if not pairs.differences:
        empty = Comparison(at, task, variant, against, None, None, (), pairs.failed)
        return empty if pairs.failed else None
    measured = paired(pairs.seeds, pairs.values, t.confidence)
    worst = paired(pairs.seeds + pairs.failed, pairs.worst(-1.0), t.confidence)
    return Comparison(at, task, variant, against, measured, worst, pairs.keys, pairs.failed)


def adjusted(some: Sequence[Comparison], t: Thresholds) -> tuple[Comparison, ...]:
    """Return the same with Holm's p over those that have pairs enough."""

    def p(result: Paired | None, count: int) -> float:
        return result.p if result is not None and count >= t.fewest_seeds else np.nan

    plain = holm([p(one.measured, one.count) for one in some])
    worst = holm([p(one.worst_case, one.count) for one in some])
    return tuple(
        replace(one, p=float(a), worst_case_p=float(b))
        for one, a, b in zip(some, plain, worst, strict=True)
    )


def ahead_on_tasks(evidence: Differences, t: Thresholds) -> str:
    """Decide by the primary gate less the ungated model, over tasks by Holm."""
    tasks = evidence.deciding

    def word(ahead: list[bool]) -> str:
        if sum(one.count >= t.fewest_seeds for one in tasks) < t.fewest_tasks:
            return NOT_ENOUGH
        if all(ahead):
            return SUPPORTED
        return PARTLY if any(ahead) else NOT_SUPPORTED

    worst = word([one.ahead_in_the_worst_case(t.level) for one in tasks])
    return guarded(word([one.ahead(t.level) for one in tasks]), worst)


# --- Text -----------------------------------------------------------------------------------------


def gain_wording(evidence: Differences, word: str, t: Thresholds) -> Wording:
    """Return how many tasks the gate is ahead on, and by how much."""
    tasks, measure = evidence.deciding, evidence.measure
    tested = [one for one in tasks if one.count >= t.fewest_seeds and one.measured is not None]
    ahead = [one for one in tested if one.ahead(t.level)]
    behind = [one for one in tested if one.behind(t.level)]
    if not tested:
        text = f"No task has {t.fewest_seeds} pairs of a {PRIMARY}-gated and an ungated model."
    else:
        text = f"Gated models are significantly {measure.adjective} on {len(ahead)} of"
        text += f" {counted(len(tested), 'task')}"
        text += f", and the opposite on {len(behind)}." if behind else "."
        ordered = sorted(tested, key=lambda one: one.measured.mean if one.measured else 0.0)
        ends = [with_interval(one, measure) for one in (ordered[0], ordered[-1])]
        span = f"goes from {ends[0]} to {ends[1]}" if len(tested) > 1 else f"is {ends[0]}"
        text += f" The mean difference {span}."
    lost = [one.task for one in tasks if one.ahead(t.level) and not
            one.ahead_in_the_worst_case(t.level)]  # fmt: skip
    if lost:
        text += f" In the worst case of failures and errors {listed(lost)} would not hold."
    return Wording(text, _full_table(evidence), _changes(evidence, word, t))


def _changes(evidence: Differences, word: str, t: Thresholds) -> str:
    tasks = evidence.deciding
    missing = [one.task for one in tasks if not one.ahead(t.level)]
    if missing:
        return f"The gate would have to be significantly ahead on {listed(missing)} as well."
    if word != SUPPORTED:
        return (
            f"Pairs on {t.fewest_tasks} tasks, {t.fewest_seeds} on each, without a failure and with"
            " small errors."
        )
    least = max(tasks, key=lambda one: one.p)
    return f"One task without a significant difference. The nearest to that is {least.task}."


def _better_wording(evidence: Differences, word: str, t: Thresholds) -> Wording:
    """Return the wording with what the controls reach."""
    wording = gain_wording(evidence, word, t)
    controls = [
        f"{sum(one.ahead(t.level) for one in of)} of {len(of)} tasks (“{name}”)"
        for name, of in evidence.controls.items()
        if of
    ]
    if not controls:
        return wording
    text = (
        f"{wording.sentences} The gate is significantly ahead of the controls on"
        f" {', '.join(controls)}. Where a control gains as much, the gain does not need a gate."
    )
    return replace(wording, sentences=text)


def with_interval(one: Comparison, measure: Measure) -> str:
    of, factor = one.measured, measure.factor
    assert of is not None
    ends = interval(factor * of.low, factor * of.high)
    return f"{signed(factor * of.mean)}{measure.unit} {ends} ({one.task})"


def _full_table(evidence: Differences) -> TextTable:
    families = [*evidence.families.values(), *evidence.controls.values(), evidence.varied]
    return table([one for family in families for one in family], evidence.measure.factor)


def table(comparisons: Sequence[Comparison], factor: float = 1.0) -> TextTable:
    """All numbers of ``comparisons``, a row for each; differences times ``factor``."""
    columns = ("setting", "task", "difference", "pairs", "mean", "95 % interval", "worst seed",
               "p (Holm)", "p in the worst case", "failed seeds")  # fmt: skip
    rows = []
    for one in comparisons:
        name = f"{one.variant} − {one.against}"
        start, failed = (one.conditions.text, one.task, name), spans(one.failed) or MISSING
        if (of := one.measured) is None:
            rows.append((*start, "0", *[MISSING] * 5, failed))
            continue
        seed, worst = of.worst
        rows.append((
            *start, str(of.count), signed(factor * of.mean),
            interval(factor * of.low, factor * of.high), f"{signed(factor * worst)} (seed {seed})",
            probability(one.p), probability(one.worst_case_p), failed,
        ))  # fmt: skip
    return TextTable(columns, tuple(rows))


def _summary(evidence: Differences, t: Thresholds) -> str:
    unit, factor = evidence.measure.unit, evidence.measure.factor
    ahead = sum(one.ahead(t.level) for one in evidence.deciding)
    text = f"gated ahead on {ahead} of {counted(len(evidence.deciding), 'task')}"
    means = [factor * one.measured.mean for one in evidence.deciding if one.measured is not None]
    return f"{text}, {signed(min(means))} to {signed(max(means))}{unit}" if means else text


# --- The claims -----------------------------------------------------------------------------------

C3 = Claim(
    name="C3",
    title="Trained gated models curve more",
    claim="After training, gated models have the higher representation curvature.",
    test="Total absolute curvature ∫|K| dA over the query chart, sigmoid gate minus ungated, seed"
    " by seed: two-sided Student t tests at {t.level:.0%}, adjusted over the tasks by Holm. In the"
    " worst case the bounds on both totals' errors count against the claim.",
    verdict="Supported: the gated models are significantly more curved on every task, and there are"
    " at least {t.fewest_tasks} tasks with {t.fewest_seeds} pairs each. Partly: on some tasks. Not"
    " supported here: on none. Not enough data: fewer tasks or pairs. Other gates are shown and do"
    " not decide.",
    failures=PAIRS_FAILED + NOT_DONE + " An ungated total that is a lower estimate counts as"
    " failed; a gated one may stand, because it makes the difference too small.",
    needs=Needs(),
    evidence=partial(differences, CURVATURE),
    decide=ahead_on_tasks,
    wording=gain_wording,
    summary=_summary,
)

C4 = Claim(
    name="C4",
    title="Better where the boundary is not straight",
    claim="Gated models classify better where the decision boundary is nonlinear.",
    test="Test accuracy on the nonlinear tasks, sigmoid gate minus ungated, seed by seed: two-sided"
    " Student t tests at {t.level:.0%}, adjusted over the tasks by Holm. Controls stand beside:"
    " more parameters, an additive term, a pointwise nonlinearity, a constant gate.",
    verdict="Supported: the gated models are significantly better on every nonlinear task, and"
    " there are at least {t.fewest_tasks} tasks with {t.fewest_seeds} pairs each. Partly: on some"
    " tasks. Not supported here: on none. Not enough data: fewer tasks or pairs. Controls do not"
    " decide. They say what a gain can be due to.",
    failures=PAIRS_FAILED + NOT_DONE,
    needs=Needs(tasks=NONLINEAR),
    evidence=partial(differences, ACCURACY),
    decide=ahead_on_tasks,
    wording=_better_wording,
    summary=_summary,
)
