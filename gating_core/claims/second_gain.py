"""Claims C3 and C4 of the second edition: by which measure, and how much adding reaches.

Both compare as the first edition does (`gain`), with other questions. Shapes: S seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gating_core.claims import gain
from gating_core.claims.claim import NOT_DONE, Claim, Needs, Thresholds, Word, Wording, guarded
from gating_core.claims.design import PRIMARY, SECOND_PARTS, UNGATED, VARIED
from gating_core.claims.design import VARIED_TASKS as TASKS
from gating_core.claims.models import Conditions, Gap, Models
from gating_core.claims.pairs import PAIRS_FAILED, missing_text, pairs_of
from gating_core.claims.statistics import holm, paired
from gating_core.claims.text import TextTable, counted, fixed, listed

# Where an ungated model can curve on the query chart.
SETTINGS = tuple(Conditions(**varied) for part in SECOND_PARTS for varied in VARIED[part])
MEASURES = (
    replace(gain.CURVATURE, title="total curvature ∫|K| dA"),
    gain.Measure("proxy", "more curved", "the paper's proxy"),
    gain.Measure("normalised_proxy", "more curved", "the normalised proxy"),
)

# --- C3 -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ByMeasure:
    """The primary gate less the ungated model by each of `MEASURES`, in every setting and task.

    The p-values are Holm's over all of them together. ``refined`` are the comparisons of total
    curvature with totals in closed form, where there are any; they do not decide.
    """

    cells: dict[str, tuple[gain.Comparison, ...]]  # by the measure's title
    gaps: tuple[Gap, ...]
    refined: tuple[gain.Comparison, ...] = ()

    @property
    def total(self) -> tuple[gain.Comparison, ...]:
        """The comparisons of total curvature, the only ones that may lack pairs or have errors."""
        return self.cells[MEASURES[0].title]


def by_measure(models: Models, t: Thresholds) -> ByMeasure:
    """Compare in all `SETTINGS` that there are rows of."""
    gaps = models.gaps((PRIMARY, UNGATED), SETTINGS)
    refined = _families(models.with_refined(), t)[MEASURES[0].title] if models.refined else ()
    return ByMeasure(_families(models, t), gaps, refined)


def _families(models: Models, t: Thresholds) -> dict[str, tuple[gain.Comparison, ...]]:
    pairs = [
        (measure.title, one)
        for measure in MEASURES
        for at in SETTINGS
        for one in pairs_of(models, PRIMARY, UNGATED, measure.column, at)
    ]
    cells = {measure.title: list[gain.Comparison]() for measure in MEASURES}
    for (title, _), one in zip(pairs, gain.compared([one for _, one in pairs], t), strict=True):
        cells[title].append(one)
    return {title: tuple(of) for title, of in cells.items()}


def curved_by_measure(evidence: ByMeasure, t: Thresholds) -> Word:
    """Decide by how many measures hold."""
    return guarded(measures_word(evidence, t, False), measures_word(evidence, t, True))


def measures_word(evidence: ByMeasure, t: Thresholds, worst_case: bool) -> Word:
    """Return what the differences say as measured, or in the worst case for the claim."""
    families = list(evidence.cells.values())
    settings = [one.pairs.conditions for one in families[0] if one.pairs.count >= t.fewest_seeds]
    full = [at for at in set(settings) if settings.count(at) >= t.fewest_tasks]
    if len(full) < t.fewest_settings:
        return Word.NOT_ENOUGH
    if all(one.ahead(t.level, worst_case) for family in families for one in family):
        return Word.SUPPORTED
    some = any(holds(family, t, worst_case) for family in families)
    return Word.PARTLY if some else Word.NOT_SUPPORTED


def holds(family: Sequence[gain.Comparison], t: Thresholds, worst_case: bool = False) -> bool:
    """Whether the gated models are ahead in most cells of one measure, and behind in none."""
    ahead = sum(one.ahead(t.level, worst_case) for one in family)
    behind = any(one.behind(t.level) for one in family)
    return bool(family) and ahead >= t.most_cells * len(family) and not behind


def _measure_wording(evidence: ByMeasure, word: Word, t: Thresholds) -> Wording:
    hold = [title for title, family in evidence.cells.items() if holds(family, t)]
    fail = [title for title in evidence.cells if title not in hold]
    ahead = [sum(one.ahead(t.level) for one in of) for of in evidence.cells.values()]
    behind = [sum(one.behind(t.level) for one in of) for of in evidence.cells.values()]
    count = max(map(len, evidence.cells.values()))
    worst = sum(one.ahead(t.level, worst_case=True) for one in evidence.total)
    if not count:
        text = "There are no pairs of models in settings where an ungated one can curve."
    else:
        text = "Where ungated models can curve, the claim holds by "
        text += f"{listed(hold)}" if hold else f"none of {listed(fail)}"
        text += f", not by {listed(fail)}." if hold and fail else "."
        counts = "; ".join(
            f"ahead in {more} and behind in {less} by {title}"
            for title, more, less in zip(evidence.cells, ahead, behind, strict=True)
        )
        text += f" Of {count} settings and tasks gated models are significantly {counts}."
        text += missing_text([one.pairs for one in evidence.total], t.fewest_seeds)
        text += _worst_text(evidence, t) + _refined_text(evidence, t)
    if word == Word.SUPPORTED:
        changes = "One setting and task without a significant difference, by any of the measures."
    elif word == Word.NOT_ENOUGH:
        changes = f"{t.fewest_seeds} pairs each on {t.fewest_tasks} tasks in {t.fewest_settings}"
        changes += " settings, with few failures."
    else:
        changes = "It would be supported if gated models were ahead everywhere, by all measures."
    first, *rest = map(str, ahead)
    numbers = listed([f"{first} (at worst {worst})", *rest])
    summary = f"ahead in {numbers} of {count} by ∫|K| dA, proxy, normalised proxy"
    tables = {title: gain.table(family) for title, family in evidence.cells.items()}
    if evidence.refined:
        tables[f"{MEASURES[0].title}, some in closed form"] = gain.table(evidence.refined)
    return Wording(summary, text, TextTable.joined("measure", tables), changes)


def _worst_text(evidence: ByMeasure, t: Thresholds) -> str:
    """Say by how much of the curvature family the claim holds, and the verdict, at worst."""
    total, measured = evidence.total, measures_word(evidence, t, worst_case=False)
    ahead, behind = (
        sum(getattr(one, name)(t.level, worst_case=True) for one in total)
        for name in ("ahead", "behind")
    )
    needed = math.ceil(t.most_cells * len(total))
    text = f" In the worst case of missing pairs and errors they are ahead in {ahead} of"
    text += f" {len(total)} by total curvature" + f" and behind in {behind}" * (behind > 0)
    text += ", exactly as many" if ahead == needed else f"; {needed} are needed"
    text += " as a measure needs to hold" if ahead == needed else " for a measure to hold"
    worst = measures_word(evidence, t, worst_case=True)
    if worst == measured:
        return f"{text}: that would not change the verdict."
    return f"{text}: the verdict would be “{worst}” instead of “{measured}”."


def _refined_text(evidence: ByMeasure, t: Thresholds) -> str:
    """Say what totals in closed form would change."""
    if not evidence.refined:
        return ""
    missing, others = 0, 0
    for before, after in zip(evidence.total, evidence.refined, strict=True):
        old, new = before.pairs.differences, after.pairs.differences
        missing += len(new.keys() - old.keys())
        others += sum(new[seed] != old[seed] for seed in new.keys() & old.keys())
    ahead, worst, behind = (
        sum(one.ahead(t.level) for one in evidence.refined),
        sum(one.ahead(t.level, worst_case=True) for one in evidence.refined),
        sum(one.behind(t.level) for one in evidence.refined),
    )
    return (
        f" With {missing} of the missing totals and {others} of large error computed in closed"
        f" form, which decides nothing here, they are ahead in {ahead}, in the worst case in"
        f" {worst}, and behind in {behind}."
    )


SECOND_C3 = Claim(
    name="C3",
    title="Trained gated models curve more",
    claim="After training, gated models have the higher representation curvature, also where"
    " ungated ones can curve.",
    test="Sigmoid gate minus ungated, seed by seed, on the tasks " + ", ".join(TASKS) + " where"
    " ungated models can curve (" + "; ".join(at.text for at in SETTINGS) + "), by three measures:"
    " total absolute curvature ∫|K| dA over the query chart, the paper's proxy in our reading, and"
    " the proxy divided by the Jacobian's norm. Two-sided Student t tests at {t.level:.0%},"
    " adjusted by Holm over all settings, tasks and measures together.",
    verdict="A measure holds where the gated models are significantly ahead in at least"
    " {t.most_cells:.0%} of settings and tasks and significantly behind in none. Supported: they"
    " are ahead everywhere by all three measures. Partly: at least one measure holds. Not supported"
    " here: none does. Not enough data: fewer than {t.fewest_settings} settings with"
    " {t.fewest_tasks} tasks of {t.fewest_seeds} pairs each. The verdict says which measures hold.",
    failures=PAIRS_FAILED + NOT_DONE + " An ungated total that is a lower estimate counts as"
    " failed; a gated one may stand, because it makes the difference too small.",
    needs=Needs(tasks=TASKS, variants=(UNGATED, PRIMARY), parts=SECOND_PARTS),
    evidence=by_measure,
    decide=curved_by_measure,
    wording=_measure_wording,
    why="The first edition compared with ungated models of one layer and three values. Their"
    " total curvature is zero by theorem, so it compared a number that is never negative with zero,"
    " by one measure alone.",
)

# --- C4 -------------------------------------------------------------------------------------------

ADDITIVE = "additive"


@dataclass(frozen=True)
class Reached:
    """How much of a gate's gain on one task the additive control reaches, in points.

    ``most`` says whether that is significantly more than half of it, ``own`` whether the gate is
    significantly ahead of the control.
    """

    task: str
    gain: float
    control: float
    most: bool
    own: bool


def reached(evidence: gain.Differences, t: Thresholds) -> tuple[Reached, ...]:
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
            tasks.append((one.pairs.task, gains.mean(), lefts.mean(), half, rest.ahead(t.level)))
    p = holm([half.p for *_, half, _ in tasks])
    every = [
        Reached(
            task, float(100 * mean), float(100 * (mean - less)),
            bool(each <= t.level and half.mean > 0), ahead,
        )
        for (task, mean, less, half, ahead), each in zip(tasks, p, strict=True)
    ]  # fmt: skip
    return tuple(sorted(every, key=lambda one: -one.gain))


def _shares(tasks: Sequence[Reached]) -> str:
    """How much of each gain the control reaches."""
    return listed([
        f"{fixed(x.control, 1)} of {fixed(x.gain, 1)}{' points' * (index == 0)} on {x.task}"
        for index, x in enumerate(tasks)
    ])  # fmt: skip


def _gain_wording(evidence: gain.Differences, word: Word, t: Thresholds) -> Wording:
    wording = gain.wording(evidence, word, t)
    tasks = reached(evidence, t)
    summary = gain.ahead_text(evidence, t)
    if not tasks:
        text = "There is no additive control to compare with."
    else:
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
        text += f" Not compared with adding, because {few}: {listed(left)}." * bool(left)
        summary += f"; adding gives most of it on {len(most)}"
    return replace(wording, summary=summary, sentences=f"{text} {wording.sentences}")


SECOND_C4 = replace(
    gain.C4,
    test=gain.C4.test.split(" Controls stand beside")[0] + " The additive control is compared"
    " with the gate's gain: it gives most of it on a task where half of the gain, less the gate's"
    " lead over the control, is significantly above zero, adjusted over the tasks by Holm.",
    verdict=gain.C4.verdict + " The verdict's first sentence says how much of the gain adding"
    " instead of multiplying reaches.",
    needs=replace(gain.C4.needs, variants=(UNGATED, PRIMARY, ADDITIVE)),
    evidence=partial(gain.differences, gain.ACCURACY, shown=(PRIMARY, ADDITIVE)),
    wording=_gain_wording,
    why="The first edition named the controls last, and did not say that adding instead of"
    " multiplying gives most of the gain. What decides is the same.",
)
