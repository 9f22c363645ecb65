"""Claims C1 and C2: is a model flat on the attention-weight chart? Decided from bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.claims.claim import NOT_DONE, THEOREM, Claim, Needs, Thresholds, Word, Wording
from gating_core.claims.design import GATED, WITHOUT_GATE
from gating_core.claims.models import BASE, Gap, ModelRow, Models
from gating_core.claims.text import TextTable, counted, listed, number

FLAT, CURVED, INCONCLUSIVE, NO_CHART, FAILED = CHART_WORDS = (
    "flat",
    "curved",
    "inconclusive",
    "no chart",
    "failed",
)
OTHER_TEXTS = {  # before a number of models
    FLAT: "flat within the bound:",
    INCONCLUSIVE: "inconclusive:",
    NO_CHART: "without such a chart:",
    FAILED: "failed:",
}


@dataclass(frozen=True, eq=False)
class Charts:
    """All models of the base, by variant, for what is known on the attention-weight chart."""

    models: dict[str, tuple[ModelRow, ...]]
    flat_bound: float  # on |K|, 1 / length^2
    gaps: tuple[Gap, ...] = ()

    def count(self, variants: Sequence[str], word: str) -> int:
        """Return how many models of ``variants`` have this ``word`` of `CHART_WORDS`."""
        return sum(chart_word(row, self.flat_bound) == word for row in self.of(variants))

    def of(self, variants: Sequence[str]) -> list[ModelRow]:
        """The rows of ``variants``."""
        return [row for name in variants for row in self.models.get(name, ())]

    def positive(self, variants: Sequence[str]) -> int:
        """Return how many models of ``variants`` are known to have K > 0 somewhere."""
        return sum((row.chart_positive_share or 0.0) > 0 for row in self.of(variants))


def chart_word(row: ModelRow, flat_bound: float) -> str:
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
    return FLAT if row.chart_bound <= flat_bound else INCONCLUSIVE


def charts(models: Models, t: Thresholds) -> Charts:
    """Collect the models of the base."""
    by_variant: dict[str, tuple[ModelRow, ...]] = {}
    for (conditions, _, variant), rows in models.cells.items():
        if conditions == BASE:
            by_variant[variant] = (*by_variant.get(variant, ()), *rows.values())
    return Charts(by_variant, t.flat_bound, models.gaps(by_variant))


def _others_text(evidence: Charts, variants: Sequence[str], words: Sequence[str]) -> str:
    """Say how many models are one of ``words``, if any, after a space."""
    counts = {word: evidence.count(variants, word) for word in words}
    found = [f"{OTHER_TEXTS[word]} {count:,}" for word, count in counts.items() if count]
    return f" Of the others {listed(found)}." if found else ""


def _chart_table(evidence: Charts) -> TextTable:
    columns = ("variant", "models", *CHART_WORDS, "K > 0 known", "median max |K|", "largest bound")
    rows = []
    for name, models in evidence.models.items():
        largest = [row.chart_largest for row in models if row.chart_largest is not None]
        bounds = [row.chart_bound for row in models if row.chart_bound is not None]
        rows.append(
            (
                name,
                str(len(models)),
                *(str(evidence.count((name,), word)) for word in CHART_WORDS),
                str(evidence.positive((name,))),
                number(float(np.median(largest)) if largest else None),
                number(max(bounds, default=None)),
            )
        )
    return TextTable(columns, tuple(rows))


# --- C1 -------------------------------------------------------------------------------------------


def flat_without_gate(evidence: Charts, t: Thresholds) -> Word:
    """Decide C1: one model known to be curved is enough to contradict it."""
    models, flat = evidence.of(WITHOUT_GATE), evidence.count(WITHOUT_GATE, FLAT)
    if evidence.count(WITHOUT_GATE, CURVED):
        return Word.NOT_SUPPORTED
    if flat < t.fewest_seeds:
        return Word.NOT_ENOUGH
    return Word.SUPPORTED if flat == len(models) else Word.PARTLY


def _flat_wording(evidence: Charts, word: Word, t: Thresholds) -> Wording:
    models = evidence.of(WITHOUT_GATE)
    flat, curved = evidence.count(WITHOUT_GATE, FLAT), evidence.count(WITHOUT_GATE, CURVED)
    if not models:
        text = "There is no trained model without a gate."
    else:
        text = f"{flat:,} of {counted(len(models), 'trained model')} without a gate are flat on the"
        text += f" attention-weight chart, and {curved:,} are known to be curved."
        bounds = [row.chart_bound for row in models if row.chart_bound is not None]
        if bounds:
            text += f" The bound on |K| is at most {number(max(bounds))}."
        gated = evidence.count(GATED, CURVED)
        if gated:
            every = counted(len(evidence.of(GATED)), "gated model")
            text += f" The same test finds {gated:,} of {every} curved, so it can tell them apart."
        text += _others_text(evidence, WITHOUT_GATE, (INCONCLUSIVE, NO_CHART, FAILED))
    change = (
        "One model without a gate whose |K| exceeds its bound on this chart would contradict it."
        if not curved
        else "Nothing that is added would: one such model is enough."
    )
    summary = f"{flat} of {len(models)} models flat, {curved} curved"
    return Wording(summary, text, _chart_table(evidence), change)


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
    needs=Needs(variants=("ungated",), parts=("base",)),
    evidence=charts,
    decide=flat_without_gate,
    wording=_flat_wording,
    kind=THEOREM,
)

# --- C2 -------------------------------------------------------------------------------------------


def curved_with_gate(evidence: Charts, t: Thresholds) -> Word:
    """Decide C2."""
    curved = evidence.count(GATED, CURVED)
    if sum(evidence.count(GATED, word) for word in (CURVED, FLAT, INCONCLUSIVE)) < t.fewest_seeds:
        return Word.NOT_ENOUGH
    if not curved:
        return Word.NOT_SUPPORTED
    enough = curved >= t.curved_share * len(evidence.of(GATED))
    return Word.SUPPORTED if enough and evidence.positive(GATED) else Word.PARTLY


def _curved_wording(evidence: Charts, word: Word, t: Thresholds) -> Wording:
    models, curved = evidence.of(GATED), evidence.count(GATED, CURVED)
    positive = evidence.positive(GATED)
    if not models:
        text = "There is no trained model with a gate."
    else:
        text = f"{curved:,} of {counted(len(models), 'gated model')} are known to be curved, and"
        text += f" {positive:,} have K > 0 on some of their area."
        text += _others_text(evidence, GATED, (FLAT, INCONCLUSIVE, NO_CHART, FAILED))
        others = [n for n in ("additive", "pointwise") if evidence.count((n,), CURVED)]
        if others:
            verb = "controls curve" if len(others) > 1 else "control curves"
            text += f" The {listed(others)} {verb}, too: gating is one way among others."
    few = f"{t.curved_share:.0%} of gated models were known to be curved"
    if word == Word.SUPPORTED:
        change = f"It would fall if fewer than {few}, or none had K > 0."
    elif word == Word.NOT_ENOUGH:
        change = f"At least {t.fewest_seeds} gated models, trained."
    else:
        change = f"It would be supported if at least {few}, and one had K > 0."
    summary = f"{curved} of {len(models)} curved, {positive} with K > 0 somewhere"
    return Wording(summary, text, _chart_table(evidence), change)


C2 = Claim(
    name="C2",
    title="With a gate, curved; positive, too",
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
    needs=Needs(variants=("sigmoid", "headwise", "silu"), parts=("base",)),
    evidence=charts,
    decide=curved_with_gate,
    wording=_curved_wording,
)
