"""Claims C3 and C4: what does a gate gain on each task? Decided by tests over tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gating_core.claims.claim import NOT_DONE, Claim, Needs, Thresholds, Word, Wording, guarded
from gating_core.claims.design import CONTROLS, NONLINEAR, PRIMARY, UNGATED
from gating_core.claims.models import BASE, Conditions, Gap, Models
from gating_core.claims.pairs import PAIRS_FAILED, TOTAL, Pairs, missing_text, pairs_of
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

    column: str  # of a `ModelRow`
    adjective: str  # of whoever is ahead
    title: str
    unit: str = ""
    factor: float = 1.0


CURVATURE = Measure(TOTAL, "more curved", "difference of ∫|K| dA")
ACCURACY = Measure(
    "test_accuracy", "better", "difference of test accuracy, points", " points", 100.0
)


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

    def ahead(self, level: float, worst_case: bool = False) -> bool:
        """Whether the first is significantly ahead, as measured or with all doubt against it."""
        of, p = self.measured, self.p
        if worst_case:
            of, p = self.worst_case, self.worst_case_p
        return of is not None and p <= level and of.mean > 0

    def behind(self, level: float, worst_case: bool = False) -> bool:
        """Whether it is significantly behind, as measured or with all doubt against it."""
        of, p = self.measured, self.p
        if worst_case:
            of, p = self.worst_case, self.worst_case_p
        return of is not None and p <= level and of.mean < 0


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
    shown: tuple[str, ...]  # families of the picture that goes with the verdict

    @property
    def deciding(self) -> tuple[Comparison, ...]:
        """The primary gate's."""
        return self.families.get(PRIMARY, ())


def differences(
    measure: Measure, models: Models, t: Thresholds, shown: tuple[str, ...] = (PRIMARY,)
) -> Differences:
    """Compare all variants of the base by one measure."""

    def family(variant: str, against: str, at: Conditions = BASE) -> tuple[Comparison, ...]:
        return compared(pairs_of(models, variant, against, measure.column, at), t)

    return Differences(
        measure,
        {name: family(name, UNGATED) for name in models.variants if name != UNGATED},
        {name: family(PRIMARY, name) for name in CONTROLS if name in models.variants},
        tuple(x for at in models.conditions if at != BASE for x in family(PRIMARY, UNGATED, at)),
        models.gaps(models.variants),
        shown,
    )


def compared(every: Sequence[Pairs], t: Thresholds) -> tuple[Comparison, ...]:
    """Test all of ``every``, with Holm's p over those that have pairs enough."""
    measured = [paired(x.seeds, x.values, t.confidence) if x.count else None for x in every]
    worst = [
        paired(x.seeds + x.failed, x.worst(-1.0), t.confidence) if x.count else None for x in every
    ]

    def p(results: Sequence[Paired | None]) -> list[float]:
        return holm([
            of.p if of is not None and x.count >= t.fewest_seeds else np.nan
            for of, x in zip(results, every, strict=True)
        ]).tolist()  # fmt: skip

    return tuple(map(Comparison, every, measured, worst, p(measured), p(worst)))


def ahead_on_tasks(evidence: Differences, t: Thresholds) -> Word:
    """Decide by the primary gate less the ungated model, over tasks by Holm."""
    tasks = evidence.deciding

    def word(worst_case: bool) -> Word:
        if sum(one.pairs.count >= t.fewest_seeds for one in tasks) < t.fewest_tasks:
            return Word.NOT_ENOUGH
        ahead = [one.ahead(t.level, worst_case) for one in tasks]
        if all(ahead):
            return Word.SUPPORTED
        return Word.PARTLY if any(ahead) else Word.NOT_SUPPORTED

    return guarded(word(False), word(True))


# --- Text -----------------------------------------------------------------------------------------


def wording(evidence: Differences, word: Word, t: Thresholds) -> Wording:
    """Return how many tasks the gate is ahead on, and by how much."""
    tasks, unit, factor = evidence.deciding, evidence.measure.unit, evidence.measure.factor
    done = [(one, one.measured) for one in tasks if one.measured is not None]
    tested = [(one, of) for one, of in done if of.count >= t.fewest_seeds]
    ahead = sum(one.ahead(t.level) for one in tasks)
    behind = sum(one.behind(t.level) for one in tasks)
    if not tested:
        text = f"No task has {t.fewest_seeds} pairs of a {PRIMARY}-gated and an ungated model."
    else:
        text = f"Gated models are significantly {evidence.measure.adjective} on {ahead} of"
        text += f" {counted(len(tested), 'task')}"
        text += f", and the opposite on {behind}." if behind else "."
        ordered = sorted(tested, key=lambda pair: pair[1].mean)
        ends = [
            f"{signed(factor * of.mean)}{unit} {interval(factor * of.low, factor * of.high)}"
            f" ({one.pairs.task})"
            for one, of in (ordered[0], ordered[-1])
        ]
        span = f"goes from {ends[0]} to {ends[1]}" if len(tested) > 1 else f"is {ends[0]}"
        text += f" The mean difference {span}."
    lost = [one.pairs.task for one in tasks if one.ahead(t.level) and not one.ahead(t.level, True)]
    if lost:
        text += f" In the worst case of failures and errors {listed(lost)} would not hold."
    text += missing_text([one.pairs for one in tasks], t.fewest_seeds)
    summary = ahead_text(evidence, t)
    if done:
        means = [factor * of.mean for _, of in done]
        summary += f", {signed(min(means))} to {signed(max(means))}{unit}"
    every = [*evidence.families.values(), *evidence.controls.values(), evidence.varied]
    full = table([one for family in every for one in family], factor)
    return Wording(summary, text, full, _changes(tasks, word, t))


def ahead_text(evidence: Differences, t: Thresholds) -> str:
    """Say on how many tasks the gate is ahead, as short as a table needs it."""
    tasks = evidence.deciding
    ahead = sum(one.ahead(t.level) for one in tasks)
    return f"gated ahead on {ahead} of {counted(len(tasks), 'task')}"


def _changes(tasks: Sequence[Comparison], word: Word, t: Thresholds) -> str:
    missing = [one.pairs.task for one in tasks if not one.ahead(t.level)]
    if missing:
        return f"The gate would have to be significantly ahead on {listed(missing)} as well."
    if word != Word.SUPPORTED:
        return (
            f"Pairs on {t.fewest_tasks} tasks, {t.fewest_seeds} on each, without a failure and with"
            " small errors."
        )
    least = max(tasks, key=lambda one: one.p).pairs.task
    return f"One task without a significant difference. The nearest to that is {least}."


def _better_wording(evidence: Differences, word: Word, t: Thresholds) -> Wording:
    """Return the wording with what the controls reach."""
    plain = wording(evidence, word, t)
    controls = [
        f"{sum(one.ahead(t.level) for one in of)} of {len(of)} tasks (“{name}”)"
        for name, of in evidence.controls.items()
        if of
    ]
    if not controls:
        return plain
    text = (
        f"{plain.sentences} The gate is significantly ahead of the controls on"
        f" {', '.join(controls)}. Where a control gains as much, the gain does not need a gate."
    )
    return replace(plain, sentences=text)


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
                signed(factor * of.mean), interval(factor * of.low, factor * of.high),
                f"{signed(factor * worst)} (seed {seed})", probability(one.p),
                probability(one.worst_case_p),
            ]  # fmt: skip
        rows.append((
            pairs.conditions.text, pairs.task, f"{pairs.variant} − {pairs.against}",
            str(pairs.count), *numbers, spans(pairs.failed) or MISSING,
        ))  # fmt: skip
    return TextTable(columns, tuple(rows))


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
    wording=wording,
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
)
