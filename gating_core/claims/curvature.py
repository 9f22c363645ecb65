"""Claims C1 to C3: what is flat, what curves, and what curves more.

C1 and C2 are decided from bounds on the attention-weight chart, C3 by three measures, compared
where an ungated model can curve on the query chart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.claims.claim import (
    ADDITIVE,
    GATED,
    NOT_DONE,
    PRIMARY,
    THEOREM,
    UNGATED,
    V2,
    V2_PARTS,
    VARIED,
    WITHOUT_GATE,
    Brief,
    Claim,
    Mark,
    Table,
    Thresholds,
    Verdict,
    Word,
    guarded,
)
from gating_core.claims.claim import VARIED_TASKS as TASKS
from gating_core.claims.pairs import (
    PAIRS_FAILED,
    TOTAL,
    Pairs,
    compared,
    missing_text,
    pairs_of,
    table,
)
from gating_core.claims.rows import BASE, Conditions, ModelRow, Models
from gating_core.claims.text import counted, listed, number

CHART_WORDS = ("flat", "curved", "inconclusive", "no chart", "failed")
FLAT, CURVED, INCONCLUSIVE, NO_CHART, FAILED = CHART_WORDS
OTHER_TEXTS = {  # before a number of models
    FLAT: "flat within the bound:",
    INCONCLUSIVE: "inconclusive:",
    NO_CHART: "without such a chart:",
    FAILED: "failed:",
}


def chart_word(row: ModelRow, t: Thresholds) -> str:
    """Classify a model by one of `CHART_WORDS`.

    It is flat if |K| is below its bound at every point, and that bound is small.
    """
    if row.error is not None:
        return FAILED
    if row.chart_flat is None:
        return NO_CHART
    if not row.chart_flat:
        return CURVED
    if row.chart_largest is None or row.chart_bound is None:
        return INCONCLUSIVE  # no point is resolved
    return FLAT if row.chart_bound <= t.flat_bound else INCONCLUSIVE


@dataclass(frozen=True, eq=False)
class Charts:
    """The models of the base by variant, and what is known of each on that chart."""

    models: dict[str, list[tuple[ModelRow, str]]]  # with one of `CHART_WORDS`
    gaps: tuple[str, ...]

    def of(self, variants: Sequence[str], *words: str) -> list[ModelRow]:
        """Return the rows of ``variants`` with one of ``words``, by default any."""
        found = (pair for name in variants for pair in self.models.get(name, ()))
        return [row for row, word in found if word in (words or CHART_WORDS)]


def charts(models: Models, t: Thresholds) -> Charts:
    """Collect the models of the base."""
    found: dict[str, list[tuple[ModelRow, str]]] = {}
    for (conditions, _, variant), rows in models.cells.items():
        if conditions == BASE:
            found.setdefault(variant, []).extend((x, chart_word(x, t)) for x in rows.values())
    return Charts(found, models.gaps(found))


def positive(rows: Sequence[ModelRow]) -> int:
    """Count the models that are known to have K > 0 somewhere."""
    return sum((row.chart_positive_share or 0.0) > 0 for row in rows)


def _others_text(evidence: Charts, variants: Sequence[str], words: Sequence[str]) -> str:
    counts = {word: len(evidence.of(variants, word)) for word in words}
    found = [f"{OTHER_TEXTS[word]} {count:,}" for word, count in counts.items() if count]
    return f" Of the others {listed(found)}." if found else ""


def _bounds_table(evidence: Charts) -> Table:
    rows = []
    for name in evidence.models:
        every = evidence.of((name,))
        largest = [row.chart_largest for row in every if row.chart_largest is not None]
        bounds = [row.chart_bound for row in every if row.chart_bound is not None]
        rows.append({
            "variant": name, "models": str(len(every)),
            **{word: str(len(evidence.of((name,), word))) for word in CHART_WORDS},
            "K > 0 known": str(positive(every)),
            "median max |K|": number(float(np.median(largest)) if largest else None),
            "largest bound": number(max(bounds, default=None)),
        })  # fmt: skip
    return rows


# --- C1 -------------------------------------------------------------------------------------------


def judge_flat(models: Models, t: Thresholds) -> Verdict:
    """Decide C1: one model known to be curved is enough to contradict it."""
    evidence = charts(models, t)
    every = evidence.of(WITHOUT_GATE)
    flat, curved = (len(evidence.of(WITHOUT_GATE, word)) for word in (FLAT, CURVED))
    if curved:
        word = Word.NOT_SUPPORTED
    elif flat < t.fewest_seeds:
        word = Word.NOT_ENOUGH
    else:
        word = Word.SUPPORTED if flat == len(every) else Word.PARTLY

    largest = max((x.chart_bound for x in every if x.chart_bound is not None), default=None)
    text = "There is no trained model without a gate."
    if every:
        text = f"{flat:,} of {counted(len(every), 'trained model')} without a gate are flat on the"
        text += f" attention-weight chart, and {curved:,} are known to be curved."
        text += f" The bound on |K| is at most {number(largest)}." if largest is not None else ""
        if gated := len(evidence.of(GATED, CURVED)):
            text += f" The same test finds {gated:,} of"
            text += f" {counted(len(evidence.of(GATED)), 'gated model')} curved, so it can tell"
            text += " them apart."
        text += _others_text(evidence, WITHOUT_GATE, (INCONCLUSIVE, NO_CHART, FAILED))
    summary = f"{flat} of {len(every)} models flat, {curved} curved"
    brief = Brief(
        f"{flat:,} of {len(every):,}",
        "trained models are flat.",
        [Mark(0, flat)],
        (0, len(every)),
        "flat models",
    )
    return Verdict(word, summary, text, _bounds_table(evidence), evidence.gaps, evidence, brief)


C1 = Claim(
    name="C1",
    title="Without a gate, flat",
    claim="The surface of one layer of ungated attention with fixed values is flat: an open piece"
    " of an affine subspace.",
    test="Every trained model without a gate (ungated, and ungated with matched parameters), on the"
    " attention-weight chart, which is the theorem's setting: |K| must be below its rigorous"
    " bound on rounding at every point, and that bound at most {t.flat_bound:g}. There is no"
    " p-value: bounds are not statistics.",
    verdict="Supported: all models without a gate are flat, and they are at least"
    " {t.fewest_seeds}. Not supported here: a single one is known to be curved. Partly: none is"
    " known to be curved, but some failed or could not be decided. Not enough data: fewer than"
    " {t.fewest_seeds} are known to be flat.",
    failures="A model that failed or could not be measured keeps the verdict from being"
    " “supported”: the claim is about every model." + NOT_DONE,
    judge=judge_flat,
    variants=("ungated",),
    parts=("base",),
    kind=THEOREM,
)

# --- C2 -------------------------------------------------------------------------------------------


def judge_curved(models: Models, t: Thresholds) -> Verdict:
    """Decide C2 by the share of gated models that are known to be curved."""
    evidence = charts(models, t)
    every, curved = evidence.of(GATED), len(evidence.of(GATED, CURVED))
    above = positive(every)
    if len(evidence.of(GATED, CURVED, FLAT, INCONCLUSIVE)) < t.fewest_seeds:
        word = Word.NOT_ENOUGH
    elif not curved:
        word = Word.NOT_SUPPORTED
    else:
        enough = curved >= t.curved_share * len(every)
        word = Word.SUPPORTED if enough and above else Word.PARTLY

    text = "There is no trained model with a gate."
    if every:
        text = f"{curved:,} of {counted(len(every), 'gated model')} are known to be curved, and"
        text += f" {above:,} have K > 0 on some of their area."
        text += _others_text(evidence, GATED, (FLAT, INCONCLUSIVE, NO_CHART, FAILED))
        others = [n for n in ("additive", "pointwise") if evidence.of((n,), CURVED)]
        if others:
            verb = "controls curve" if len(others) > 1 else "control curves"
            text += f" The {listed(others)} {verb}, too: gating is one way among others."
    summary = f"{curved} of {len(every)} curved, {above} with K > 0 somewhere"
    brief = Brief(
        f"{curved:,} of {len(every):,}",
        "trained models are curved.",
        [Mark(0, curved)],
        (0, len(every)),
        "curved models",
    )
    return Verdict(word, summary, text, _bounds_table(evidence), evidence.gaps, evidence, brief)


C2 = Claim(
    name="C2",
    title="With a gate, curved",
    claim="A multiplicative gate makes the surface curve, and strictly positive curvature can be"
    " reached.",
    test="Every trained model with a multiplicative gate, on the attention-weight chart: |K| above"
    " its rigorous bound at some point is known curvature, K above its bound is known positive"
    " curvature. There is no p-value.",
    verdict="Supported: at least {t.curved_share:.0%} of at least {t.fewest_seeds} gated models are"
    " known to be curved, and at least one of them has K > 0 on some of its area. Partly: some"
    " are known to be curved, but fewer, or none of them has K > 0. Not supported here: none is"
    " known to be curved. Not enough data: fewer models.",
    failures="Failed and inconclusive models, and those without such a chart, count as not known to"
    " be curved." + NOT_DONE,
    judge=judge_curved,
    variants=("sigmoid", "headwise", "silu"),
    parts=("base",),
)


# --- C3 -------------------------------------------------------------------------------------------

SETTINGS = tuple(Conditions(**varied) for part in V2_PARTS for varied in VARIED[part])
MEASURES = {  # their titles, by column of a `ModelRow`
    TOTAL: "total curvature ∫|K| dA",
    "proxy": "the paper's proxy",
    "normalised_proxy": "the normalised proxy",
}
ByMeasure = dict[str, list[Pairs]]  # by the measure's title


def by_measure(models: Models, t: Thresholds) -> ByMeasure:
    """Take the primary gate less the ungated model by each measure, in every setting and task.

    In all `SETTINGS` that there are rows of; p-values are Holm's over all of them together.
    """
    titles, pairs = [], []
    for column, title in MEASURES.items():
        for at in SETTINGS:
            found = pairs_of(models, PRIMARY, UNGATED, column, at)
            titles += [title] * len(found)
            pairs += found
    cells: dict[str, list[Pairs]] = {title: [] for title in MEASURES.values()}
    for title, result in zip(titles, compared(pairs, t), strict=True):
        cells[title].append(result)
    return cells


def holds(family: Sequence[Pairs], t: Thresholds, worst_case: bool = False) -> bool:
    """Return whether gated models are ahead in most cells of one measure, and behind in none."""
    ahead = sum(x.sign(t.level, worst_case) > 0 for x in family)
    behind = any(x.sign(t.level) < 0 for x in family)
    return bool(family) and ahead >= t.most_cells * len(family) and not behind


def measures_word(evidence: ByMeasure, t: Thresholds, worst_case: bool) -> Word:
    """Decide by how many measures hold, as measured or in the worst case for the claim."""
    families = list(evidence.values())
    settings = [x.conditions for x in families[0] if x.count >= t.fewest_seeds]
    full = [at for at in set(settings) if settings.count(at) >= t.fewest_tasks]
    if len(full) < t.fewest_settings:
        return Word.NOT_ENOUGH
    if all(x.sign(t.level, worst_case) > 0 for family in families for x in family):
        return Word.SUPPORTED
    some = any(holds(family, t, worst_case) for family in families)
    return Word.PARTLY if some else Word.NOT_SUPPORTED


def decide(evidence: ByMeasure, t: Thresholds) -> Word:
    """Decide by how many measures hold; failures and errors may not raise the verdict."""
    return guarded(measures_word(evidence, t, False), measures_word(evidence, t, True))


def judge_measures(models: Models, t: Thresholds) -> Verdict:
    """Compare the measures of curvature in all `SETTINGS`, and decide."""
    evidence = by_measure(models, t)
    word, total = decide(evidence, t), evidence[MEASURES[TOTAL]]
    beside = [x for x in compared(pairs_of(models, PRIMARY, ADDITIVE, TOTAL), t) if x.count]
    hold = [title for title, family in evidence.items() if holds(family, t)]
    fail = [title for title in evidence if title not in hold]
    signs = [[x.sign(t.level) for x in family] for family in evidence.values()]
    count = max(map(len, signs))
    text = "There are no pairs of models in settings where an ungated one can curve."
    if count:
        text = "Where ungated models can curve, the claim holds by "
        text += f"{listed(hold)}" if hold else f"none of {listed(fail)}"
        text += f", not by {listed(fail)}." if hold and fail else "."
        counts = "; ".join(
            f"ahead in {of.count(1)} and behind in {of.count(-1)} by {title}"
            for title, of in zip(evidence, signs, strict=True)
        )
        text += f" Of {count} settings and tasks gated models are significantly {counts}."
        text += missing_text(total, t.fewest_seeds) + _worst_text(evidence, t)
        text += _additive_text(models, beside, t)
    worst = sum(x.sign(t.level, worst_case=True) > 0 for x in total)
    ahead = [of.count(1) for of in signs]
    first, *rest = map(str, ahead)
    numbers = listed([f"{first} (at worst {worst})", *rest])
    names = "∫|K| dA", "proxy", "normalised proxy"
    brief = Brief(
        f"{first} of {count}",
        f"cases curve more; by two other measures, {listed(rest)}.",
        [Mark(0, x, name=f"{y} {x}") for x, y in zip(ahead, names, strict=True)],
        (0, count),
        "cases",
    )
    summary = f"ahead in {numbers} of {count} by {', '.join(names)}"
    tables = {**evidence, f"{MEASURES[TOTAL]}, beside": beside}
    rows = [{"measure": title} | row for title, family in tables.items() for row in table(family)]
    gaps = models.gaps((PRIMARY, UNGATED), SETTINGS)
    return Verdict(word, summary, text, rows, gaps, evidence, brief)


def _worst_text(evidence: ByMeasure, t: Thresholds) -> str:
    """Say by how much of the curvature family the claim holds, and the verdict, at worst."""
    total = evidence[MEASURES[TOTAL]]
    signs = [x.sign(t.level, worst_case=True) for x in total]
    ahead, behind, needed = signs.count(1), signs.count(-1), math.ceil(t.most_cells * len(total))
    text = f" In the worst case of missing pairs and errors they are ahead in {ahead} of"
    text += f" {len(total)} by total curvature" + f" and behind in {behind}" * (behind > 0)
    if ahead == needed:
        text += ", exactly as many as a measure needs to hold"
    else:
        text += f"; {needed} are needed for a measure to hold"
    measured, worst = (measures_word(evidence, t, worst_case) for worst_case in (False, True))
    if worst == measured:
        return f"{text}: that would not change the verdict."
    return f"{text}: the verdict would be “{worst}” instead of “{measured}”."


def _additive_text(models: Models, beside: Sequence[Pairs], t: Thresholds) -> str:
    """Say what is compared, and how the additive control curves where it was measured."""
    text = " This is about gated against plain attention"
    if not beside:
        return f"{text}."
    medians = []
    for index, x in enumerate(beside):
        control, gate = (
            [y.total_curvature for y in rows.values() if y.total_curvature is not None]
            for rows in (models.at(BASE, x.task, name) for name in (ADDITIVE, PRIMARY))
        )
        found, other = (number(float(np.median(np.array(y))), ".2g") for y in (control, gate))
        medians.append(f"{found} on {x.task} ({'gate ' * (index == 0)}{other})")
    more = [x.task for x in beside if x.sign(t.level) > 0]
    others = [x.task for x in beside if x.task not in more]
    text += ": the control that adds instead of multiplying, measured in the base alone (one"
    text += (
        f" layer, n = {BASE.value_count}), has a median ∫|K| dA of {listed(medians)}; the gate's"
    )
    text += f" is significantly larger on {listed(more) or 'none'}"
    return text + (f", not on {listed(others)}." if more and others else ".")


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
    judge=judge_measures,
    tasks=TASKS,
    variants=(UNGATED, PRIMARY),
    parts=V2_PARTS,
    criteria=V2,
    why="Criteria v1 compared with ungated models of one layer and three values. Their total"
    " curvature is zero by theorem, so they compared a number that is never negative with zero, by"
    " one measure alone.",
)
