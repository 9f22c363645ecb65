"""Claim C5: no advantage where the boundary is straight. Decided by equivalence and its power."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gating_core.claims.claim import (
    NOT_DONE,
    Brief,
    Claim,
    Mark,
    Table,
    Thresholds,
    Verdict,
    Word,
    guarded,
)
from gating_core.claims.design import LINEAR, PRIMARY, UNGATED
from gating_core.claims.pairs import Pairs, pairs_of
from gating_core.claims.rows import Models
from gating_core.claims.statistics import Equivalence, equivalence, holm
from gating_core.claims.text import (
    MISSING,
    counted,
    interval,
    listed,
    number,
    probability,
    share,
    spans,
)


@dataclass(frozen=True, eq=False)
class LinearTask:
    """One variant less the ungated model on a linear task; ``measured`` is ``None`` without a pair.

    ``worst_cases`` are the tests in which every failed pair differs as much as any pair does, and
    by at least `lost_margins` margins, below or above.
    """

    pairs: Pairs
    measured: Equivalence | None = None
    worst_cases: tuple[Equivalence, ...] = ()


def _linear_task(pairs: Pairs, t: Thresholds) -> LinearTask:
    if not pairs.count:
        return LinearTask(pairs)
    measured = equivalence(pairs.seeds, pairs.values, t.margin, t.level)
    seeds, least = pairs.seeds + pairs.failed, t.lost_margins * t.margin
    worst = (equivalence(seeds, pairs.worst(sign, least), t.margin, t.level) for sign in (-1, 1))
    return LinearTask(pairs, measured, tuple(worst))


def equality_word(result: Equivalence, t: Thresholds) -> Word:
    """Decide one comparison; "partly": no advantage beyond the margin, but not equal."""
    if result.equivalent:
        return Word.SUPPORTED
    if result.no_advantage:
        return Word.PARTLY
    advantage = result.interval[0] >= t.margin
    return Word.NOT_SUPPORTED if advantage or result.power >= t.power else Word.NOT_ENOUGH


def _both(results: Sequence[Equivalence], t: Thresholds) -> Word:
    words = {equality_word(result, t) for result in results}
    if Word.NOT_ENOUGH in words:
        return Word.NOT_ENOUGH
    return words.pop() if len(words) == 1 else Word.PARTLY


def judge(models: Models, t: Thresholds) -> Verdict:
    """Decide by equivalence of test accuracies on both linear tasks."""
    every = {
        variant: [
            _linear_task(pairs, t) for pairs in pairs_of(models, variant, UNGATED, "test_accuracy")
        ]
        for variant in (PRIMARY, *(x for x in models.variants if x not in (UNGATED, PRIMARY)))
    }
    done = [(x.pairs, x.measured) for x in every[PRIMARY] if x.measured is not None]
    word = worst = Word.NOT_ENOUGH
    if done:
        # The verdicts if all failed pairs lay far below, and if all lay far above.
        cases = zip(*(x.worst_cases for x in every[PRIMARY] if x.measured is not None), strict=True)
        worst = max((_both(case, t) for case in cases), key=list(Word).index)
    if len(done) == len(LINEAR) and all(pairs.count >= t.fewest_seeds for pairs, _ in done):
        word = guarded(_both([of for _, of in done], t), worst)

    narrow, wide = share(1 - 2 * t.level), share(t.confidence)
    short, sentences = [], []
    apart: dict[str, list[str]] = {"better": [], "worse": []}  # tasks that differ significantly
    for (pairs, of), p in zip(done, holm([of.paired.p for _, of in done]), strict=True):
        mean, low, high = (100 * x for x in (of.paired.mean, *of.interval))
        short.append(f"{pairs.task} {number(mean, '+.2g')} {interval(low, high)}")
        text = f"On {pairs.task} the difference is {number(mean, '+.3g')} points"
        text += f" ({narrow} interval {interval(low, high)}),"
        text += f" {'within' if of.equivalent else 'not known to be within'} ±{t.margin_points:g}"
        text += " point"
        if p <= t.level and pairs.count >= t.fewest_seeds:
            apart["better" if mean > 0 else "worse"].append(pairs.task)
            text += f", and significantly {'above' if mean > 0 else 'below'} zero ({wide} interval"
            text += f" {interval(100 * of.paired.low, 100 * of.paired.high)})"
        sentences.append(f"{text}. The power is {share(of.power)}.")
    short_text = f"{', '.join(short)} points ({narrow} intervals)" if short else "no pairs"
    for word_apart, tasks in apart.items():
        if tasks:
            found = f"gated models are significantly {word_apart} on {listed(tasks)}"
            short_text += f"; {found}"
            sentences.append(f"{found[0].upper()}{found[1:]}, which equivalence does not ask.")
    lost = [x.pairs for x in every[PRIMARY] if x.pairs.failed]
    if lost:
        pairs_lost = listed(f"{counted(len(x.failed), 'pair')} on {x.task}" for x in lost)
        sentences.append(f"Failed: {pairs_lost}; the verdict in the worst case: “{worst}”.")
    absent = [name for name in LINEAR if name not in {pairs.task for pairs, _ in done}]
    if absent:
        sentences.append(f"There are no pairs on {listed(absent)}.")
    return Verdict(
        word,
        short_text,
        " ".join(sentences),
        _table([x for tasks in every.values() for x in tasks]),
        models.gaps(models.variants),
        done,
        _brief(done, t),
    )


def _brief(done: Sequence[tuple[Pairs, Equivalence]], t: Thresholds) -> Brief:
    """Name the difference that is farthest from zero; draw all, with the margin."""
    if not done:
        return Brief()
    marks = [Mark(100 * x.interval[0], 100 * x.interval[1], 100 * x.paired.mean) for _, x in done]
    farthest = max(range(len(done)), key=lambda at: abs(done[at][1].paired.mean))
    low, high, mean, _ = marks[farthest]
    return Brief(
        f"{number(mean, '+.2g')} points {interval(low, high, '.2g')}",
        f"{share(1 - 2 * t.level)} interval, on {done[farthest][0].task}, the larger of"
        f" {counted(len(done), 'difference')}; margin ±{t.margin_points:g} point",
        [[mark] for mark in marks],
        [-t.margin_points, 0.0, t.margin_points],
        f"difference, points; lines: 0, ±{t.margin_points:g}",
    )


def _table(tasks: Sequence[LinearTask]) -> Table:
    names = ("mean", "90 % interval", "95 % interval", "deviation", "worst seed",
             "p (two one-sided)", "power")  # fmt: skip
    rows = []
    for x in tasks:
        pairs, of, numbers = x.pairs, x.measured, [MISSING] * len(names)
        if of is not None:
            seed, worst = of.paired.worst
            numbers = [
                number(100 * of.paired.mean, "+.3g"),
                interval(100 * of.interval[0], 100 * of.interval[1]),
                interval(100 * of.paired.low, 100 * of.paired.high),
                number(100 * of.paired.deviation), f"{number(100 * worst, '+.3g')} (seed {seed})",
                probability(of.p), share(of.power),
            ]  # fmt: skip
        rows.append({
            "task": pairs.task, "difference, points": f"{pairs.variant} − {UNGATED}",
            "pairs": str(pairs.count), **dict(zip(names, numbers, strict=True)),
            "failed seeds": spans(pairs.failed) or MISSING,
        })  # fmt: skip
    return rows


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
    judge=judge,
    tasks=LINEAR,
)
