"""Tests, intervals and correlations over seeds: SciPy's, with the odd cases defined.

Shapes: S seeds, T tasks, G groups, M models of one group, one of each seed. A difference belongs to
one seed, whose two models share data and every weight that they have in common. Differences that
are all equal have standard deviation zero: their interval has no width, and a test of any other
mean is certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gating_core.checks import check_choice, check_number

# SciPy's `stats` is imported where it is used: that takes half a second, and no worker needs it.
QUADRATURE_POINTS = 128
EQUAL = 1e-12  # spread relative to the largest: what subtraction leaves of equal differences
METHODS = ("pearson", "spearman")
FEWEST_MODELS = 5  # of a group: Fisher's z has a weight of M - 3, without any one of them, too


@dataclass(frozen=True, eq=False)
class Paired:
    """Differences (S,) of ``seeds``, their mean with its Student interval, and a test of zero.

    ``low``, ``high``, ``deviation`` and the two-sided ``p`` are NaN for a single seed.
    """

    seeds: tuple[int, ...]
    differences: np.ndarray
    mean: float
    low: float = np.nan
    high: float = np.nan
    deviation: float = np.nan  # standard deviation, of S - 1 degrees of freedom
    p: float = np.nan

    @property
    def count(self) -> int:
        """S."""
        return len(self.seeds)

    @property
    def worst(self) -> tuple[int, float]:
        """The seed with the lowest difference, the first of equals, and that difference."""
        lowest = int(self.differences.argmin())
        return self.seeds[lowest], float(self.differences[lowest])


def paired(
    seeds: Sequence[int], differences: Sequence[float] | np.ndarray, confidence: float = 0.95
) -> Paired:
    """Return the mean of ``differences`` (S,), S > 0, one for each of ``seeds``; in their unit.

    Raises:
        ValueError: there are none, or not one for each seed, or one is not finite.

    References:
        Student (1908), as `scipy.stats.ttest_1samp`.
    """
    from scipy import stats

    values = np.asarray(differences, dtype=float)
    if values.ndim != 1 or not len(values) or len(values) != len(seeds):
        raise ValueError(
            f"differences has shape {values.shape} for {len(seeds)} seeds; there must be one for"
            " each seed, and one at least"
        )
    if not np.isfinite(values).all():
        raise ValueError("differences contains NaN or infinite values; all must be finite")
    check_number("confidence", confidence, 0.0, 1.0)
    known = tuple(seeds), values, float(values.mean())
    if len(values) == 1:
        return Paired(*known)
    if np.ptp(values) <= EQUAL * np.abs(values).max():
        return Paired(*known, known[-1], known[-1], 0.0, float(known[-1] == 0))
    test = stats.ttest_1samp(values, 0.0)
    ends = test.confidence_interval(confidence)
    numbers = ends.low, ends.high, values.std(ddof=1), test.pvalue
    return Paired(*known, *map(float, numbers))


@dataclass(frozen=True, eq=False)
class Equivalence:
    """Two one-sided tests: is the mean above -margin (``p_low``) and below margin (``p_high``)?

    ``interval`` is the Student interval that lies within the margin exactly when both are
    significant at ``level``: that of confidence 1 - 2 level. ``power`` is that of both tests
    together if the true difference is zero and the standard deviation the observed one. All NaN
    for a single seed.
    """

    paired: Paired
    margin: float
    level: float
    interval: tuple[float, float]
    p_low: float
    p_high: float
    power: float

    @property
    def p(self) -> float:
        """The larger of the two, which is the test's (Berger 1982)."""
        return float(np.maximum(self.p_low, self.p_high))

    @property
    def equivalent(self) -> bool:
        """True if the mean is known to lie within the margin."""
        return self.p <= self.level

    @property
    def no_advantage(self) -> bool:
        """True if the mean is known to lie below the upper margin, whatever the lower one."""
        return self.p_high <= self.level


def equivalence(
    seeds: Sequence[int],
    differences: Sequence[float] | np.ndarray,
    margin: float,
    level: float = 0.05,
) -> Equivalence:
    """Test whether the mean of ``differences`` (S,) is zero to within ``margin``, in their unit.

    References:
        Schuirmann (1987), J. Pharmacokinet. Biopharm. 15, 657.
    """
    from scipy import stats

    check_number("margin", margin, np.nextafter(0.0, 1.0), np.finfo(float).max)
    check_number("level", level, 0.0, 0.5)
    narrow = paired(seeds, differences, 1 - 2 * level)
    known = paired(seeds, differences, 1 - level), margin, level, (narrow.low, narrow.high)
    if narrow.count == 1:
        return Equivalence(*known, np.nan, np.nan, np.nan)
    if narrow.deviation == 0:
        return Equivalence(*known, float(narrow.mean <= -margin), float(narrow.mean >= margin), 1.0)
    p_low, p_high = (
        float(stats.ttest_1samp(narrow.differences, end, alternative=side).pvalue)
        for end, side in ((-margin, "greater"), (margin, "less"))
    )
    power = equivalence_power(narrow.deviation, narrow.count, margin, level)
    return Equivalence(*known, p_low, p_high, power)


def equivalence_power(deviation: float, count: int, margin: float, level: float = 0.05) -> float:
    """Return the power of both tests for ``count`` > 1 normal differences of mean zero.

    Given the sample's deviation s the mean must be nearer to zero than margin - t s / sqrt(count);
    that probability is averaged over s, whose square is chi-squared. Exact up to quadrature.

    References:
        Phillips (1990), J. Pharmacokinet. Biopharm. 18, 137.
    """
    from scipy import integrate, stats

    freedom, error = count - 1, deviation / np.sqrt(count)
    if error == 0:
        return 1.0
    quantile = stats.t.ppf(1 - level, freedom)
    widest = margin / (quantile * error)  # s / deviation, beyond which no mean is near enough

    def density(ratio: np.ndarray) -> np.ndarray:
        near = 2 * stats.norm.cdf(margin / error - quantile * ratio) - 1
        return near * stats.chi.pdf(ratio * np.sqrt(freedom), freedom)

    # The ratio is near one, within a few times 1 / sqrt(freedom): beyond eight there is nothing.
    reach = 8 / np.sqrt(freedom)
    start, end = max(0.0, 1 - reach), min(widest, 1 + reach)
    if end <= start:
        return 0.0
    area, _ = integrate.fixed_quad(density, start, end, n=QUADRATURE_POINTS)
    return float(area * np.sqrt(freedom))


def holm(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return p (T,) adjusted so that one false alarm among T tests is as rare as in one test.

    NaN for a test that was not made, which does not count. SciPy has no such function.

    References:
        Holm (1979), Scand. J. Statist. 6, 65.
    """
    values = np.asarray(p, dtype=float)
    adjusted = np.full(len(values), np.nan)
    made = np.flatnonzero(~np.isnan(values))
    order = made[values[made].argsort(kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * values[order]), 1.0)
    return adjusted


# --- Correlations within groups that share their seeds --------------------------------------------


@dataclass(frozen=True, eq=False)
class Group:
    """Models of one task and variant: ``seeds`` (M,), each once, and two quantities (M,).

    `pooled_correlation` gives ``alone``, the correlation of all models, and ``r``, the same where
    it has a jackknife error. ``alone`` is ``None`` where a quantity does not vary, or models are
    too few; ``r`` also where a quantity varies no more without one of the seeds.
    """

    task: str
    variant: str
    seeds: np.ndarray
    x: np.ndarray
    y: np.ndarray
    keys: tuple[str, ...] = ()  # of the models' rows
    r: float | None = None
    alone: float | None = None

    @property
    def count(self) -> int:
        """M."""
        return len(self.seeds)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return Fisher's interval, of this group alone; NaN without r, and where r is ±1."""
        from scipy import stats

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
    ``with_excluded`` is r with the groups that have no jackknife error.
    """

    groups: tuple[Group, ...]
    with_excluded: float = np.nan
    r: float = np.nan
    low: float = np.nan
    high: float = np.nan
    seed_count: int = 0

    @property
    def excluded(self) -> tuple[Group, ...]:
        """Groups that vary only because of one of their seeds."""
        return tuple(x for x in self.groups if x.r is None and x.alone is not None)

    @property
    def group_count(self) -> int:
        """The number of groups that have a correlation."""
        return sum(group.r is not None for group in self.groups)


def pooled_correlation(
    groups: Sequence[Group], method: str = "pearson", confidence: float = 0.95
) -> PooledCorrelation:
    """Average Fisher's z of every group with weights M - 3, and turn it back into r.

    All groups share their seeds, whose weights and data they have in common, so they are not
    independent, and 1 / sqrt(sum of M - 3) would be too small an error. Seeds are independent:
    each in turn is left out of all groups, and the average's jackknife error is used with Student's
    t of S - 1 degrees of freedom. A group must vary whichever seed is left out.

    References:
        Fisher (1921); Efron & Tibshirani, *An Introduction to the Bootstrap*, 11.5 (jackknife), 8.3
        (units that are left out are independent); Cameron & Miller (2015), J. Human Resources 50,
        317 (clusters, and t of one less than their number).
    """
    from scipy import stats

    check_choice("method", method, METHODS)
    left_out = [_left_out(group, method) for group in groups]
    results = tuple(
        replace(group, r=None if r is None else r[0], alone=_alone(group, method))
        for group, r in zip(groups, left_out, strict=True)
    )
    known = results, _without_interval(results)
    used = [(group, r) for group, r in zip(groups, left_out, strict=True) if r is not None]
    if not used:
        return PooledCorrelation(*known)
    seeds = np.unique(np.concatenate([group.seeds for group, _ in used]))
    places = [
        [0, *(1 + group.seeds.tolist().index(s) if s in group.seeds else 0 for s in seeds)]
        for group, _ in used
    ]  # of all models, and of those without each seed, which changes nothing if a group has none
    with np.errstate(divide="ignore"):  # z of a perfect correlation is infinite
        z = np.stack([np.arctanh(r)[at] for (_, r), at in zip(used, places, strict=True)])
    weights = np.stack(
        [group.count - 3 - np.concatenate([[0], np.isin(seeds, group.seeds)]) for group, _ in used]
    )
    if not np.isfinite(z).all():
        r = float(np.average([r[0] for _, r in used], weights=weights[:, 0]))
        return PooledCorrelation(*known, r, seed_count=len(seeds))
    whole, *others = (weights * z).sum(0) / weights.sum(0)
    count, without = len(others), np.array(others)
    reach = np.nan
    if count >= 3:
        error = np.sqrt((count - 1) / count * np.square(without - without.mean()).sum())
        reach = stats.t.ppf((1 + confidence) / 2, count - 1) * error
    r, low, high = (float(np.tanh(x)) for x in (whole, whole - reach, whole + reach))
    return PooledCorrelation(*known, r, low, high, count)


def _without_interval(groups: Sequence[Group]) -> float:
    """The pooled r of all groups that vary at all; NaN if there are none."""
    used = [(x.alone, x.count - 3) for x in groups if x.alone is not None]
    if not used:
        return np.nan
    r, weights = np.array(used).T
    with np.errstate(divide="ignore", invalid="ignore"):  # z of a perfect correlation is infinite
        return float(np.tanh(np.average(np.arctanh(r), weights=weights)))


def _alone(group: Group, method: str) -> float | None:
    """The r of all models; ``None`` where a quantity does not vary, or models are too few."""
    if group.count < FEWEST_MODELS or 0 in (np.ptp(group.x), np.ptp(group.y)):
        return None
    return float(_r(group.x, group.y, method))


def _left_out(group: Group, method: str) -> np.ndarray | None:
    """(1 + M,): r of all, and of all but each; ``None`` unless all of these exist."""
    if group.count < FEWEST_MODELS:
        return None
    others = np.array([np.delete(np.arange(group.count), left) for left in range(group.count)])
    x, y = group.x[others], group.y[others]
    if (np.ptp(x, axis=1) == 0).any() or (np.ptp(y, axis=1) == 0).any():
        return None
    return np.concatenate([[_r(group.x, group.y, method)], _r(x, y, method)])


def _r(x: np.ndarray, y: np.ndarray, method: str) -> np.ndarray:
    """(...,): along the last axis. Spearman's is Pearson's of the ranks, ties in the middle.

    For three points or more that vary, `scipy.stats.pearsonr` bit for bit, which also computes a
    p-value and takes a millisecond: a study asks for hundreds.
    """
    if method == "spearman":
        from scipy.stats import rankdata

        x, y = rankdata(x, axis=-1), rankdata(y, axis=-1)
    return np.clip(np.vecdot(_directions(x), _directions(y)), -1.0, 1.0)


def _directions(x: np.ndarray) -> np.ndarray:
    """(..., M): deviations from the mean, of length one; scaled, lest squares overflow."""
    x = x - x.mean(-1, keepdims=True)
    largest = np.abs(x).max(-1, keepdims=True)
    return x / (largest * np.linalg.vector_norm(x / largest, axis=-1, keepdims=True))
