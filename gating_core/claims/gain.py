"""Claim C4: what does a gate gain on each task, and how much of it does adding reach?

Decided by tests over tasks. Shapes: S seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.claims.claim import NOT_DONE, V2, Claim, Needs, Thresholds, Word, Wording, guarded
from gating_core.claims.design import CONTROLS, NONLINEAR, PRIMARY, UNGATED
from gating_core.claims.models import BASE, Conditions, Gap, Models
from gating_core.claims.pairs import (
    PAIRS_FAILED,
    Comparison,
    compared,
    missing_text,
    pairs_of,
    table,
)
from gating_core.claims.statistics import holm, paired
from gating_core.claims.text import counted, fixed, interval, listed, signed

ADDITIVE = "additive"
SHOWN = (PRIMARY, ADDITIVE)  # families of the chart that goes with the verdict
POINTS = 100.0  # of accuracy, a share


@dataclass(frozen=True, eq=False)
class Differences:
    """Accuracies by variant less the ungated model's, each a family of tests over the tasks.

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


def differences(models: Models, t: Thresholds) -> Differences:
    """Compare the test accuracies of all variants of the base."""

    def family(variant: str, against: str, at: Conditions = BASE) -> tuple[Comparison, ...]:
        return compared(pairs_of(models, variant, against, "test_accuracy", at), t)

    return Differences(
        {name: family(name, UNGATED) for name in models.variants if name != UNGATED},
        {name: family(PRIMARY, name) for name in CONTROLS if name in models.variants},
        tuple(x for at in models.conditions if at != BASE for x in family(PRIMARY, UNGATED, at)),
        models.gaps(models.variants),
    )


def ahead_on_tasks(evidence: Differences, t: Thresholds) -> Word:
    """Decide by the primary gate less the ungated model, over tasks by Holm."""
    tasks = evidence.deciding

    def word(worst_case: bool) -> Word:
        if sum(one.pairs.count >= t.fewest_seeds for one in tasks) < t.fewest_tasks:
            return Word.NOT_ENOUGH
        ahead = [one.sign(t.level, worst_case) > 0 for one in tasks]
        if all(ahead):
            return Word.SUPPORTED
        return Word.PARTLY if any(ahead) else Word.NOT_SUPPORTED

    return guarded(word(False), word(True))


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


def reached(evidence: Differences, t: Thresholds) -> tuple[Reached, ...]:
    """Compare on all tasks with pairs enough, the gate's greatest gain first; Holm's over these."""
    own = {one.pairs.task: one for one in evidence.controls.get(ADDITIVE, ())}
    tasks = []
    for one in evidence.deciding:
        if (rest := own.get(one.pairs.task)) is None:
            continue
        whole, less = one.pairs.differences, rest.pairs.differences
        both = {seed: (whole[seed][0], less[seed][0]) for seed in whole if seed in less}
        if len(both) >= t.fewest_seeds:
            gains, lefts = np.array([*both.values()]).T
            half = paired([*both], gains / 2 - lefts)
            ahead = rest.sign(t.level) > 0
            tasks.append((one.pairs.task, gains.mean(), lefts.mean(), half, ahead))
    p = holm([half.p for *_, half, _ in tasks])
    every = [
        Reached(
            task,
            float(POINTS * mean),
            float(POINTS * (mean - less)),
            bool(each <= t.level and half.mean > 0),
            ahead,
        )
        for (task, mean, less, half, ahead), each in zip(tasks, p, strict=True)
    ]
    return tuple(sorted(every, key=lambda one: -one.gain))


# --- Text -----------------------------------------------------------------------------------------


def _wording(evidence: Differences, word: Word, t: Thresholds) -> Wording:
    tasks, left = evidence.deciding, reached(evidence, t)
    ahead = sum(one.sign(t.level) > 0 for one in tasks)
    summary = f"gated ahead on {ahead} of {counted(len(tasks), 'task')}"
    if left:
        summary += f"; adding gives most of it on {sum(one.most for one in left)}"
    every = [*evidence.families.values(), *evidence.controls.values(), evidence.varied]
    return Wording(
        summary,
        f"{_adding_text(evidence, left, t)} {_gain_text(tasks, t)}",
        table([one for family in every for one in family], POINTS),
        _changes(tasks, word, t),
    )


def _adding_text(evidence: Differences, tasks: Sequence[Reached], t: Thresholds) -> str:
    """Say how much of the gate's gains the additive control reaches."""
    if not tasks:
        return "There is no additive control to compare with."
    most = [one for one in tasks if one.most]
    rest = [one for one in tasks if not one.most]
    already = "already " * (not rest)
    text = f"Adding instead of multiplying {already}gives most of the gain on {len(most)} of"
    text += f" {counted(len(tasks), 'task')}"
    text += f": {_shares(most)}" * bool(most)
    text += f"; on {'the others' if most else 'these'} it reaches {_shares(rest)}" * bool(rest)
    text += ". What multiplication adds"
    text += f" is significant on {sum(one.own for one in tasks)} of {len(tasks)}."
    compared = {one.task for one in tasks}
    left = [x.pairs.task for x in evidence.deciding if x.pairs.task not in compared]
    few = f"fewer than {t.fewest_seeds} seeds have all three models"
    return text + f" Not compared with adding, because {few}: {listed(left)}." * bool(left)


def _shares(tasks: Sequence[Reached]) -> str:
    """The part of each gain that the control reaches, as text."""
    return listed(
        [
            f"{fixed(x.control, 1)} of {fixed(x.gain, 1)}{' points' * (index == 0)} on {x.task}"
            for index, x in enumerate(tasks)
        ]
    )


def _gain_text(tasks: Sequence[Comparison], t: Thresholds) -> str:
    """Say on how many tasks the gate is ahead, and by how much."""
    done = [(one, one.measured) for one in tasks if one.measured is not None]
    tested = [(one, of) for one, of in done if of.count >= t.fewest_seeds]
    signs = [one.sign(t.level) for one in tasks]
    if not tested:
        text = f"No task has {t.fewest_seeds} pairs of a {PRIMARY}-gated and an ungated model."
    else:
        text = f"Gated models are significantly better on {signs.count(1)} of"
        text += f" {counted(len(tested), 'task')}"
        text += f", and the opposite on {signs.count(-1)}." if -1 in signs else "."
        ordered = sorted(tested, key=lambda pair: pair[1].mean)
        ends = [
            f"{signed(POINTS * of.mean)} points {interval(POINTS * of.low, POINTS * of.high)}"
            f" ({one.pairs.task})"
            for one, of in (ordered[0], ordered[-1])
        ]
        span = f"goes from {ends[0]} to {ends[1]}" if len(tested) > 1 else f"is {ends[0]}"
        text += f" The mean difference {span}."
    lost = [
        one.pairs.task for one in tasks if one.sign(t.level) > 0 and one.sign(t.level, True) <= 0
    ]
    if lost:
        text += f" In the worst case of failures and errors {listed(lost)} would not hold."
    return text + missing_text([one.pairs for one in tasks], t.fewest_seeds)


def _changes(tasks: Sequence[Comparison], word: Word, t: Thresholds) -> str:
    missing = [one.pairs.task for one in tasks if one.sign(t.level) <= 0]
    if missing:
        return f"The gate would have to be significantly ahead on {listed(missing)} as well."
    if word != Word.SUPPORTED:
        return (
            f"Pairs on {t.fewest_tasks} tasks, {t.fewest_seeds} on each, without a failure and with"
            " small errors."
        )
    least = max(tasks, key=lambda one: one.p).pairs.task
    return f"One task without a significant difference. The nearest to that is {least}."


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
    needs=Needs(tasks=NONLINEAR, variants=(UNGATED, *SHOWN)),
    evidence=differences,
    decide=ahead_on_tasks,
    wording=_wording,
    criteria=V2,
    why="Criteria v1 named the controls last, and did not say that adding instead of multiplying"
    " gives most of the gain. What decides is the same.",
)
