"""Claim C6: curvature and accuracy go together. Decided by correlations within task and variant.

Exactly flat models are left out: they have no curvature that could go with anything, and with them
the answer would mostly say which are gated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.claims.claim import NOT_DONE, Claim, Needs, Thresholds, Word, Wording
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
PROXY, EXACT = "proxy", "total_curvature"  # by which the claim is decided
PEARSON = METHODS[0]


@dataclass(frozen=True, eq=False)
class Relations:
    """Correlations with test accuracy within task and variant, by measure and method.

    ``between`` is the proxy's r over all models at once, which mostly says which ones are gated.
    """

    pooled: dict[tuple[str, str], PooledCorrelation]
    between: float
    with_flat: PooledCorrelation  # of the proxy, by Pearson
    complete: PooledCorrelation  # of ∫|K| dA, by Pearson, of models whose total is complete
    failed_share: float  # of all models that should be there
    gaps: tuple[Gap, ...]

    @property
    def doubtful(self) -> tuple[int, int]:
        """How many of the models' totals are not complete, and how many there are."""
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
    return Relations(pooled, _over_all(every), with_flat, known, failed_share, gaps)


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


def _over_all(groups: Sequence[Group]) -> float:
    """Pearson's r of all models at once; NaN where there is none."""
    from scipy import stats  # here: half a second to import, and no worker needs it

    x, y = (np.concatenate([[], *(getattr(of, name) for of in groups)]) for name in ("x", "y"))
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


def go_together(evidence: Relations, t: Thresholds) -> Word:
    """Decide within task and variant, for the paper's proxy and for exact curvature."""
    proxy, exact = evidence.pooled[PROXY, PEARSON], evidence.pooled[EXACT, PEARSON]
    if too_few_groups(evidence, t):
        return Word.NOT_ENOUGH
    known = (np.isfinite(r.low) and r.seed_count >= t.fewest_seeds for r in (proxy, exact))
    if not all(known) or evidence.failed_share > t.most_failed:
        return Word.NOT_ENOUGH
    if proxy.low > 0 and exact.low > 0 and proxy.high >= t.paper_r:
        return Word.SUPPORTED
    return Word.PARTLY if proxy.low > 0 or exact.low > 0 else Word.NOT_SUPPORTED


# --- Text -----------------------------------------------------------------------------------------


def _wording(evidence: Relations, word: Word, t: Thresholds) -> Wording:
    proxy, exact = evidence.pooled[PROXY, PEARSON], evidence.pooled[EXACT, PEARSON]
    of_proxy, of_exact = r_text(proxy), r_text(exact)
    few = too_few_groups(evidence, t)
    text = f"There are {few} " if few else ""
    text += "Within task and variant, test accuracy correlates with the paper's proxy at r ="
    text += f" {of_proxy} and with ∫|K| dA at r = {of_exact}"
    text += f" ({counted(exact.group_count, 'group')}, {counted(exact.seed_count, 'seed')})."
    text += f" The paper reports {t.paper_r:g}."
    if not np.isnan(evidence.between):
        text += f" Over all models at once the proxy's r is {fixed(evidence.between)}. This mostly"
        text += " restates how tasks and gates differ."
    text += "" if few else f" {_what_follows(proxy, exact)}"
    text += excluded_text(evidence)
    change = f"Intervals of both above zero, and the proxy's up to {t.paper_r:g}, would support it."
    if word == Word.SUPPORTED:
        change = "An interval that reaches zero."
    summary = f"r = {of_exact} for ∫|K| dA, {of_proxy} for the proxy"
    return Wording(summary, text, table(evidence), change)


def excluded_text(evidence: Relations) -> str:
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
        text += f" these models r for ∫|K| dA is {r_text(evidence.complete)}"
        text += f" ({counted(evidence.complete.group_count, 'group')})."
    return text


def r_text(r: PooledCorrelation) -> str:
    """Return r with its interval."""
    return f"{fixed(r.r)} {fixed_interval(r.low, r.high)}"


def _what_follows(proxy: PooledCorrelation, exact: PooledCorrelation) -> str:
    """Say which correlations are known to be positive."""
    if np.isnan([proxy.low, exact.low]).any():
        return "Whether they agree cannot be told: one of them has no interval."
    known = proxy.low > 0, exact.low > 0
    if known == (True, True):
        return "The two measures agree: in these groups the proxy can stand for curvature."
    if known == (False, False):
        return "The two measures agree: neither is known to be positive."
    one, other = ("the proxy", "curvature") if known[0] else ("curvature", "the proxy")
    text = f"The two measures disagree: accuracy is known to go with {one}, but not with {other}."
    text += " The proxy also contains warping, bending and the scale of the output."
    if proxy.low <= exact.high and exact.low <= proxy.high:
        text += " The intervals overlap, so the two need not differ."
    return text


def table(evidence: Relations) -> TextTable:
    """All numbers: pooled, and of every group."""
    columns = ("measure", "within", "r (Pearson)", "95 % interval", "r (Spearman)",
               "95 % interval of Spearman's", "groups or models")  # fmt: skip
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
            rows.append((
                MEASURES[measure], f"{a.task}, {a.variant}", r, MISSING, rank_r, MISSING,
                counted(a.count, "model"),
            ))  # fmt: skip
    return TextTable(columns, tuple(rows))


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
    " is “not enough data”. A group is excluded if accuracy or measure no longer varies without one"
    " of its seeds: it has no jackknife error. Totals that are not complete count as they are."
    + NOT_DONE,
    needs=Needs(),
    evidence=relations,
    decide=go_together,
    wording=_wording,
)
