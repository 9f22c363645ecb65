"""Correlations within groups of models, when the groups share their seeds.

A group is one task with one variant. Pooling models of different groups would mostly show how the
groups differ. Shapes: G groups, S seeds, M models of one group, one of each seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gating_core.checks import check_choice

METHODS = ("pearson", "spearman")
FEWEST_MODELS = 5  # of a group: Fisher's z has a weight of M - 3, without any one of them, too


@dataclass(frozen=True, eq=False)
class Group:
    """Models of one task and variant: ``seeds`` (M,), each once, and two quantities (M,).

    ``keys`` are those of the models' rows, where they have any. ``r`` is given by
    `pooled_correlation`: ``None`` where a quantity does not vary, or models are too few. ``alone``
    is the correlation of all models, also where it has no jackknife error, because a quantity
    varies no more without one seed; the group is excluded then.
    """

    task: str
    variant: str
    seeds: np.ndarray
    x: np.ndarray
    y: np.ndarray
    keys: tuple[str, ...] = ()
    r: float | None = None
    alone: float | None = None

    @property
    def count(self) -> int:
        """M."""
        return len(self.seeds)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Fisher's interval, of this group alone; NaN without r, and where r is ±1."""
        from scipy import stats  # here: half a second to import, and no worker needs it

        if self.r is None or abs(self.r) >= 1:
            return np.nan, np.nan
        reach = stats.norm.ppf((1 + confidence) / 2) / np.sqrt(self.count - 3)
        z = np.arctanh(self.r)
        return float(np.tanh(z - reach)), float(np.tanh(z + reach))


@dataclass(frozen=True, eq=False)
class PooledCorrelation:
    """The correlation within groups, and its interval over seeds.

    ``r``, ``low`` and ``high`` are NaN where no group has a correlation; the last two also where
    one is perfect, of which Fisher's z is infinite, or where there are fewer than three seeds.
    ``with_excluded`` is r with the groups that are ``excluded`` only because their correlation has
    no jackknife error.
    """

    r: float
    low: float
    high: float
    seed_count: int
    groups: tuple[Group, ...]
    with_excluded: float = np.nan

    @property
    def excluded(self) -> tuple[Group, ...]:
        """Groups that vary only because of one of their seeds."""
        return tuple(one for one in self.groups if one.r is None and one.alone is not None)

    @property
    def group_count(self) -> int:
        """The number of groups that have a correlation."""
        return sum(group.r is not None for group in self.groups)


def pooled_correlation(
    groups: Sequence[Group], method: str = "pearson", confidence: float = 0.95
) -> PooledCorrelation:
    """Fisher's z of every group, averaged with weights M - 3, and turned back into r.

    All groups share their seeds, whose weights and data they have in common, so they are not
    independent, and 1 / sqrt(sum of M - 3) would be too small an error. Seeds are independent:
    each in turn is left out of all groups, and the average's jackknife error is used with Student's
    t of S - 1 degrees of freedom. A group must vary whichever seed is left out. Sources: Fisher
    (1921); Efron & Tibshirani, *An Introduction to the Bootstrap*, 11.5 (jackknife), 8.3 (what is
    left out or drawn are independent units); Cameron & Miller (2015), J. Human Resources 50, 317
    (clusters, and t of one less than their number).
    """
    check_choice("method", method, METHODS)
    every = [_left_out(group, method) for group in groups]
    results = tuple(
        replace(group, r=None if r is None else r[0], alone=_alone(group, method))
        for group, r in zip(groups, every, strict=True)
    )
    used = [(group, r) for group, r in zip(groups, every, strict=True) if r is not None]
    if not used:
        return PooledCorrelation(np.nan, np.nan, np.nan, 0, results, _pooled(results))
    seeds = np.unique(np.concatenate([group.seeds for group, _ in used]))
    with np.errstate(divide="ignore"):  # z of a perfect correlation is infinite
        z = np.stack([_by_seed(group, np.arctanh(r), seeds) for group, r in used])
    weights = np.stack(
        [group.count - 3 - np.concatenate([[0], np.isin(seeds, group.seeds)]) for group, _ in used]
    )
    if not np.isfinite(z).all():
        r = float(np.average([r[0] for _, r in used], weights=weights[:, 0]))
        return PooledCorrelation(r, np.nan, np.nan, len(seeds), results, _pooled(results))
    whole, *without = (weights * z).sum(0) / weights.sum(0)
    low, high = _interval(float(whole), np.array(without), confidence)
    r = float(np.tanh(whole))
    return PooledCorrelation(r, low, high, len(seeds), results, _pooled(results))


def _pooled(groups: Sequence[Group]) -> float:
    """The pooled r of all groups that vary at all, without an interval; NaN if there are none."""
    used = [(one.alone, one.count - 3) for one in groups if one.alone is not None]
    if not used:
        return np.nan
    r, weights = np.array(used).T
    with np.errstate(divide="ignore", invalid="ignore"):  # z of a perfect correlation is infinite
        return float(np.tanh(np.average(np.arctanh(r), weights=weights)))


def _alone(group: Group, method: str) -> float | None:
    """Return r of all models; ``None`` where a quantity does not vary, or models are too few."""
    if group.count < FEWEST_MODELS or 0 in (np.ptp(group.x), np.ptp(group.y)):
        return None
    return float(_r(group.x, group.y, method))


def _left_out(group: Group, method: str) -> np.ndarray | None:
    """(1 + M,): r of all, and of all but each; ``None`` unless all of these exist."""
    count = group.count
    if count < FEWEST_MODELS:
        return None
    others = np.array([np.delete(np.arange(count), one) for one in range(count)])
    if (np.ptp(group.x[others], axis=1) == 0).any() or (np.ptp(group.y[others], axis=1) == 0).any():
        return None
    whole, without = _r(group.x, group.y, method), _r(group.x[others], group.y[others], method)
    return np.concatenate([[whole], without])


def _r(x: np.ndarray, y: np.ndarray, method: str) -> np.ndarray:
    """(...,): along the last axis. Spearman's is Pearson's of the ranks, ties in the middle.

    For three points or more that vary, `scipy.stats.pearsonr` bit for bit, which also computes a
    p-value and takes a millisecond: a study asks for hundreds.
    """
    if method == "spearman":
        from scipy.stats import rankdata  # here: half a second to import, and no worker needs it

        x, y = rankdata(x, axis=-1), rankdata(y, axis=-1)
    return np.clip(np.vecdot(_directions(x), _directions(y)), -1.0, 1.0)


def _directions(x: np.ndarray) -> np.ndarray:
    """(..., M): deviations from the mean, of length one; scaled, lest squares overflow."""
    x = x - x.mean(-1, keepdims=True)
    largest = np.abs(x).max(-1, keepdims=True)
    return x / (largest * np.linalg.vector_norm(x / largest, axis=-1, keepdims=True))


def _by_seed(group: Group, z: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """(1 + S,): z of all, and without each of ``seeds``, which changes nothing if it has none."""
    member = {int(seed): number for number, seed in enumerate(group.seeds, 1)}
    without = [z[member.get(int(s), 0)] for s in seeds]
    return np.array([z[0], *without])


def _interval(whole: float, without: np.ndarray, confidence: float) -> tuple[float, float]:
    from scipy import stats  # here: half a second to import, and no worker needs it

    count = len(without)
    if count < 3:
        return np.nan, np.nan
    error = np.sqrt((count - 1) / count * np.square(without - without.mean()).sum())
    reach = stats.t.ppf((1 + confidence) / 2, count - 1) * error
    return float(np.tanh(whole - reach)), float(np.tanh(whole + reach))
