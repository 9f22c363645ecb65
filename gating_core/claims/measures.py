"""Claim C3: by which measure are trained gated models more curved? Decided by three measures.

Compared where an ungated model can curve on the query chart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gating_core.claims.claim import NOT_DONE, V2, Claim, Needs, Thresholds, Word, Wording, guarded
from gating_core.claims.design import PRIMARY, UNGATED, V2_PARTS, VARIED
from gating_core.claims.design import VARIED_TASKS as TASKS
from gating_core.claims.models import Conditions, Gap, Models
from gating_core.claims.pairs import (
    PAIRS_FAILED,
    TOTAL,
    Comparison,
    compared,
    missing_text,
    pairs_of,
    table,
)
from gating_core.claims.text import TextTable, listed

SETTINGS = tuple(Conditions(**varied) for part in V2_PARTS for varied in VARIED[part])
MEASURES = {  # their titles, by column of a `ModelRow`
    TOTAL: "total curvature ∫|K| dA",
    "proxy": "the paper's proxy",
    "normalised_proxy": "the normalised proxy",
}


@dataclass(frozen=True, eq=False)
class ByMeasure:
    """The primary gate less the ungated model by each of `MEASURES`, in every setting and task.

    The p-values are Holm's over all of them together. ``refined`` are the comparisons of total
    curvature with totals in closed form, where there are any; they do not decide.
    """

    cells: dict[str, tuple[Comparison, ...]]  # by the measure's title
    gaps: tuple[Gap, ...]
    refined: tuple[Comparison, ...] = ()

    @property
    def total(self) -> tuple[Comparison, ...]:
        """The comparisons of total curvature, the only ones that may lack pairs or have errors."""
        return self.cells[MEASURES[TOTAL]]


def by_measure(models: Models, t: Thresholds) -> ByMeasure:
    """Compare in all `SETTINGS` that there are rows of."""
    gaps = models.gaps((PRIMARY, UNGATED), SETTINGS)
    refined = _families(models.with_refined(), t)[MEASURES[TOTAL]] if models.refined else ()
    return ByMeasure(_families(models, t), gaps, refined)


def _families(models: Models, t: Thresholds) -> dict[str, tuple[Comparison, ...]]:
    pairs = [
        (title, one)
        for column, title in MEASURES.items()
        for at in SETTINGS
        for one in pairs_of(models, PRIMARY, UNGATED, column, at)
    ]
    cells = {title: list[Comparison]() for title in MEASURES.values()}
    for (title, _), one in zip(pairs, compared([one for _, one in pairs], t), strict=True):
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
    if all(one.sign(t.level, worst_case) > 0 for family in families for one in family):
        return Word.SUPPORTED
    some = any(holds(family, t, worst_case) for family in families)
    return Word.PARTLY if some else Word.NOT_SUPPORTED


def holds(family: Sequence[Comparison], t: Thresholds, worst_case: bool = False) -> bool:
    """Return whether gated models are ahead in most cells of one measure, and behind in none."""
    ahead = sum(one.sign(t.level, worst_case) > 0 for one in family)
    behind = any(one.sign(t.level) < 0 for one in family)
    return bool(family) and ahead >= t.most_cells * len(family) and not behind


def _wording(evidence: ByMeasure, word: Word, t: Thresholds) -> Wording:
    hold = [title for title, family in evidence.cells.items() if holds(family, t)]
    fail = [title for title in evidence.cells if title not in hold]
    signs = [[one.sign(t.level) for one in of] for of in evidence.cells.values()]
    count = max(map(len, evidence.cells.values()))
    worst = sum(one.sign(t.level, worst_case=True) > 0 for one in evidence.total)
    if not count:
        text = "There are no pairs of models in settings where an ungated one can curve."
    else:
        text = "Where ungated models can curve, the claim holds by "
        text += f"{listed(hold)}" if hold else f"none of {listed(fail)}"
        text += f", not by {listed(fail)}." if hold and fail else "."
        counts = "; ".join(
            f"ahead in {of.count(1)} and behind in {of.count(-1)} by {title}"
            for title, of in zip(evidence.cells, signs, strict=True)
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
    first, *rest = (str(of.count(1)) for of in signs)
    numbers = listed([f"{first} (at worst {worst})", *rest])
    summary = f"ahead in {numbers} of {count} by ∫|K| dA, proxy, normalised proxy"
    tables = {title: table(family) for title, family in evidence.cells.items()}
    if evidence.refined:
        tables[f"{MEASURES[TOTAL]}, some in closed form"] = table(evidence.refined)
    return Wording(summary, text, TextTable.joined("measure", tables), changes)


def _worst_text(evidence: ByMeasure, t: Thresholds) -> str:
    """Say by how much of the curvature family the claim holds, and the verdict, at worst."""
    total, measured = evidence.total, measures_word(evidence, t, worst_case=False)
    signs = [one.sign(t.level, worst_case=True) for one in total]
    ahead, behind = signs.count(1), signs.count(-1)
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
    signs = [one.sign(t.level) for one in evidence.refined]
    worst = sum(one.sign(t.level, worst_case=True) > 0 for one in evidence.refined)
    return (
        f" With {missing} of the missing totals and {others} of large error computed in closed"
        f" form, which decides nothing here, they are ahead in {signs.count(1)}, in the worst case"
        f" in {worst}, and behind in {signs.count(-1)}."
    )


C3 = Claim(
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
    needs=Needs(tasks=TASKS, variants=(UNGATED, PRIMARY), parts=V2_PARTS),
    evidence=by_measure,
    decide=curved_by_measure,
    wording=_wording,
    criteria=V2,
    why="Criteria v1 compared with ungated models of one layer and three values. Their total"
    " curvature is zero by theorem, so they compared a number that is never negative with zero, by"
    " one measure alone.",
)
