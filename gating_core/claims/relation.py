"""Claim C6: curvature and accuracy go together. Decided by correlations within task and variant.

Exactly flat models are left out: they have no curvature that could go with anything, and with them
the answer would mostly say which are gated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.claims.claim import (
    NOT_DONE,
    NOT_ENOUGH,
    NOT_SUPPORTED,
    PARTLY,
    SUPPORTED,
    Claim,
    Needs,
    Thresholds,
    Wording,
)
from gating_core.claims.correlations import METHODS, Group, PooledCorrelation, pooled_correlation
from gating_core.claims.design import GATED, LINEAR, NONLINEAR, UNGATED
from gating_core.claims.models import BASE, Gap, Models
from gating_core.claims.rows import ModelRow, StackRow
from gating_core.claims.text import MISSING, TextTable, counted, fixed, fixed_interval, listed

MEASURES = {  # the paper's first
    "proxy": "the paper's proxy",
    "normalised_proxy": "the proxy divided by the Jacobian's norm",
    "total_curvature": "total absolute curvature, ∫|K| dA",
    "positive_curvature": "positive curvature, ∫K dA where K > 0",
}
KINDS = {"nonlinear": NONLINEAR, "linear": LINEAR}  # of tasks
PROXY, EXACT = "proxy", "total_curvature"  # by which the claim is decided
PEARSON, SPEARMAN = METHODS
Named = tuple[str, str]  # measure and method


@dataclass(frozen=True, eq=False)
class Relations:
    """Correlations with test accuracy within task and variant, by measure and method.

    ``groups`` are the models they are of, by measure; ``keys`` those of their rows, group by group.
    ``between`` is r over all models at once, which mostly says which ones are gated.
    """

    pooled: dict[Named, PooledCorrelation]
    groups: dict[str, tuple[Group, ...]]
    keys: dict[str, tuple[tuple[str, ...], ...]]
    between: dict[str, float]
    with_flat: PooledCorrelation  # of the proxy, by Pearson
    model_count: int
    gaps: tuple[Gap, ...]

    @property
    def failed_share(self) -> float:
        """Of all models that should be there."""
        failed = sum(bool(gap.reason) for gap in self.gaps)
        return failed / self.model_count if self.model_count else 0.0


def relations(models: Models, _stacks: Sequence[StackRow], t: Thresholds) -> Relations:
    """Correlate in the base: ungated and gated models, without the controls."""
    variants = [name for name in models.variants if name in (UNGATED, *GATED)]
    groups, keys, between = {}, {}, {}
    for measure in MEASURES:
        curved = _groups(models, variants, measure, _is_curved)
        groups[measure] = tuple(group for group, _ in curved)
        keys[measure] = tuple(names for _, names in curved)
        between[measure] = _over_all(_groups(models, variants, measure, _is_measured))
    pooled = {
        (measure, method): pooled_correlation(groups[measure], method, t.confidence)
        for measure in MEASURES
        for method in METHODS
    }
    all_groups = [group for group, _ in _groups(models, variants, PROXY, _is_measured)]
    with_flat = pooled_correlation(all_groups, PEARSON, t.confidence)
    count = sum(len(models.at(BASE, task, x)) for task in models.tasks() for x in variants)
    return Relations(pooled, groups, keys, between, with_flat, count, models.gaps(variants))


def _is_measured(row: ModelRow) -> bool:
    return row.error is None and row.test_accuracy is not None


def _is_curved(row: ModelRow) -> bool:
    return _is_measured(row) and row.flat is False


def _groups(
    models: Models, variants: list[str], measure: str, chosen: Callable[[ModelRow], bool]
) -> list[tuple[Group, tuple[str, ...]]]:
    groups = []
    for task in models.tasks():
        for variant in variants:
            rows = [row for row in models.at(BASE, task, variant).values() if chosen(row)]
            rows = [row for row in rows if getattr(row, measure) is not None]
            if rows:
                seeds = np.array([row.seed for row in rows])
                x = np.array([getattr(row, measure) for row in rows], dtype=float)
                y = np.array([row.test_accuracy for row in rows], dtype=float)
                names = tuple(row.key for row in rows)
                groups.append((Group(task, variant, seeds, x, y), names))
    return groups


def _over_all(groups: list[tuple[Group, tuple[str, ...]]]) -> float:
    """Pearson's r of all models at once; NaN where there is none."""
    from scipy import stats  # here: half a second to import, and no worker needs it

    if not groups:
        return np.nan
    x, y = (np.concatenate([getattr(group, name) for group, _ in groups]) for name in ("x", "y"))
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    return float(stats.pearsonr(x, y).statistic)


def too_few_groups(
    evidence: Relations, t: Thresholds, kinds: Mapping[str, Sequence[str]] = KINDS
) -> str:
    """Say that too few groups have a correlation; nothing where all ``kinds`` have enough."""
    counts = {
        kind: min(
            sum(x.r is not None and x.task in tasks for x in evidence.pooled[name, PEARSON].groups)
            for name in (PROXY, EXACT)
        )
        for kind, tasks in kinds.items()
    }
    if min(counts.values()) >= t.fewest_groups:
        return ""
    listing = listed(f"{count} on {kind} tasks" for kind, count in counts.items())
    return f"too few groups of task and variant: {listing}; {t.fewest_groups} are needed."


def go_together(evidence: Relations, t: Thresholds) -> str:
    """Decide within task and variant, for the paper's proxy and for exact curvature."""
    proxy, exact = evidence.pooled[PROXY, PEARSON], evidence.pooled[EXACT, PEARSON]
    if too_few_groups(evidence, t):
        return NOT_ENOUGH
    known = (np.isfinite(r.low) and r.seed_count >= t.fewest_seeds for r in (proxy, exact))
    if not all(known) or evidence.failed_share > t.most_failed:
        return NOT_ENOUGH
    if proxy.low > 0 and exact.low > 0 and proxy.high >= t.paper_r:
        return SUPPORTED
    return PARTLY if proxy.low > 0 or exact.low > 0 else NOT_SUPPORTED


# --- Text -----------------------------------------------------------------------------------------


def _wording(evidence: Relations, word: str, t: Thresholds) -> Wording:
    proxy, exact = evidence.pooled[PROXY, PEARSON], evidence.pooled[EXACT, PEARSON]
    few = too_few_groups(evidence, t)
    text = f"There are {few} " if few else ""
    text += "Within task and variant, test accuracy correlates with the paper's proxy at r ="
    text += f" {fixed(proxy.r)} {fixed_interval(proxy.low, proxy.high)} and with ∫|K| dA at r ="
    text += f" {fixed(exact.r)} {fixed_interval(exact.low, exact.high)}"
    text += f" ({counted(exact.group_count, 'group')}, {counted(exact.seed_count, 'seed')})."
    text += f" The paper reports {t.paper_r:g}."
    between = evidence.between[PROXY]
    if not np.isnan(between):
        text += f" Over all models at once the proxy's r is {fixed(between)}. This mostly restates"
        text += " how tasks and gates differ."
    text += "" if few else f" {_what_follows(proxy, exact)}"
    change = f"Intervals of both above zero, and the proxy's up to {t.paper_r:g}, would support it."
    if word == SUPPORTED:
        change = "An interval that reaches zero."
    return Wording(text, table(evidence), change)


def _what_follows(proxy: PooledCorrelation, exact: PooledCorrelation) -> str:
    """Say which correlations are known to be positive."""
    if np.isnan([proxy.low, exact.low]).any():
        return "Whether they agree cannot be told: one of them has no interval."
    known = proxy.low > 0, exact.low > 0
    if known == (True, True):
        return "The two measures agree: in these groups the proxy can stand for curvature."
    if known == (False, False):
        return "The two measures agree: neither is known to be positive."
    overlap = " The intervals overlap, so the two need not differ." * (
        proxy.low <= exact.high and exact.low <= proxy.high
    )
    if known[0]:
        return (
            "The two measures disagree: accuracy is known to go with the proxy, but not with"
            " curvature. The proxy also contains warping, bending and the scale of the"
            f" output.{overlap}"
        )
    return (
        "The two measures disagree: accuracy is known to go with curvature, but not with the"
        f" proxy. The proxy also contains warping, bending and the scale of the output.{overlap}"
    )


def table(evidence: Relations) -> TextTable:
    """All numbers: pooled, and of every group."""
    columns = ("measure", "within", "r (Pearson)", "95 % interval", "r (Spearman)",
               "95 % interval of Spearman's", "groups or models")  # fmt: skip
    rows = []
    for measure, title in MEASURES.items():
        a, b = evidence.pooled[measure, PEARSON], evidence.pooled[measure, SPEARMAN]
        rows.append((
            title, "all groups", fixed(a.r), fixed_interval(a.low, a.high), fixed(b.r),
            fixed_interval(b.low, b.high), counted(a.group_count, "group"),
        ))  # fmt: skip
    flat = evidence.with_flat
    rows.append((
        MEASURES[PROXY] + ", flat models included", "all groups", fixed(flat.r),
        fixed_interval(flat.low, flat.high), MISSING, MISSING, counted(flat.group_count, "group"),
    ))  # fmt: skip
    for measure in (PROXY, EXACT):
        of = (evidence.pooled[measure, method].groups for method in (PEARSON, SPEARMAN))
        for a, b in zip(*of, strict=True):
            r, rank_r = (MISSING if x.r is None else fixed(x.r) for x in (a, b))
            rows.append((
                MEASURES[measure], f"{a.task}, {a.variant}", r, MISSING, rank_r, MISSING,
                counted(a.count, "model"),
            ))  # fmt: skip
    return TextTable(columns, tuple(rows))


def _summary(evidence: Relations, _: Thresholds) -> str:
    parts = []
    for name, words in ((EXACT, "∫|K| dA"), (PROXY, "the proxy")):
        r = evidence.pooled[name, PEARSON]
        parts.append(f"{fixed(r.r)} {fixed_interval(r.low, r.high)} for {words}")
    return "r = " + ", ".join(parts)


C6 = Claim(
    name="C6",
    title="Curvature and accuracy go together",
    claim="Curvature and accuracy correlate; the paper reports r = {t.paper_r:g}, with a"
    " finite-difference proxy for local nonlinearity.",
    test="Pearson's r of test accuracy with the paper's proxy (our reading, in the limit of small"
    " steps) and with ∫|K| dA, within task × variant, pooled by Fisher's z; {t.confidence:.0%}"
    " intervals from leaving each seed out of all groups (jackknife), because groups share"
    " their seeds. Ungated and gated models; exactly flat ones are left out. Spearman's r and"
    " other measures stand beside.",
    verdict="Supported: both intervals lie above zero, and that of the proxy reaches {t.paper_r:g}."
    " Partly: at least one lies above zero. Not supported here: neither. Not enough data: one"
    " of them has no interval from at least {t.fewest_seeds} seeds, or fewer than"
    " {t.fewest_groups} groups are on linear or on nonlinear tasks.",
    failures="Failed models have no numbers; if more than {t.most_failed:.1%} failed, the verdict"
    " is “not enough data”." + NOT_DONE,
    needs=Needs(),
    evidence=relations,
    decide=go_together,
    wording=_wording,
    summary=_summary,
)
