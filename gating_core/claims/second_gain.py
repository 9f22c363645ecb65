"""Claims C3 and C4 of the second edition: by which measure, and how much adding reaches.

Both compare as the first edition does (`gain`), with other questions. Shapes: S seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

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
from gating_core.claims.design import BASE_SETTING, PRIMARY, SECOND_PARTS, UNGATED, VARIED
from gating_core.claims.design import VARIED_TASKS as TASKS
from gating_core.claims.gain import (
    ACCURACY,
    C4,
    CURVATURE,
    Comparison,
    Differences,
    Measure,
    adjusted,
    ahead_on_tasks,
    compared,
    differences,
    gain_wording,
    table,
)
from gating_core.claims.models import Conditions, Gap, Models
from gating_core.claims.pairs import PAIRS_FAILED, normalised_proxy, proxy
from gating_core.claims.rows import StackRow
from gating_core.claims.statistics import holm, paired
from gating_core.claims.text import TextTable, counted, fixed, listed

# Where an ungated model can curve on the query chart.
SETTINGS = tuple(
    Conditions(
        source=varied.get("source", "memory"),
        depth=varied.get("depth", BASE_SETTING["depth"]),
        values=varied.get("value_count", BASE_SETTING["value_count"]),
        residual=varied.get("residual", False),
    )
    for part in SECOND_PARTS
    for varied in VARIED[part]
)
MEASURES = (
    replace(CURVATURE, title="total curvature ∫|K| dA"),
    Measure(proxy, "more curved", "the paper's proxy"),
    Measure(normalised_proxy, "more curved", "the normalised proxy"),
)

# --- C3 -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ByMeasure:
    """The primary gate less the ungated model by each of `MEASURES`, in every setting and task.

    The p-values are Holm's over all of them together.
    """

    cells: dict[str, tuple[Comparison, ...]]  # by the measure's title
    gaps: tuple[Gap, ...]


def by_measure(models: Models, _stacks: Sequence[StackRow], t: Thresholds) -> ByMeasure:
    """Compare in all `SETTINGS` that there are rows of."""
    some = [
        (measure, compared(models, at, task, PRIMARY, UNGATED, measure.quantity, t))
        for measure in MEASURES
        for at in SETTINGS
        for task in models.tasks(at)
    ]
    there = [(measure.title, one) for measure, one in some if one is not None]
    every = adjusted([one for _, one in there], t)
    cells = {measure.title: list[Comparison]() for measure in MEASURES}
    for (title, _), one in zip(there, every, strict=True):
        cells[title].append(one)
    gaps = models.gaps((PRIMARY, UNGATED), SETTINGS)
    return ByMeasure({title: tuple(of) for title, of in cells.items()}, gaps)


def curved_by_measure(evidence: ByMeasure, t: Thresholds) -> str:
    """Decide by how many measures hold."""
    families = list(evidence.cells.values())
    tested = [one for one in families[0] if one.count >= t.fewest_seeds]
    settings = [one.conditions for one in tested]
    full = [at for at in set(settings) if settings.count(at) >= t.fewest_tasks]

    def word(worst: bool) -> str:
        if len(full) < t.fewest_settings:
            return NOT_ENOUGH
        ahead = [[_ahead(one, t, worst) for one in family] for family in families]
        if all(all(family) for family in ahead):
            return SUPPORTED
        return PARTLY if any(holds(family, t, worst) for family in families) else NOT_SUPPORTED

    return guarded(word(False), word(True))


def holds(family: Sequence[Comparison], t: Thresholds, worst: bool = False) -> bool:
    """Whether the gated models are ahead in most cells of one measure, and behind in none."""
    ahead = sum(_ahead(one, t, worst) for one in family)
    behind = any(one.behind(t.level) for one in family)
    return bool(family) and ahead >= t.most_cells * len(family) and not behind


def _ahead(one: Comparison, t: Thresholds, worst: bool) -> bool:
    return one.ahead_in_the_worst_case(t.level) if worst else one.ahead(t.level)


def _counts(evidence: ByMeasure, t: Thresholds) -> str:
    parts = []
    for title, family in evidence.cells.items():
        ahead = sum(one.ahead(t.level) for one in family)
        behind = sum(one.behind(t.level) for one in family)
        parts.append(f"ahead in {ahead} and behind in {behind} by {title}")
    count = max(map(len, evidence.cells.values()))
    return f"Of {count} settings and tasks gated models are significantly {'; '.join(parts)}."


def _measure_wording(evidence: ByMeasure, word: str, t: Thresholds) -> Wording:
    hold = [title for title, family in evidence.cells.items() if holds(family, t)]
    fail = [title for title in evidence.cells if title not in hold]
    if not any(evidence.cells.values()):
        text = "There are no pairs of models in settings where an ungated one can curve."
    else:
        clauses = [f"holds by {listed(hold)}"] * bool(hold)
        clauses += [f"not by {listed(fail)}"] * bool(fail)
        text = f"Where ungated models can curve, the claim {', '.join(clauses)}." if hold else (
            f"Where ungated models can curve, the claim holds by none of {listed(fail)}."
        )  # fmt: skip
        text += f" {_counts(evidence, t)}"
    if word == SUPPORTED:
        changes = "One setting and task without a significant difference, by any of the measures."
    elif word == NOT_ENOUGH:
        changes = f"{t.fewest_seeds} pairs each on {t.fewest_tasks} tasks in {t.fewest_settings}"
        changes += " settings, with few failures."
    else:
        changes = "It would be supported if gated models were ahead everywhere, by all measures."
    return Wording(text, _measure_table(evidence), changes)


def _measure_table(evidence: ByMeasure) -> TextTable:
    tables = [(title, table(family)) for title, family in evidence.cells.items()]
    columns = ("measure", *tables[0][1].columns)
    return TextTable(columns, tuple((title, *row) for title, of in tables for row in of.rows))


def _measure_summary(evidence: ByMeasure, t: Thresholds) -> str:
    ahead = [f"{sum(x.ahead(t.level) for x in of)}" for of in evidence.cells.values()]
    count = max(map(len, evidence.cells.values()))
    return f"ahead in {listed(ahead)} of {count} by ∫|K| dA, proxy, normalised proxy"


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
    summary=_measure_summary,
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


def reached(evidence: Differences, t: Thresholds) -> tuple[Reached, ...]:
    """Compare on all tasks with pairs enough, the gate's greatest gain first; Holm's over these."""
    own = {one.task: one for one in evidence.controls.get(ADDITIVE, ())}
    tasks = []
    for gain in evidence.deciding:
        rest = own.get(gain.task)
        if rest is None or gain.measured is None or rest.measured is None:
            continue
        whole, less = (
            dict(zip(of.seeds, of.differences, strict=True))
            for of in (gain.measured, rest.measured)
        )
        seeds = [seed for seed in whole if seed in less]
        if len(seeds) >= t.fewest_seeds:
            tasks.append((
                gain.task, rest.ahead(t.level), paired(seeds, [whole[s] for s in seeds]).mean,
                paired(seeds, [less[s] for s in seeds]).mean,
                paired(seeds, [whole[s] / 2 - less[s] for s in seeds]),
            ))  # fmt: skip
    p = holm([half.p for *_, half in tasks])
    reached = [
        Reached(
            task, 100 * gain, 100 * (gain - less), bool(each <= t.level and half.mean > 0), ahead
        )
        for (task, ahead, gain, less, half), each in zip(tasks, p, strict=True)
    ]
    return tuple(sorted(reached, key=lambda one: -one.gain))


def _shares(tasks: Sequence[Reached]) -> str:
    """How much of each gain the control reaches."""
    return listed([
        f"{fixed(x.control, 1)} of {fixed(x.gain, 1)}{' points' * (index == 0)} on {x.task}"
        for index, x in enumerate(tasks)
    ])  # fmt: skip


def _gain_wording(evidence: Differences, word: str, t: Thresholds) -> Wording:
    wording = gain_wording(evidence, word, t)
    tasks = reached(evidence, t)
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
    return replace(wording, sentences=f"{text} {wording.sentences}")


def _gain_summary(evidence: Differences, t: Thresholds) -> str:
    tasks = reached(evidence, t)
    ahead = sum(one.ahead(t.level) for one in evidence.deciding)
    text = f"gated ahead on {ahead} of {counted(len(evidence.deciding), 'task')}"
    return f"{text}; adding gives most of it on {sum(x.most for x in tasks)}" if tasks else text


SECOND_C4 = replace(
    C4,
    test=C4.test.split(" Controls stand beside")[0] + " The additive control is compared with the"
    " gate's gain: it gives most of it on a task where half of the gain, less the gate's lead over"
    " the control, is significantly above zero, adjusted over the tasks by Holm.",
    verdict=C4.verdict + " The verdict's first sentence says how much of the gain adding instead of"
    " multiplying reaches.",
    needs=replace(C4.needs, variants=(UNGATED, PRIMARY, ADDITIVE)),
    evidence=partial(differences, ACCURACY, shown=(PRIMARY, ADDITIVE)),
    decide=ahead_on_tasks,
    wording=_gain_wording,
    summary=_gain_summary,
    why="The first edition named the controls last, and did not say that adding instead of"
    " multiplying gives most of the gain. What decides is the same.",
)
