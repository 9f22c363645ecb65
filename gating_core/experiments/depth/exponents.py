"""Growth of a quantity with depth: its exponent with an interval, and one of six courses.

The exponent of a seed is the slope of log quantity against log depth, by Theil and Sen: the median
of the slopes between all pairs of depths, which a few odd values do not move. That of a regime is
the median over its seeds, with a bootstrap interval over them: seeds are independent, where the
depths of one model are not. Shapes: S seeds, L depths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FEWEST_DEPTHS = 3  # fitted for a seed's slope
FEWEST_SEEDS = 0.5  # share of seeds with a slope: below it there is no exponent
CONFIDENCE = 0.95
RESAMPLES = 2000  # of the bootstrap
FITTABLE = 0.5  # error relative to the value: above it a point is not fitted
ENDED = 0.5  # late slope relative to the early one: below it growth has ended
LEVEL = 0.05  # absolute slopes below it count as none: 15 % over 16 layers

GROWS, SATURATES, SHRINKS, STEADY, ZERO, INCONCLUSIVE = COURSES = (
    "grows like a power",
    "saturates",
    "shrinks",
    "hardly changes",
    "stays zero",
    "inconclusive",
)


@dataclass(frozen=True)
class Middle:
    """A median over ``count`` seeds and its interval; all NaN where too few seeds are known."""

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    count: int = 0

    @property
    def known(self) -> bool:
        """True if there is an exponent."""
        return bool(np.isfinite(self.value))

    @property
    def is_zero(self) -> bool:
        """True if the interval holds zero: nothing is known to differ."""
        return not (self.low > 0 or self.high < 0)


def middle(values: np.ndarray) -> Middle:
    """Return the median of what is finite in ``values`` (S,), if that is half of them, and two.

    The interval is the percentile bootstrap's, from the same draws at every call. Source: Efron &
    Tibshirani, *An Introduction to the Bootstrap*, 13.3, as `scipy.stats.bootstrap`.
    """
    from scipy import stats  # here: half a second to import

    known = values[np.isfinite(values)]
    if len(known) < max(2, FEWEST_SEEDS * len(values)):
        return Middle(count=len(known))
    interval = stats.bootstrap(
        (known,),
        np.median,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return Middle(float(np.median(known)), float(interval.low), float(interval.high), len(known))


@dataclass(frozen=True, eq=False)
class Exponent:
    """Slopes over seeds: ``slopes`` (S,), NaN where a seed has too few depths to be fitted.

    ``over_seeds`` is their median. ``depths`` are the least and largest depth that any seed's line
    goes through; ``None`` where there is no median.
    """

    slopes: np.ndarray
    over_seeds: Middle
    depths: tuple[int, int] | None


def exponent(depths: np.ndarray, values: np.ndarray, fitted: np.ndarray) -> Exponent:
    """Fit the exponent of ``values`` (S, L) in ``depths`` (L,) to the points ``fitted`` (S, L).

    These must be positive. Source: Sen (1968), J. Am. Stat. Assoc. 63, 1379, as
    `scipy.stats.theilslopes`.
    """
    from scipy import stats  # here: half a second to import

    enough = fitted.sum(1) >= FEWEST_DEPTHS
    slopes = np.full(len(values), np.nan)
    for seed in np.flatnonzero(enough):
        here = fitted[seed]
        slopes[seed] = stats.theilslopes(np.log(values[seed, here]), np.log(depths[here])).slope
    over_seeds = middle(slopes)
    if not over_seeds.known:
        return Exponent(slopes, over_seeds, None)
    reached = depths[(fitted & enough[:, None]).any(0)]
    return Exponent(slopes, over_seeds, (int(reached[0]), int(reached[-1])))


@dataclass(frozen=True, eq=False)
class Course:
    """The course of a quantity along all depths: one of `COURSES`, and the slopes behind it.

    ``early`` is fitted up to the depth in the middle of the logarithmic axis, ``late`` from half of
    the greatest depth on; ``bend`` is late minus early, seed by seed.
    """

    word: str
    whole: Exponent
    early: Exponent
    late: Exponent
    bend: Middle


def course(depths: np.ndarray, values: np.ndarray, errors: np.ndarray, known: np.ndarray) -> Course:
    """Find the course of ``values`` (S, L), whose ``errors`` are bounds where they are ``known``.

    It *stays zero* where every value is known and within its error; it *hardly changes* where the
    interval of its slope lies within 0.05 of zero, and early and late slopes do; it *shrinks* where
    the interval of its slope lies below zero, it falls at the end too, and did not grow at first
    with certainty; it *saturates* where it grows at first, and its late slope is lower with
    certainty, below half of the early one, and not below zero with certainty; it *grows like a
    power* where the interval of its slope lies above zero, and it does neither saturate nor fall at
    the end. Anything else is *inconclusive*.
    """
    fitted = fittable(values, errors, known)
    centre = depths[np.abs(np.log(depths) - np.log(depths[[0, -1]]).mean()).argmin()]
    whole = exponent(depths, values, fitted)
    early = exponent(depths, values, fitted & (depths <= centre))
    late = exponent(depths, values, fitted & (2 * depths >= depths[-1]))
    bend = middle(late.slopes - early.slopes)
    zero = bool((known & (values <= errors)).all())
    return Course(_word(zero, whole, early, late, bend), whole, early, late, bend)


def fittable(values: np.ndarray, errors: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(S, L): True where a value is known to half of itself and not zero: it can be fitted."""
    with np.errstate(invalid="ignore"):
        return known & (values > 0) & (errors <= FITTABLE * values)


def _word(zero: bool, whole: Exponent, early: Exponent, late: Exponent, bend: Middle) -> str:
    if zero:
        return ZERO
    every, first, last = whole.over_seeds, early.over_seeds, late.over_seeds
    if not every.known:
        return INCONCLUSIVE
    level = max(abs(every.low), abs(every.high)) < LEVEL
    if level and all(abs(part.value) < LEVEL for part in (first, last) if part.known):
        return STEADY
    falls = not last.known or last.value < 0
    if every.high < 0 and falls and not first.low > 0:
        return SHRINKS
    if last.high < 0:
        return INCONCLUSIVE
    if first.low > 0 and last.value < ENDED * first.value and bend.high < 0:
        return SATURATES
    return GROWS if every.low > 0 else INCONCLUSIVE
