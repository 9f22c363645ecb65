"""Claims C4 and C5: what a gate gains where the boundary is not straight, and where it is.

C4 is decided by tests over tasks, and says how much of the gain adding reaches; C5 by equivalence
and its power. Shapes: S seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.claims.claim import (
    ADDITIVE,
    CONTROLS,
    LINEAR,
    NONLINEAR,
    NOT_DONE,
    PRIMARY,
    UNGATED,
    V2,
    Brief,
    Claim,
    Mark,
    Table,
    Thresholds,
    Verdict,
    Word,
    guarded,
)
from gating_core.claims.pairs import PAIRS_FAILED, Pairs, compared, missing_text, pairs_of, table
from gating_core.claims.rows import BASE, Conditions, Models
from gating_core.claims.statistics import Equivalence, equivalence, holm, paired
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

# --- C4 -------------------------------------------------------------------------------------------

SHOWN = (PRIMARY, ADDITIVE)  # families of the chart that goes with the verdict
POINTS = 100.0  # of accuracy, a share


@dataclass(frozen=True)
class Reached:
    """A gate's gain on one task, and the part of it that the additive control reaches, in points.

    ``most`` says whether that is significantly more than half of it, ``own`` whether the gate is
    significantly ahead of the control.
    """

    task: str
    gain: float
    control: float
    most: bool
    own: bool

    @property
    def more(self) -> bool:
        """True if the control's mean is more than half of the gate's, significantly or not."""
        return self.control > self.gain / 2 > 0


def reached(gains: Sequence[Pairs], leads: Sequence[Pairs], t: Thresholds) -> list[Reached]:
    """Compare the gate's ``gains`` with its ``leads`` over a control, the greatest gain first.

    On all tasks with pairs enough; Holm's p over these.
    """
    lead_on = {pairs.task: pairs for pairs in leads}
    tasks = []
    for pairs in gains:
        lead = lead_on.get(pairs.task)
        both = [seed for seed in pairs.differences if lead and seed in lead.differences]
        if lead and len(both) >= t.fewest_seeds:
            gain, left = (np.array([x.differences[s][0] for s in both]) for x in (pairs, lead))
            own = lead.sign(t.level) > 0
            tasks.append((pairs.task, gain.mean(), left.mean(), paired(both, gain / 2 - left), own))
    found = [
        Reached(
            task,
            float(POINTS * gain),
            float(POINTS * (gain - left)),
            bool(p <= t.level and half.mean > 0),
            own,
        )
        for (task, gain, left, half, own), p in zip(
            tasks, holm([half.p for *_, half, _ in tasks]), strict=True
        )
    ]
    return sorted(found, key=lambda x: -x.gain)


def judge_gain(models: Models, t: Thresholds) -> Verdict:
    """Decide by the primary gate's accuracies less the ungated model's, over tasks by Holm.

    Controls, and settings in which something else is varied, stand beside.
    """

    def family(variant: str, against: str, at: Conditions = BASE) -> tuple[Pairs, ...]:
        return compared(pairs_of(models, variant, against, "test_accuracy", at), t)

    families = {name: family(name, UNGATED) for name in models.variants if name != UNGATED}
    controls = {name: family(PRIMARY, name) for name in CONTROLS if name in models.variants}
    others = sorted({at for at, *_ in models.cells} - {BASE})
    varied = [pairs for at in others for pairs in family(PRIMARY, UNGATED, at)]
    tasks = families.get(PRIMARY, ())

    def word_of(worst_case: bool) -> Word:
        if sum(x.count >= t.fewest_seeds for x in tasks) < t.fewest_tasks:
            return Word.NOT_ENOUGH
        ahead = [x.sign(t.level, worst_case) > 0 for x in tasks]
        if all(ahead):
            return Word.SUPPORTED
        return Word.PARTLY if any(ahead) else Word.NOT_SUPPORTED

    word = guarded(word_of(False), word_of(True))
    parts = reached(tasks, controls.get(ADDITIVE, ()), t)
    ahead = sum(x.sign(t.level) > 0 for x in tasks)
    summary = f"gated ahead on {ahead} of {counted(len(tasks), 'task')}"
    counts = {
        "tasks": len(parts),
        "significantly": sum(x.most for x in parts),
        "by the mean": sum(x.more for x in parts),
    }
    if parts:
        summary += f"; adding gives more than half of it on {counts['by the mean']},"
        summary += f" significantly on {counts['significantly']}"
    every = [x for group in (*families.values(), *controls.values(), varied) for x in group]
    return Verdict(
        word,
        summary,
        f"{_adding_text(tasks, parts, t)} {_gain_text(tasks, t)}",
        table(every, POINTS),
        models.gaps(models.variants),
        (families, parts),
        _gain_brief(tasks),
        counts,
    )


def _gain_brief(tasks: Sequence[Pairs]) -> Brief:
    """Name the least of the gains, and draw all."""
    gains = sorted((x.measured.mean, x.task, x.measured) for x in tasks if x.measured)
    if not gains:
        return Brief()
    return Brief(
        f"{number(POINTS * gains[0][0], '+.3g')} points",
        f"is the least gain of accuracy on {counted(len(gains), 'task')}.",
        [Mark(POINTS * of.low, POINTS * of.high, POINTS * of.mean) for *_, of in gains],
        (0, 10, 20),
        "gain, points",
    )


def _adding_text(tasks: Sequence[Pairs], parts: Sequence[Reached], t: Thresholds) -> str:
    """Say how much of the gate's gains the additive control reaches."""
    if not parts:
        return "There is no additive control to compare with."

    def shares(some: Sequence[Reached]) -> str:
        return listed(
            f"{number(x.control, '.1f')} of {number(x.gain, '.1f')}{' points' * (x is some[0])}"
            f" on {x.task}"
            for x in some
        )

    most, rest = [x for x in parts if x.most], [x for x in parts if not x.most]
    text = "Adding instead of multiplying gives significantly more than half of the gain on"
    text += f" {len(most)} of {counted(len(parts), 'task')}"
    text += f": {shares(most)}" if most else ""
    text += f"; on {'the others' if most else 'these'} it reaches {shares(rest)}" if rest else ""
    text += f". By the means alone it is more than half on {sum(x.more for x in parts)}."
    text += " What multiplication adds"
    text += f" is significant on {sum(x.own for x in parts)} of {len(parts)}."
    if left := [x.task for x in tasks if x.task not in {part.task for part in parts}]:
        text += f" Not compared with adding, because fewer than {t.fewest_seeds} seeds have all"
        text += f" three models: {listed(left)}."
    return text


def _gain_text(tasks: Sequence[Pairs], t: Thresholds) -> str:
    """Say on how many tasks the gate is ahead, and by how much."""
    tested = [(x.measured, x.task) for x in tasks if x.measured and x.count >= t.fewest_seeds]
    signs = [x.sign(t.level) for x in tasks]
    text = f"No task has {t.fewest_seeds} pairs of a {PRIMARY}-gated and an ungated model."
    if tested:
        text = f"Gated models are significantly better on {signs.count(1)} of"
        text += f" {counted(len(tested), 'task')}"
        text += f", and the opposite on {signs.count(-1)}." if -1 in signs else "."
        tested.sort(key=lambda pair: pair[0].mean)
        ends = [
            f"{number(POINTS * of.mean, '+.3g')} points"
            f" {interval(POINTS * of.low, POINTS * of.high)} ({task})"
            for of, task in (tested[0], tested[-1])
        ]
        span = f"goes from {ends[0]} to {ends[1]}" if len(tested) > 1 else f"is {ends[0]}"
        text += f" The mean difference {span}."
    lost = [x.task for x in tasks if x.sign(t.level) > 0 and x.sign(t.level, True) <= 0]
    if lost:
        text += f" In the worst case of failures and errors {listed(lost)} would not hold."
    return text + missing_text(tasks, t.fewest_seeds)


C4 = Claim(
    name="C4",
    title="Better where the boundary is not straight",
    claim="Gated models classify better where the decision boundary is nonlinear.",
    test="Test accuracy on the nonlinear tasks, sigmoid gate minus ungated, seed by seed: two-sided"
    " Student t tests at {t.level:.0%}, adjusted over the tasks by Holm. The additive control is"
    " compared with the gate's gain: it gives most of it on a task where half of the gain, less the"
    " gate's lead over the control, is significantly above zero, adjusted over the tasks by Holm.",
    verdict="Supported: the gated models are significantly better on every nonlinear task, and"
    " there are at least {t.fewest_tasks} tasks with {t.fewest_seeds} pairs each. Partly: on some"
    " tasks. Not supported here: on none. Not enough data: fewer tasks or pairs. Controls do not"
    " decide. They say what a gain can be due to. The verdict's first sentence says how much of the"
    " gain adding instead of multiplying reaches.",
    failures=PAIRS_FAILED + NOT_DONE,
    judge=judge_gain,
    tasks=NONLINEAR,
    variants=(UNGATED, *SHOWN),
    criteria=V2,
    why="Criteria v1 named the controls last, and did not say that adding instead of multiplying"
    " gives most of the gain. What decides is the same.",
)

# --- C5 -------------------------------------------------------------------------------------------


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


def judge_equality(models: Models, t: Thresholds) -> Verdict:
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
        _equality_table([x for tasks in every.values() for x in tasks]),
        models.gaps(models.variants),
        done,
        _equality_brief(done, t),
    )


def _equality_brief(done: Sequence[tuple[Pairs, Equivalence]], t: Thresholds) -> Brief:
    """Name the difference that is farthest from zero; draw all, with the margin."""
    if not done:
        return Brief()
    marks = [
        Mark(100 * x.interval[0], 100 * x.interval[1], 100 * x.paired.mean, pairs.task)
        for pairs, x in done
    ]
    margin = t.margin_points
    farthest = max(range(len(done)), key=lambda at: abs(done[at][1].paired.mean))
    return Brief(
        f"{number(marks[farthest].middle, '+.2g')} points",
        f"is the largest change of accuracy on {counted(len(done), 'task')}.",
        marks,
        (-2 * margin, -margin, 0, margin, 2 * margin),
        "change, points",
        (-margin, margin),
    )


def _equality_table(tasks: Sequence[LinearTask]) -> Table:
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
    judge=judge_equality,
    tasks=LINEAR,
)
