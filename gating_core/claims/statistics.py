"""Tests and intervals of differences over seeds: SciPy's, with the odd cases defined.

Shapes: S seeds, T tasks. A difference belongs to one seed, whose two models share data and every
weight that they have in common. Differences that are all equal have standard deviation zero: their
interval has no width, and a test of any other mean is certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.checks import check_number

QUADRATURE_POINTS = 128
EQUAL = 1e-12  # spread relative to the largest: what subtraction leaves of equal differences


@dataclass(frozen=True, eq=False)
class Paired:
    """Differences (S,) of ``seeds``, their mean with its Student interval, and a test of zero.

    ``low``, ``high``, ``deviation`` and the two-sided ``p`` are NaN for a single seed.
    """

    seeds: tuple[int, ...]
    differences: np.ndarray
    mean: float
    low: float
    high: float
    deviation: float  # standard deviation, of S - 1 degrees of freedom
    p: float

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
    """The mean of ``differences`` (S,), S > 0, one for each of ``seeds``; in their unit.

    ``ValueError`` if there are none, or not one for each seed, or if one is not finite.
    Source: Student (1908), as `scipy.stats.ttest_1samp`.
    """
    from scipy import stats  # here: half a second to import, and no worker needs it

    values = np.asarray(differences, dtype=float)
    if values.ndim != 1 or not len(values) or len(values) != len(seeds):
        raise ValueError(
            f"differences has shape {values.shape} for {len(seeds)} seeds; there must be one for"
            " each seed, and one at least"
        )
    if not np.isfinite(values).all():
        raise ValueError("differences contains NaN or infinite values; all must be finite")
    check_number("confidence", confidence, 0.0, 1.0)
    mean = float(values.mean())
    if len(values) == 1:
        return Paired(tuple(seeds), values, mean, np.nan, np.nan, np.nan, np.nan)
    if np.ptp(values) <= EQUAL * np.abs(values).max():
        return Paired(tuple(seeds), values, mean, mean, mean, 0.0, float(mean == 0))
    test = stats.ttest_1samp(values, 0.0)
    ends = test.confidence_interval(confidence)
    low, high, p = float(ends.low), float(ends.high), float(test.pvalue)
    return Paired(tuple(seeds), values, mean, low, high, float(values.std(ddof=1)), p)


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

    Source: Schuirmann (1987), J. Pharmacokinet. Biopharm. 15, 657.
    """
    from scipy import stats  # here: half a second to import, and no worker needs it

    check_number("margin", margin, np.nextafter(0.0, 1.0), np.finfo(float).max)
    check_number("level", level, 0.0, 0.5)
    narrow = paired(seeds, differences, 1 - 2 * level)
    interval, values = (narrow.low, narrow.high), narrow.differences
    both = paired(seeds, differences, 1 - level)
    if narrow.count == 1:
        return Equivalence(both, margin, level, interval, np.nan, np.nan, np.nan)
    if narrow.deviation == 0:
        outside = float(narrow.mean <= -margin), float(narrow.mean >= margin)
        return Equivalence(both, margin, level, interval, *outside, 1.0)
    p_low = float(stats.ttest_1samp(values, -margin, alternative="greater").pvalue)
    p_high = float(stats.ttest_1samp(values, margin, alternative="less").pvalue)
    power = equivalence_power(narrow.deviation, narrow.count, margin, level)
    return Equivalence(both, margin, level, interval, p_low, p_high, power)


def equivalence_power(deviation: float, count: int, margin: float, level: float = 0.05) -> float:
    """Return the power of both tests for ``count`` > 1 normal differences of mean zero.

    Given the sample's deviation s the mean must be nearer to zero than margin - t s / sqrt(count);
    that probability is averaged over s, whose square is chi-squared. Exact up to quadrature.
    Source: Phillips (1990), J. Pharmacokinet. Biopharm. 18, 137.
    """
    from scipy import integrate, stats  # here: half a second to import, and no worker needs it

    freedom, error = count - 1, deviation / np.sqrt(count)
    if error == 0:
        return 1.0
    quantile = stats.t.ppf(1 - level, freedom)
    widest = margin / (quantile * error)  # s / deviation, beyond which no mean is near enough

    def share(ratio: np.ndarray) -> np.ndarray:
        near = 2 * stats.norm.cdf(margin / error - quantile * ratio) - 1
        return near * stats.chi.pdf(ratio * np.sqrt(freedom), freedom)

    # The ratio is near one, within a few times 1 / sqrt(freedom): beyond eight there is nothing.
    reach = 8 / np.sqrt(freedom)
    start, end = max(0.0, 1 - reach), min(widest, 1 + reach)
    if end <= start:
        return 0.0
    return float(integrate.fixed_quad(share, start, end, n=QUADRATURE_POINTS)[0] * np.sqrt(freedom))


def seeds_for_power(
    deviation: float, margin: float, level: float, power: float, most: int = 1024
) -> int | None:
    """The fewest seeds with which the equivalence tests have ``power``; ``None`` above ``most``."""
    low, high = 2, most
    if equivalence_power(deviation, most, margin, level) < power:
        return None
    while low < high:
        middle = (low + high) // 2
        enough = equivalence_power(deviation, middle, margin, level) >= power
        low, high = (low, middle) if enough else (middle + 1, high)
    return low


def holm(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """(T,): p adjusted so that one false alarm among all T tests is as rare as in one test.

    NaN for a test that was not made, which does not count. SciPy has no such function.
    Source: Holm (1979), Scand. J. Statist. 6, 65.
    """
    values = np.asarray(p, dtype=float)
    adjusted = np.full(len(values), np.nan)
    made = np.flatnonzero(~np.isnan(values))
    order = made[values[made].argsort(kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * values[order]), 1.0)
    return adjusted
