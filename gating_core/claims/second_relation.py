"""Claim C6 of the second edition: the relation within each kind of task, linear and nonlinear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gating_core.claims.claim import (
    NOT_ENOUGH,
    NOT_SUPPORTED,
    PARTLY,
    SUPPORTED,
    Claim,
    Needs,
    Thresholds,
    Wording,
)
from gating_core.claims.correlations import PooledCorrelation
from gating_core.claims.design import LINEAR, NONLINEAR
from gating_core.claims.models import Gap, Models
from gating_core.claims.relation import (
    C6,
    EXACT,
    KINDS,
    PEARSON,
    PROXY,
    Relations,
    relations,
    table,
    too_few_groups,
)
from gating_core.claims.rows import StackRow
from gating_core.claims.text import TextTable, counted, fixed, fixed_interval, listed

SHORT = {EXACT: "∫|K| dA", PROXY: "the proxy"}


@dataclass(frozen=True, eq=False)
class RelationsByKind:
    """The relations within each of `KINDS`; intervals are Bonferroni's for two kinds."""

    kinds: dict[str, Relations]

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Of both kinds."""
        return tuple(gap for of in self.kinds.values() for gap in of.gaps)

    def pooled(self, kind: str, measure: str) -> PooledCorrelation:
        """Within the groups of one kind, by Pearson."""
        return self.kinds[kind].pooled[measure, PEARSON]

    @property
    def deciding(self) -> dict[tuple[str, str], PooledCorrelation]:
        """The four correlations that decide, by kind and measure."""
        return {(kind, measure): self.pooled(kind, measure) for kind in self.kinds
                for measure in (EXACT, PROXY)}  # fmt: skip


def by_kind(models: Models, stacks: Sequence[StackRow], t: Thresholds) -> RelationsByKind:
    """Correlate in the base, for each kind of task."""
    narrower = replace(t, level=t.level / len(KINDS))
    return RelationsByKind({
        kind: relations(models.of_tasks(tasks), stacks, narrower) for kind, tasks in KINDS.items()
    })  # fmt: skip


def together_by_kind(evidence: RelationsByKind, t: Thresholds) -> str:
    """Decide within each kind, for the paper's proxy and for exact curvature."""
    every = evidence.deciding.values()
    few = any(_too_few(evidence, kind, t) for kind in KINDS)
    known = all(np.isfinite(r.low) and r.seed_count >= t.fewest_seeds for r in every)
    if few or not known or any(of.failed_share > t.most_failed for of in evidence.kinds.values()):
        return NOT_ENOUGH
    reaches = all(evidence.pooled(kind, PROXY).high >= t.paper_r for kind in KINDS)
    if all(r.low > 0 for r in every) and reaches:
        return SUPPORTED
    return PARTLY if any(r.low > 0 for r in every) else NOT_SUPPORTED


def _too_few(evidence: RelationsByKind, kind: str, t: Thresholds) -> str:
    return too_few_groups(evidence.kinds[kind], t, {kind: KINDS[kind]})


def _wording(evidence: RelationsByKind, word: str, t: Thresholds) -> Wording:
    parts = []
    for kind in evidence.kinds:
        if few := _too_few(evidence, kind, t):
            parts.append(f"There are {few}")
            continue
        clauses = [f"{_sign(r)} with {SHORT[m]} (r = {fixed(r.r)} {fixed_interval(r.low, r.high)})"
                for (k, m), r in evidence.deciding.items() if k == kind]  # fmt: skip
        exact = evidence.pooled(kind, EXACT)
        count = f"{counted(exact.group_count, 'group')}, {counted(exact.seed_count, 'seed')}"
        parts.append(f"On {kind} tasks accuracy goes {listed(clauses)}; {count}.")
    signs = {_sign(r) for r in evidence.deciding.values() if np.isfinite(r.low)}
    if {"up", "down"} <= signs:
        parts.append("The signs differ: curvature does not go with accuracy as such.")
    parts.append(f"The paper reports {t.paper_r:g}.")
    change = f"Four intervals above zero, the proxy's up to {t.paper_r:g}, would support it."
    if word == SUPPORTED:
        change = "An interval that reaches zero."
    elif word == NOT_ENOUGH:
        change = f"{t.fewest_groups} groups of {t.fewest_seeds} models on tasks of either kind."
    return Wording(" ".join(parts), _table(evidence), change)


def _sign(r: PooledCorrelation) -> str:
    """Which way accuracy goes while the measure grows."""
    return "up" if r.low > 0 else "down" if r.high < 0 else "neither up nor down"


def _table(evidence: RelationsByKind) -> TextTable:
    tables = [(kind, table(of)) for kind, of in evidence.kinds.items()]
    columns = ("tasks", *tables[0][1].columns)
    return TextTable(columns, tuple((kind, *row) for kind, of in tables for row in of.rows))


def _summary(evidence: RelationsByKind, t: Thresholds) -> str:
    if any(_too_few(evidence, kind, t) for kind in KINDS):
        return "too few groups"
    parts = [f"{fixed(evidence.pooled(kind, EXACT).r)} on {kind}" for kind in KINDS]
    return f"r of {SHORT[EXACT]}: {', '.join(parts)} tasks"


SECOND_C6 = Claim(
    name=C6.name,
    title=C6.title,
    claim=C6.claim,
    test="Pearson's r of test accuracy with the paper's proxy (our reading, in the limit of small"
    " steps) and with ∫|K| dA, within task × variant, pooled by Fisher's z within nonlinear and"
    " within linear tasks, each for itself. Intervals are from leaving each seed out of all groups"
    " (jackknife), of confidence 1 − {t.level:g}/2, because there are two kinds of tasks. Ungated"
    " and gated models; exactly flat ones are left out. Spearman's r and other measures stand"
    " beside.",
    verdict="Supported: in both kinds the intervals of both measures lie above zero, and those of"
    " the proxy reach {t.paper_r:g}. Partly: at least one of the four intervals lies above zero;"
    " the sentence says where, and where one lies below. Not supported here: none lies above zero."
    " Not enough data: on either kind fewer than {t.fewest_groups} groups, or no interval from at"
    " least {t.fewest_seeds} seeds.",
    failures=C6.failures,
    needs=Needs(tasks=(*LINEAR, *NONLINEAR)),
    evidence=by_kind,
    decide=together_by_kind,
    wording=_wording,
    summary=_summary,
    why="The first edition pooled correlations of opposite signs: positive on nonlinear tasks,"
    " negative on linear ones.",
)
