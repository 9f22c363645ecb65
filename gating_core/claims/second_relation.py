"""Claim C6 of the second edition: the relation within each kind of task, linear and nonlinear."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gating_core.claims.claim import Claim, Needs, Thresholds, Word, Wording
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
    excluded_text,
    r_text,
    relations,
    table,
    too_few_groups,
)
from gating_core.claims.text import TextTable, counted, fixed, listed

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
    def deciding(self) -> list[PooledCorrelation]:
        """The four correlations that decide."""
        return [self.pooled(kind, measure) for kind in self.kinds for measure in SHORT]


def by_kind(models: Models, t: Thresholds) -> RelationsByKind:
    """Correlate in the base, for each kind of task."""
    narrower = replace(t, level=t.level / len(KINDS))
    return RelationsByKind({
        kind: relations(models.of_tasks(tasks), narrower) for kind, tasks in KINDS.items()
    })  # fmt: skip


def together_by_kind(evidence: RelationsByKind, t: Thresholds) -> Word:
    """Decide within each kind, for the paper's proxy and for exact curvature."""
    every = evidence.deciding
    few = any(_too_few(evidence, kind, t) for kind in KINDS)
    known = all(np.isfinite(r.low) and r.seed_count >= t.fewest_seeds for r in every)
    if few or not known or any(of.failed_share > t.most_failed for of in evidence.kinds.values()):
        return Word.NOT_ENOUGH
    reaches = all(evidence.pooled(kind, PROXY).high >= t.paper_r for kind in KINDS)
    if all(r.low > 0 for r in every) and reaches:
        return Word.SUPPORTED
    return Word.PARTLY if any(r.low > 0 for r in every) else Word.NOT_SUPPORTED


def _too_few(evidence: RelationsByKind, kind: str, t: Thresholds) -> str:
    return too_few_groups(evidence.kinds[kind], t, {kind: KINDS[kind]})


def _wording(evidence: RelationsByKind, word: Word, t: Thresholds) -> Wording:
    sentences, short, few = [], [], False
    for kind in evidence.kinds:
        exact = evidence.pooled(kind, EXACT)
        short.append(f"{fixed(exact.r)} on {kind}")
        if reason := _too_few(evidence, kind, t):
            sentences.append(f"There are {reason}")
            few = True
            continue
        clauses = [
            f"{_sign(r)} with {SHORT[measure]} (r = {r_text(r)})"
            for measure in SHORT
            for r in [evidence.pooled(kind, measure)]
        ]
        count = f"{counted(exact.group_count, 'group')}, {counted(exact.seed_count, 'seed')}"
        left_out = excluded_text(evidence.kinds[kind])
        sentences.append(f"On {kind} tasks accuracy goes {listed(clauses)}; {count}.{left_out}")
    signs = {_sign(r) for r in evidence.deciding if np.isfinite(r.low)}
    if {"up", "down"} <= signs:
        sentences.append("The signs differ: curvature does not go with accuracy as such.")
    sentences.append(f"The paper reports {t.paper_r:g}.")
    change = f"Four intervals above zero, the proxy's up to {t.paper_r:g}, would support it."
    if word == Word.SUPPORTED:
        change = "An interval that reaches zero."
    elif word == Word.NOT_ENOUGH:
        change = f"{t.fewest_groups} groups of {t.fewest_seeds} models on tasks of either kind."
    summary = "too few groups" if few else f"r of {SHORT[EXACT]}: {', '.join(short)} tasks"
    full = TextTable.joined("tasks", {kind: table(of) for kind, of in evidence.kinds.items()})
    return Wording(summary, " ".join(sentences), full, change)


def _sign(r: PooledCorrelation) -> str:
    """Which way accuracy goes while the measure grows."""
    return "up" if r.low > 0 else "down" if r.high < 0 else "neither up nor down"


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
    why="The first edition pooled correlations of opposite signs: positive on nonlinear tasks,"
    " negative on linear ones.",
)
