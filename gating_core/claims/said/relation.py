"""How is claim C6 said? From correlations, and from where they disagree."""

from __future__ import annotations

import numpy as np

from gating_core.claims.correlations import PooledCorrelation
from gating_core.claims.relations import EXACT, MEASURES, PEARSON, PROXY, SPEARMAN, Relations
from gating_core.claims.said.said import Wording
from gating_core.claims.thresholds import SUPPORTED, Thresholds
from gating_core.claims.wording import (
    MISSING,
    Table,
    counted,
    fixed,
    fixed_interval,
)


def together(found: Relations, word: str, t: Thresholds) -> Wording:
    proxy, exact = found.pooled[PROXY, PEARSON], found.pooled[EXACT, PEARSON]
    said = "Within task and variant, r with test accuracy is"
    said += f" {fixed(proxy.r)} {fixed_interval(proxy.low, proxy.high)} for the paper's proxy and"
    said += f" {fixed(exact.r)} {fixed_interval(exact.low, exact.high)} for ∫|K| dA"
    said += f" ({counted(exact.group_count, 'group')}, {counted(exact.seed_count, 'seed')});"
    said += f" the paper reports {t.paper_r:g}."
    between = found.between[PROXY]
    if not np.isnan(between):
        said += f" Over all models at once the proxy's r is {fixed(between)}, which mostly restates"
        said += " how tasks and gates differ."
    said += " " + _what_follows(proxy, exact)
    change = f"Intervals of both above zero, and the proxy's up to {t.paper_r:g}, would support it."
    if word == SUPPORTED:
        change = "An interval that reaches zero."
    return Wording(said, _relation_table(found), change)


def _what_follows(proxy: PooledCorrelation, exact: PooledCorrelation) -> str:
    """Of which correlations are known to be positive."""
    if np.isnan([proxy.low, exact.low]).any():
        return "Whether they agree cannot be told: one of them has no interval."
    known = proxy.low > 0, exact.low > 0
    if known == (True, True):
        return "They agree: so far as these groups go, the proxy stands for curvature."
    if known == (False, False):
        return "They agree in that neither is known to be positive."
    overlap = " Their intervals overlap, so that the two need not differ." * (
        proxy.low <= exact.high and exact.low <= proxy.high
    )
    if known[0]:
        return (
            "They disagree: accuracy is known to go with the proxy, which also sees warping,"
            f" bending and the scale of the output, but not with curvature.{overlap}"
        )
    return (
        "They disagree: accuracy is known to go with curvature, but not with the proxy, in which"
        f" warping, bending and the scale of the output are mixed with it.{overlap}"
    )


def _relation_table(found: Relations) -> Table:
    columns = ("measure", "within", "r (Pearson)", "95 % interval", "r (Spearman)",
               "95 % interval of Spearman's", "groups or models")  # fmt: skip
    rows = []
    for measure, title in MEASURES.items():
        a, b = found.pooled[measure, PEARSON], found.pooled[measure, SPEARMAN]
        rows.append((
            title, "all groups", fixed(a.r), fixed_interval(a.low, a.high), fixed(b.r),
            fixed_interval(b.low, b.high), counted(a.group_count, "group"),
        ))  # fmt: skip
    flat = found.with_flat
    rows.append((
        MEASURES[PROXY] + ", flat models included", "all groups", fixed(flat.r),
        fixed_interval(flat.low, flat.high), MISSING, MISSING, counted(flat.group_count, "group"),
    ))  # fmt: skip
    for measure in (PROXY, EXACT):
        of = (found.pooled[measure, method].groups for method in (PEARSON, SPEARMAN))
        for a, b in zip(*of, strict=True):
            rows.append((
                MEASURES[measure], f"{a.task}, {a.variant}", _r(a.r), MISSING, _r(b.r), MISSING,
                counted(a.count, "model"),
            ))  # fmt: skip
    return Table(columns, tuple(rows))


def _r(value: float | None) -> str:
    return MISSING if value is None else fixed(value)
