"""Is a model flat on the attention-weight chart? What claims C1 and C2 are decided from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gating_core.claims.models import BASE, Gap, Models
from gating_core.claims.rows import ModelRow
from gating_core.claims.thresholds import Thresholds

FLAT, CURVED, UNDECIDED, NO_CHART, FAILED = CHART_WORDS = (
    "flat", "curved", "undecided", "no chart", "failed",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Charts:
    """All models of the base, by variant, for what is known on the attention-weight chart."""

    models: dict[str, tuple[ModelRow, ...]]
    flat_bound: float  # on |K|, 1 / length^2
    gaps: tuple[Gap, ...] = ()

    def count(self, variants: Sequence[str], word: str) -> int:
        """How many of ``variants`` are one of `CHART_WORDS`."""
        return sum(chart_word(row, self.flat_bound) == word for row in self.of(variants))

    def of(self, variants: Sequence[str]) -> list[ModelRow]:
        """The rows of ``variants``."""
        return [row for name in variants for row in self.models.get(name, ())]

    def positive(self, variants: Sequence[str]) -> int:
        """How many are known to have K > 0 somewhere."""
        return sum((row.chart_positive_share or 0.0) > 0 for row in self.of(variants))


def chart_word(row: ModelRow, flat_bound: float) -> str:
    """One of `CHART_WORDS`. Flat: |K| is below its bound at every point, and that is small."""
    if row.error is not None:
        return FAILED
    if row.chart_flat is None:
        return NO_CHART
    if not row.chart_flat:
        return CURVED
    if row.chart_largest is None or row.chart_bound is None:
        return UNDECIDED  # no point is resolved
    return FLAT if row.chart_bound <= flat_bound else UNDECIDED


def charts(models: Models, t: Thresholds) -> Charts:
    """Of the base."""
    found: dict[str, tuple[ModelRow, ...]] = {}
    for (place, _, variant), rows in models.cells.items():
        if place == BASE:
            found[variant] = (*found.get(variant, ()), *rows.values())
    return Charts(found, t.flat_bound, models.gaps(models.tasks(), found))
