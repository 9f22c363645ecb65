"""Do curvature and accuracy go together? What claim C6 is decided from.

Models are compared within a task and a variant. Exactly flat models are left out: they have no
curvature that could go with anything, and with them the answer would mostly say which are gated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gating_core.claims.correlations import METHODS, Group, PooledCorrelation, pooled_correlation
from gating_core.claims.models import BASE, GATED, UNGATED, Gap, Models
from gating_core.claims.rows import ModelRow
from gating_core.claims.thresholds import Thresholds

MEASURES = {  # the paper's first
    "proxy": "the paper's proxy",
    "normalised_proxy": "the proxy divided by the Jacobian's norm",
    "total_curvature": "total absolute curvature, ∫|K| dA",
    "positive_curvature": "positive curvature, ∫K dA where K > 0",
}
PROXY, EXACT = "proxy", "total_curvature"  # by which the claim is decided
PEARSON, SPEARMAN = METHODS
EVERYONE = "proxy, flat models included"
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
    flat_count: int
    incomplete_count: int  # models whose total is a lower estimate
    model_count: int
    gaps: tuple[Gap, ...]

    @property
    def failed_share(self) -> float:
        """Of all models that should be there."""
        failed = sum(bool(gap.reason) for gap in self.gaps)
        return failed / self.model_count if self.model_count else 0.0


def relations(models: Models, t: Thresholds) -> Relations:
    """Of the base: ungated and gated models, without the controls."""
    variants = [name for name in models.variants() if name in (UNGATED, *GATED)]
    groups, keys, between = {}, {}, {}
    for measure in MEASURES:
        found = _groups(models, variants, measure, _is_curved)
        groups[measure] = tuple(group for group, _ in found)
        keys[measure] = tuple(names for _, names in found)
        everyone = [group for group, _ in _groups(models, variants, measure, _is_measured)]
        between[measure] = _over_all(everyone)
    pooled = {
        (measure, method): pooled_correlation(groups[measure], method, t.confidence)
        for measure in MEASURES
        for method in METHODS
    }
    all_groups = [group for group, _ in _groups(models, variants, PROXY, _is_measured)]
    rows = [row for name in variants for row in _rows(models, name)]
    return Relations(
        pooled,
        groups,
        keys,
        between,
        pooled_correlation(all_groups, PEARSON, t.confidence),
        sum(bool(row.flat) for row in rows),
        sum(row.total_complete is False for row in rows),
        len(rows),
        models.gaps(models.tasks(), variants),
    )


def _rows(models: Models, variant: str) -> list[ModelRow]:
    return [row for task in models.tasks() for row in models.at(BASE, task, variant).values()]


def _is_measured(row: ModelRow) -> bool:
    return row.error is None and row.test_accuracy is not None


def _is_curved(row: ModelRow) -> bool:
    return _is_measured(row) and row.flat is False


def _groups(
    models: Models, variants: list[str], measure: str, chosen: Callable[[ModelRow], bool]
) -> list[tuple[Group, tuple[str, ...]]]:
    found = []
    for task in models.tasks():
        for variant in variants:
            rows = [row for row in models.at(BASE, task, variant).values() if chosen(row)]
            rows = [row for row in rows if getattr(row, measure) is not None]
            if rows:
                seeds = np.array([row.seed for row in rows])
                x = np.array([getattr(row, measure) for row in rows], dtype=float)
                y = np.array([row.test_accuracy for row in rows], dtype=float)
                names = tuple(row.key for row in rows)
                found.append((Group(task, variant, seeds, x, y), names))
    return found


def _over_all(groups: list[Group]) -> float:
    """Pearson's r of all models at once; NaN where there is none."""
    from scipy import stats  # here: half a second to import, and no worker needs it

    if not groups:
        return np.nan
    x, y = (np.concatenate([getattr(group, name) for group in groups]) for name in ("x", "y"))
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    return float(stats.pearsonr(x, y).statistic)
