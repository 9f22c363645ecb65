"""Claim C5: no advantage where the boundary is straight. Decided by equivalence and its power."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gating_core.claims import text
from gating_core.claims.claim import NOT_DONE, Claim, Needs, Thresholds, Word, Wording, guarded
from gating_core.claims.design import LINEAR, PRIMARY, UNGATED
from gating_core.claims.models import Gap, Models
from gating_core.claims.pairs import Pairs, pairs_of
from gating_core.claims.statistics import Equivalence, equivalence, seeds_for_power


@dataclass(frozen=True, eq=False)
class LinearTask:
    """One variant less the ungated model on a linear task; ``measured`` is ``None`` without a pair.

    ``worst_cases`` are the tests in which every failed pair differs as much as any pair does, and
    by at least `lost_margins` margins, below or above.
    """

    pairs: Pairs
    measured: Equivalence | None = None
    worst_cases: tuple[Equivalence, ...] = ()


@dataclass(frozen=True, eq=False)
class Equivalences:
    """Equivalence of test accuracies on the linear tasks.

    ``controls`` are the differences of other variants from ungated.
    """

    tasks: tuple[LinearTask, ...]
    controls: dict[str, tuple[LinearTask, ...]]
    gaps: tuple[Gap, ...]

    @property
    def done(self) -> list[tuple[LinearTask, Equivalence]]:
        """The tasks that have pairs."""
        return [(one, one.measured) for one in self.tasks if one.measured is not None]


def equivalences(models: Models, t: Thresholds) -> Equivalences:
    """Compare all variants of the base with the ungated model."""

    def of(variant: str) -> tuple[LinearTask, ...]:
        every = pairs_of(models, variant, UNGATED, "test_accuracy")
        return tuple(_linear_task(pairs, t) for pairs in every)

    others = [name for name in models.variants if name not in (UNGATED, PRIMARY)]
    gaps = models.gaps(models.variants)
    return Equivalences(of(PRIMARY), {name: of(name) for name in others}, gaps)


def _linear_task(pairs: Pairs, t: Thresholds) -> LinearTask:
    if not pairs.count:
        return LinearTask(pairs)
    measured = equivalence(pairs.seeds, pairs.values, t.margin, t.level)
    seeds, least = pairs.seeds + pairs.failed, t.lost_margins * t.margin
    worst = [equivalence(seeds, pairs.worst(sign, least), t.margin, t.level) for sign in (-1, 1)]
    return LinearTask(pairs, measured, tuple(worst))


def equal_on_linear_tasks(evidence: Equivalences, t: Thresholds) -> Word:
    """Decide by equivalence on both linear tasks."""
    tasks = [one for one, _ in evidence.done]
    if len(tasks) < len(LINEAR) or any(one.pairs.count < t.fewest_seeds for one in tasks):
        return Word.NOT_ENOUGH
    measured = _both([equality_word(of, t) for _, of in evidence.done])
    return guarded(measured, max(_worst_words(evidence, t), key=list(Word).index))


def _worst_words(evidence: Equivalences, t: Thresholds) -> list[Word]:
    """The verdict if all failed pairs lay far below, and the one if all lay far above."""
    cases = zip(*(one.worst_cases for one, _ in evidence.done), strict=True)
    return [_both([equality_word(one, t) for one in case]) for case in cases]


def equality_word(result: Equivalence, t: Thresholds) -> Word:
    """The verdict of one comparison; "partly": no advantage beyond the margin, but not equal."""
    if result.equivalent:
        return Word.SUPPORTED
    if result.no_advantage:
        return Word.PARTLY
    advantage = result.interval[0] >= t.margin
    return Word.NOT_SUPPORTED if advantage or result.power >= t.power else Word.NOT_ENOUGH


def _both(words: Sequence[Word]) -> Word:
    if Word.NOT_ENOUGH in words:
        return Word.NOT_ENOUGH
    return words[0] if len(set(words)) == 1 else Word.PARTLY


# --- Text -----------------------------------------------------------------------------------------


def _wording(evidence: Equivalences, word: Word, t: Thresholds) -> Wording:
    sentences, short = [], []
    for one, of in evidence.done:
        task, mean = one.pairs.task, 100 * of.paired.mean
        low, high = (100 * end for end in of.interval)
        sentences.append(
            f"On {task} the difference is {text.signed(mean)} points"
            f" ({1 - 2 * t.level:.0%} interval {text.interval(low, high)}),"
            f" {'within' if of.equivalent else 'not known to be within'} ±{t.margin_points:g}"
            f" point. The power is {text.share(of.power)}."
        )
        short.append(f"{task} {text.signed(mean, 2)} {text.interval(low, high, 2)}")
    lost = [
        f"{text.counted(len(one.pairs.failed), 'pair')} on {one.pairs.task}"
        for one in evidence.tasks
        if one.pairs.failed
    ]
    if lost:
        worst = max(_worst_words(evidence, t), key=list(Word).index)
        sentences.append(f"Failed: {text.listed(lost)}; the verdict in the worst case: “{worst}”.")
    absent = [name for name in LINEAR if name not in {one.pairs.task for one, _ in evidence.done}]
    if absent:
        sentences.append(f"There are no pairs on {text.listed(absent)}.")
    summary = f"{', '.join(short)} points" if short else "no pairs"
    return Wording(summary, " ".join(sentences), _table(evidence), _changes(evidence, word, t))


def _changes(evidence: Equivalences, word: Word, t: Thresholds) -> str:
    needed = []
    for one, of in evidence.done:
        if not of.equivalent and of.power < t.power:
            count = seeds_for_power(of.paired.deviation, t.margin, t.level, t.power)
            needed.append(f"{count or 'more than a thousand'} seeds on {one.pairs.task}")
    if needed:
        return f"A power of {t.power:.0%} at the observed deviations needs {text.listed(needed)}."
    if word == Word.SUPPORTED:
        return f"A task on which the interval leaves ±{t.margin_points:g} point."
    if word == Word.NOT_ENOUGH:
        return f"{t.fewest_seeds} pairs on each of the tasks {text.listed(LINEAR)}."
    return f"Intervals within ±{t.margin_points:g} point on both tasks."


def _table(evidence: Equivalences) -> text.TextTable:
    columns = ("task", "difference, points", "pairs", "mean", "90 % interval", "95 % interval",
               "deviation", "worst seed", "p (two one-sided)", "power", "failed seeds")  # fmt: skip
    rows = []
    for one in [*evidence.tasks, *(one for some in evidence.controls.values() for one in some)]:
        pairs, of = one.pairs, one.measured
        numbers = [text.MISSING] * 7
        if of is not None:
            seed, worst = of.paired.worst
            low, high = (100 * end for end in of.interval)
            numbers = [
                text.signed(100 * of.paired.mean), text.interval(low, high),
                text.interval(100 * of.paired.low, 100 * of.paired.high),
                text.number(100 * of.paired.deviation), f"{text.signed(100 * worst)} (seed {seed})",
                text.probability(of.p), text.share(of.power),
            ]  # fmt: skip
        rows.append(
            (
                pairs.task,
                f"{pairs.variant} − {UNGATED}",
                str(pairs.count),
                *numbers,
                text.spans(pairs.failed) or text.MISSING,
            )
        )
    return text.TextTable(columns, tuple(rows))


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
)
