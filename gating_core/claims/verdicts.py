"""The claims and their verdicts, each with its evidence.

The rules are preregistered: written down before the models of the seeds that they decide on were
trained. The rules of C3, C4 and C6 are criteria v2; the verdicts of these claims by criteria v1 are
stored with the commit that decided them, and shown on the page *Claims*.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from gating_core.claims.bounds import C1, C2
from gating_core.claims.claim import (
    CRITERIA,
    THRESHOLDS,
    Claim,
    Criteria,
    Thresholds,
    Word,
    Wording,
)
from gating_core.claims.equality import C5
from gating_core.claims.gain import C4
from gating_core.claims.growth import C7
from gating_core.claims.measures import C3
from gating_core.claims.models import (
    BASE,
    ModelRow,
    Models,
    RefinedTotal,
    StackRow,
    sorted_out,
)
from gating_core.claims.relation import C6
from gating_core.claims.statistics import paired
from gating_core.claims.text import TextTable, fixed, fixed_interval, gap_lines

CLAIMS: dict[str, Claim[Any]] = {claim.name: claim for claim in (C1, C2, C3, C4, C5, C6, C7)}


@dataclass(frozen=True, eq=False, kw_only=True)
class ClaimVerdict(Wording):
    """The verdict of one claim; ``gaps`` say which models are not there and why."""

    claim: Claim[Any]
    word: Word
    gaps: tuple[str, ...]
    evidence: Any  # what the claim's own function makes of the rows
    thresholds: Thresholds

    @property
    def rule(self) -> dict[str, str]:
        """The rule that it was decided by, in sentences."""
        return self.claim.rule(self.thresholds)


def verdicts(
    rows: Iterable[ModelRow],
    stacks: Iterable[StackRow],
    t: Thresholds = THRESHOLDS,
    refined: Iterable[RefinedTotal] = (),
) -> dict[str, ClaimVerdict]:
    """Return the verdicts of all claims by name, each from the seeds of its criteria.

    What the ``refined`` totals would change is reported separately; they do not decide.
    """
    rows, stacks, refined = list(rows), list(stacks), tuple(refined)
    models = {
        name: replace(models_of(rows, one, stacks), refined=refined)
        for name, one in CRITERIA.items()
    }
    return {name: verdict(claim, models[claim.criteria.name], t) for name, claim in CLAIMS.items()}


def models_of(
    rows: Iterable[ModelRow], criteria: Criteria, stacks: Iterable[StackRow] = ()
) -> Models:
    """Return the models of the seeds that ``criteria`` decide on, and the stacks of these."""
    seeds = criteria.seeds
    return sorted_out((x for x in rows if x.seed in seeds), (x for x in stacks if x.seed in seeds))


def verdict(claim: Claim[Any], models: Models, t: Thresholds = THRESHOLDS) -> ClaimVerdict:
    """Return the verdict of one claim; models of tasks that it does not need do not count."""
    evidence = claim.evidence(models.of_tasks(claim.needs.tasks), t)
    word = claim.decide(evidence, t)
    gaps = gap_lines(getattr(evidence, "gaps", ()))
    return ClaimVerdict(
        **vars(claim.wording(evidence, word, t)),
        claim=claim,
        word=word,
        gaps=gaps,
        evidence=evidence,
        thresholds=t,
    )


def accuracies(models: Models) -> TextTable:
    """Return the mean test accuracies of the base, with their intervals over seeds."""
    rows = []
    for (conditions, task, variant), members in models.cells.items():
        values = {
            seed: row.test_accuracy
            for seed, row in members.items()
            if row.test_accuracy is not None
        }
        if conditions == BASE and values:
            of = paired([*values], [*values.values()])
            ends = fixed_interval(of.low, of.high, 3)
            rows.append((task, variant, fixed(of.mean, 3), ends, str(of.count)))
    return TextTable(("task", "variant", "mean", "95 % interval", "seeds"), tuple(rows))
