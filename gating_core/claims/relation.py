"""Claim C6: curvature and accuracy go together. Decided by correlations within task and variant.

They are pooled within nonlinear and within linear tasks, each for itself. Exactly flat models are
left out: they have no curvature that could go with anything, and with them the answer would mostly
say which are gated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gating_core.claims.claim import NOT_DONE, V2, Claim, Needs, Thresholds, Word, Wording
from gating_core.claims.correlations import METHODS, Group, PooledCorrelation, pooled_correlation
from gating_core.claims.design import GATED, LINEAR, NONLINEAR, UNGATED
from gating_core.claims.models import BASE, Gap, Models
from gating_core.claims.text import MISSING, TextTable, counted, fixed, fixed_interval, listed

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
    """Correlations with test accuracy within task and variant, by measure and method."""

    pooled: dict[tuple[str, str], PooledCorrelation]
    with_flat: PooledCorrelation  # of the proxy, by Pearson
    complete: PooledCorrelation  # of ∫|K| dA, by Pearson, of models whose total is complete
    failed_share: float  # of all models that should be there
    gaps: tuple[Gap, ...]

    @property
    def doubtful(self) -> tuple[int, int]:
        """The number of the models' totals that are not complete, and the number of all."""
        count, complete = (
            sum(group.count for group in of.groups)
            for of in (self.pooled[EXACT, PEARSON], self.complete)
        )
        return count - complete, count


def relations(models: Models, t: Thresholds) -> Relations:
    """Correlate in the base: ungated and gated models, without the controls."""
    variants = [name for name in models.variants if name in (UNGATED, *GATED)]
    pooled = {}
    for measure in MEASURES:
        groups = _groups(models, variants, measure, curved=True)
        for method in METHODS:
            pooled[measure, method] = pooled_correlation(groups, method, t.confidence)
    every = _groups(models, variants, PROXY, curved=False)
    with_flat = pooled_correlation(every, PEARSON, t.confidence)
    count = sum(len(models.at(BASE, task, x)) for task in models.tasks() for x in variants)
    gaps = models.gaps(variants)
    failed_share = sum(bool(gap.reason) for gap in gaps) / max(count, 1)
    complete = _groups(models, variants, EXACT, curved=True, complete=True)
    known = pooled_correlation(complete, PEARSON, t.confidence)
    return Relations(pooled, with_flat, known, failed_share, gaps)


def _groups(
    models: Models, variants: list[str], measure: str, curved: bool, complete: bool = False
) -> tuple[Group, ...]:
    """The measured models, or the ``curved`` ones, or those with ``complete`` totals among them."""
    groups = []
    for task in models.tasks():
        for variant in variants:
            known = [
                (row, getattr(row, measure), row.test_accuracy)
                for row in models.at(BASE, task, variant).values()
                if row.error is None and not (curved and row.flat is not False)
                if row.total_complete or not complete
            ]
            known = [each for each in known if None not in each]
            if known:
                rows, x, y = zip(*known, strict=True)
                seeds, keys = np.array([row.seed for row in rows]), tuple(row.key for row in rows)
                groups.append(Group(task, variant, seeds, np.array(x), np.array(y), keys))
    return tuple(groups)


@dataclass(frozen=True, eq=False)
class RelationsByKind:
    """The relations within each of `KINDS`; intervals are Bonferroni's for two kinds."""

    kinds: dict[str, Relations]

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The gaps of both kinds."""
        return tuple(gap for of in self.kinds.values() for gap in of.gaps)

    def pooled(self, kind: str, measure: str) -> PooledCorrelation:
        """Return the pooled correlation within the groups of one kind, by Pearson."""
        return self.kinds[kind].pooled[measure, PEARSON]

    @property
    def deciding(self) -> list[PooledCorrelation]:
        """The four correlations that decide."""
        return [self.pooled(kind, measure) for kind in self.kinds for measure in SHORT]


def by_kind(models: Models, t: Thresholds) -> RelationsByKind:
    """Correlate in the base, for each kind of task."""
    narrower = replace(t, level=t.level / len(KINDS))
    return RelationsByKind(
        {kind: relations(models.of_tasks(tasks), narrower) for kind, tasks in KINDS.items()}
    )


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
    """Say that too few groups of a kind have a correlation; nothing where there are enough."""
    count = min(evidence.pooled(kind, name).group_count for name in SHORT)
    if count >= t.fewest_groups:
        return ""
    few = f"too few groups of task and variant: {count} on {kind} tasks"
    return f"{few}; {t.fewest_groups} are needed."


# --- Text -----------------------------------------------------------------------------------------


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
            f"{_sign(r)} with {SHORT[measure]} (r = {_r_text(r)})"
            for measure in SHORT
            for r in [evidence.pooled(kind, measure)]
        ]
        count = f"{counted(exact.group_count, 'group')}, {counted(exact.seed_count, 'seed')}"
        left_out = _excluded_text(evidence.kinds[kind])
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
    full = TextTable.joined("tasks", {kind: _table(of) for kind, of in evidence.kinds.items()})
    return Wording(summary, " ".join(sentences), full, change)


def _sign(r: PooledCorrelation) -> str:
    """The direction of accuracy while the measure grows."""
    return "up" if r.low > 0 else "down" if r.high < 0 else "neither up nor down"


def _excluded_text(evidence: Relations) -> str:
    """Say what is excluded and what r would be with it, and how many totals are not complete.

    A space first, or nothing.
    """
    proxy, exact = (evidence.pooled[name, PEARSON] for name in (PROXY, EXACT))
    names = dict.fromkeys(f"{x.task}, {x.variant}" for of in (exact, proxy) for x in of.excluded)
    text = ""
    if names:
        count = sum(x.alone is not None for x in exact.groups)
        verb = "is" if len(names) == 1 else "are"
        text = f" {len(names)} of {counted(count, 'group')} {verb} excluded ({'; '.join(names)}),"
        text += " because nothing varies there without one of the seeds, so that there is no"
        text += f" jackknife error. With {'it' if len(names) == 1 else 'them'} r would be"
        text += (
            f" {fixed(exact.with_excluded)} for ∫|K| dA and {fixed(proxy.with_excluded)} for the"
        )
        text += " proxy."
    doubtful, totals = evidence.doubtful
    if doubtful:
        text += f" {doubtful} of {counted(totals, 'total')} are not complete, but count; without"
        text += f" these models r for ∫|K| dA is {_r_text(evidence.complete)}"
        text += f" ({counted(evidence.complete.group_count, 'group')})."
    return text


def _r_text(r: PooledCorrelation) -> str:
    """Return r with its interval."""
    return f"{fixed(r.r)} {fixed_interval(r.low, r.high)}"


def _table(evidence: Relations) -> TextTable:
    """All numbers: pooled, and of every group."""
    columns = (
        "measure",
        "within",
        "r (Pearson)",
        "95 % interval",
        "r (Spearman)",
        "95 % interval of Spearman's",
        "groups or models",
    )
    rows = []
    pooled = {
        title: [evidence.pooled[name, x] for x in METHODS] for name, title in MEASURES.items()
    }
    pooled[f"{MEASURES[PROXY]}, flat models included"] = [evidence.with_flat]
    for title, both in pooled.items():
        numbers = [text for r in both for text in (fixed(r.r), fixed_interval(r.low, r.high))]
        numbers += [MISSING] * (4 - len(numbers))
        rows.append((title, "all groups", *numbers, counted(both[0].group_count, "group")))
    for measure in (PROXY, EXACT):
        of = (evidence.pooled[measure, method].groups for method in METHODS)
        for a, b in zip(*of, strict=True):
            r, rank_r = (MISSING if x.r is None else fixed(x.r) for x in (a, b))
            rows.append(
                (
                    MEASURES[measure],
                    f"{a.task}, {a.variant}",
                    r,
                    MISSING,
                    rank_r,
                    MISSING,
                    counted(a.count, "model"),
                )
            )
    return TextTable(columns, tuple(rows))


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
    needs=Needs(tasks=(*LINEAR, *NONLINEAR)),
    evidence=by_kind,
    decide=together_by_kind,
    wording=_wording,
    criteria=V2,
    why="Criteria v1 pooled correlations of opposite signs: positive on nonlinear tasks, negative"
    " on linear ones.",
)
