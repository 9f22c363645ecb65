"""What follows from the rows, claim by claim? Seven verdicts, each with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from gating_core.claims.charts import Charts, charts
from gating_core.claims.models import Gap, Models, sorted_out
from gating_core.claims.pairs import (
    Differences,
    Equivalences,
    accuracy_differences,
    curvature_differences,
    equivalences,
)
from gating_core.claims.relations import Relations, relations
from gating_core.claims.rows import ModelRow, StackRow
from gating_core.claims.rules import RULES
from gating_core.claims.said import WORDING, Wording
from gating_core.claims.slopes import Slopes, slopes
from gating_core.claims.thresholds import THRESHOLDS, Thresholds
from gating_core.claims.wording import Table, gap_lines

Evidence = Charts | Differences | Equivalences | Relations | Slopes


@dataclass(frozen=True, eq=False)
class Verdict:
    """One claim's: ``word`` is one of `WORDS`, ``sentences`` say it with the numbers.

    ``changes`` says what would change it, ``gaps`` which models are not there and why.
    """

    claim: str  # a key of RULES
    word: str
    sentences: str
    table: Table
    changes: str
    gaps: tuple[str, ...]
    evidence: Evidence
    thresholds: Thresholds

    @property
    def title(self) -> str:
        """The claim in a few words."""
        return RULES[self.claim].title

    @property
    def rule(self) -> dict[str, str]:
        """The rule that it was decided by, in sentences."""
        return RULES[self.claim].texts(self.thresholds)


def verdicts(
    rows: Iterable[ModelRow], stacks: Iterable[StackRow], t: Thresholds = THRESHOLDS
) -> dict[str, Verdict]:
    """Of all seven claims, by name, from whatever rows there are."""
    models, stacks = sorted_out(rows), list(stacks)
    return {claim: verdict(claim, models, stacks, t) for claim in RULES}


def verdict(
    claim: str, models: Models, stacks: Iterable[StackRow], t: Thresholds = THRESHOLDS
) -> Verdict:
    """Of one claim."""
    evidence = EVIDENCE[claim](models, stacks, t)
    word = RULES[claim].decide(evidence, t)
    wording: Wording = WORDING[claim](evidence, word, t)
    gaps: tuple[Gap, ...] = getattr(evidence, "gaps", ())
    return Verdict(
        claim, word, wording.sentences, wording.table, wording.changes, gap_lines(gaps), evidence, t
    )


EVIDENCE: dict[str, Callable[[Models, Iterable[StackRow], Thresholds], Any]] = {
    "C1": lambda models, _stacks, t: charts(models, t),
    "C2": lambda models, _stacks, t: charts(models, t),
    "C3": lambda models, _stacks, t: curvature_differences(models, t),
    "C4": lambda models, _stacks, t: accuracy_differences(models, t),
    "C5": lambda models, _stacks, t: equivalences(models, t),
    "C6": lambda models, _stacks, t: relations(models, t),
    "C7": lambda models, stacks, _t: slopes(stacks, models.code),
}
