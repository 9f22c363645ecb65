"""Claim C6: curvature and accuracy go together. Decided by correlations within task and variant.

They are pooled within nonlinear and within linear tasks, each for itself. Exactly flat models are
left out: they have no curvature that could go with anything, and with them the answer would mostly
say which are gated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gating_core.claims.claim import (
    GATED,
    LINEAR,
    NONLINEAR,
    NOT_DONE,
    UNGATED,
    V2,
    Brief,
    Claim,
    Mark,
    Table,
    Thresholds,
    Verdict,
    Word,
)
from gating_core.claims.rows import BASE, Models
from gating_core.claims.statistics import METHODS, Group, PooledCorrelation, pooled_correlation
from gating_core.claims.text import MISSING, counted, interval, listed, number

MEASURES = {  # the paper's first
    "proxy": "the paper's proxy",
    "normalised_proxy": "the proxy divided by the Jacobian's norm",
    "total_curvature": "total absolute curvature, ∫|K| dA",
    "positive_curvature": "positive curvature, ∫K dA where K > 0",
}
KINDS = {"nonlinear": NONLINEAR, "linear": LINEAR}  # of tasks
PROXY, EXACT = "proxy", "total_curvature"
SHORT = {EXACT: "∫|K| dA", PROXY: "the proxy"}  # by which the claim is decided
PEARSON = METHODS[0]


@dataclass(frozen=True, eq=False)
class Relations:
    """Correlations with test accuracy within task and variant, on tasks of one kind."""

    pooled: dict[tuple[str, str], PooledCorrelation]  # by measure and method
    with_flat: PooledCorrelation  # of the proxy, by Pearson
    complete: PooledCorrelation  # of ∫|K| dA, by Pearson, of models whose total is complete
    failed_share: float  # of all models that should be there

    def of(self, measure: str) -> PooledCorrelation:
        """Return the pooled correlation by Pearson."""
        return self.pooled[measure, PEARSON]


def relations(models: Models, t: Thresholds) -> Relations:
    """Correlate in the base: ungated and gated models, without the controls.

    Intervals are Bonferroni's for two kinds of tasks.
    """
    variants = [name for name in models.variants if name in (UNGATED, *GATED)]
    cells = [(x, name, models.at(BASE, x, name)) for x in models.tasks() for name in variants]

    def pooled(
        measure: str, method: str = PEARSON, flat: bool = False, incomplete: bool = True
    ) -> PooledCorrelation:
        groups = []
        for task, variant, members in cells:
            known = [
                (row.seed, row.key, getattr(row, measure), row.test_accuracy)
                for row in members.values()
                if row.error is None and (flat or row.flat is False)
                if row.total_complete or incomplete
            ]
            known = [numbers for numbers in known if None not in numbers]
            if known:
                seeds, keys, x, y = zip(*known, strict=True)
                arrays = np.array(seeds), np.array(x), np.array(y)
                groups.append(Group(task, variant, *arrays, keys))
        return pooled_correlation(groups, method, 1 - t.level / len(KINDS))

    every = [row for *_, members in cells for row in members.values()]
    failed = sum(bool(row.error) for row in every)
    return Relations(
        {(measure, method): pooled(measure, method) for measure in MEASURES for method in METHODS},
        pooled(PROXY, flat=True),
        pooled(EXACT, incomplete=False),
        failed / max(len(every), 1),
    )


def decide(evidence: dict[str, Relations], t: Thresholds) -> Word:
    """Decide within each kind, for the paper's proxy and for exact curvature."""
    every = [relation.of(measure) for relation in evidence.values() for measure in SHORT]
    few = any(r.group_count < t.fewest_groups for r in every)
    known = all(np.isfinite(r.low) and r.seed_count >= t.fewest_seeds for r in every)
    failed = any(relation.failed_share > t.most_failed for relation in evidence.values())
    if few or not known or failed:
        return Word.NOT_ENOUGH
    reaches = all(relation.of(PROXY).high >= t.paper_r for relation in evidence.values())
    if all(r.low > 0 for r in every) and reaches:
        return Word.SUPPORTED
    return Word.PARTLY if any(r.low > 0 for r in every) else Word.NOT_SUPPORTED


def judge(models: Models, t: Thresholds) -> Verdict:
    """Correlate within each kind of task, and decide."""
    by_kind = {kind: models.of_tasks(tasks) for kind, tasks in KINDS.items()}
    evidence = {kind: relations(some, t) for kind, some in by_kind.items()}
    word = decide(evidence, t)
    sentences, short, few = [], [], False
    for kind, relation in evidence.items():
        exact = relation.of(EXACT)
        short.append(f"{number(exact.r, '.2f')} on {kind}")
        count = min(relation.of(measure).group_count for measure in SHORT)
        if count < t.fewest_groups:
            sentences.append(
                f"There are too few groups of task and variant: {count} on {kind} tasks;"
                f" {t.fewest_groups} are needed."
            )
            few = True
            continue
        clauses = listed(
            f"{_sign(relation.of(x))} with {SHORT[x]} (r = {r_text(relation.of(x))})" for x in SHORT
        )
        counts = f"{counted(exact.group_count, 'group')}, {counted(exact.seed_count, 'seed')}"
        sentences.append(
            f"On {kind} tasks accuracy goes {clauses}; {counts}.{_excluded_text(relation)}"
        )
    every = [relation.of(measure) for relation in evidence.values() for measure in SHORT]
    if {"up", "down"} <= {_sign(r) for r in every if np.isfinite(r.low)}:
        sentences.append("The signs differ: curvature does not go with accuracy as such.")
    sentences.append(f"The paper reports {t.paper_r:g}.")
    summary = "too few groups" if few else f"r of {SHORT[EXACT]}: {', '.join(short)} tasks"
    table = [{"tasks": kind} | row for kind, x in evidence.items() for row in _table(x)]
    gaps = [
        line
        for some in by_kind.values()
        for line in some.gaps([x for x in models.variants if x in (UNGATED, *GATED)])
    ]
    pooled = {kind: relation.of(EXACT) for kind, relation in evidence.items()}
    brief = Brief(
        ", ".join(number(x.r, "+.2f") for x in pooled.values()),
        f"are the correlations on {listed(pooled)} tasks.",
        [Mark(x.low, x.high, x.r, kind) for kind, x in pooled.items()],
        (-1, 0, 1),
        "correlation",
    )
    return Verdict(
        word,
        summary,
        " ".join(sentences),
        table,
        tuple(sorted(gaps)),
        evidence,
        brief,
    )


def _sign(r: PooledCorrelation) -> str:
    """The direction of accuracy while the measure grows."""
    return "up" if r.low > 0 else "down" if r.high < 0 else "neither up nor down"


def r_text(r: PooledCorrelation) -> str:
    """Return r with its interval."""
    return f"{number(r.r, '.2f')} {interval(r.low, r.high, '.2f')}"


def _excluded_text(relation: Relations) -> str:
    """Say what is excluded and r with it, and how many totals are not complete; a space first."""
    proxy, exact, complete = relation.of(PROXY), relation.of(EXACT), relation.complete
    names = dict.fromkeys(f"{x.task}, {x.variant}" for r in (exact, proxy) for x in r.excluded)
    text = ""
    if names:
        count = sum(x.alone is not None for x in exact.groups)
        verb, them = ("is", "it") if len(names) == 1 else ("are", "them")
        text = f" {len(names)} of {counted(count, 'group')} {verb} excluded ({'; '.join(names)}),"
        text += " because nothing varies there without one of the seeds, so that there is no"
        text += f" jackknife error. With {them} r would be {number(exact.with_excluded, '.2f')} for"
        text += f" ∫|K| dA and {number(proxy.with_excluded, '.2f')} for the proxy."
    totals, known = (sum(group.count for group in r.groups) for r in (exact, complete))
    if totals > known:
        text += f" {totals - known} of {counted(totals, 'total')} are not complete, but count;"
        text += f" without these models r for ∫|K| dA is {r_text(complete)}"
        text += f" ({counted(complete.group_count, 'group')})."
    return text


def _table(relation: Relations) -> Table:
    """All numbers of one kind: pooled, and of every group."""
    columns = ("measure", "within", "r (Pearson)", "95 % interval", "r (Spearman)",
               "95 % interval of Spearman's", "groups or models")  # fmt: skip
    rows = []
    pooled = {title: [relation.pooled[x, m] for m in METHODS] for x, title in MEASURES.items()}
    pooled[f"{MEASURES[PROXY]}, flat models included"] = [relation.with_flat]
    for title, both in pooled.items():
        texts = [x for r in both for x in (number(r.r, ".2f"), interval(r.low, r.high, ".2f"))]
        texts += [MISSING] * (4 - len(texts))
        rows.append((title, "all groups", *texts, counted(both[0].group_count, "group")))
    for measure in (PROXY, EXACT):
        groups = (relation.pooled[measure, method].groups for method in METHODS)
        for a, b in zip(*groups, strict=True):
            r, rank_r = number(a.r, ".2f"), number(b.r, ".2f")
            within, count = f"{a.task}, {a.variant}", counted(a.count, "model")
            rows.append((MEASURES[measure], within, r, MISSING, rank_r, MISSING, count))
    return [dict(zip(columns, row, strict=True)) for row in rows]


C6 = Claim(
    name="C6",
    title="Curvature and accuracy go together",
    claim="Curvature and accuracy correlate; the paper reports r = {t.paper_r:g}, with a"
    " finite-difference proxy for local nonlinearity.",
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
    failures="Failed models have no numbers; if more than {t.most_failed:.1%} failed, the verdict"
    " is “not enough data”. A group is excluded if accuracy or measure no longer varies without one"
    " of its seeds: it has no jackknife error. Totals that are not complete count as they are."
    + NOT_DONE,
    judge=judge,
    tasks=(*LINEAR, *NONLINEAR),
    criteria=V2,
    why="Criteria v1 pooled correlations of opposite signs: positive on nonlinear tasks, negative"
    " on linear ones.",
)
