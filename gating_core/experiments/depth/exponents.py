"""Growth of a quantity with depth: its exponent with an interval, and one of six courses.

The exponent is the slope of log quantity against log depth, by least squares for each seed; its
interval is Student's over the seeds, which are independent where the depths of one model are not.
Shapes: S seeds, L depths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gating_core.training.trained import MeanInterval, mean_interval

FEWEST_DEPTHS = 3  # fitted for a seed's slope
FEWEST_SEEDS = 0.5  # share of seeds with a slope: below it there is no exponent
SETTLED = 0.5  # error relative to the value: above it a point is not fitted
ENDED = 0.5  # late slope relative to the early one: below it growth has ended
LEVEL = 0.05  # absolute slopes below it count as none: 15 % over 16 layers

GROWS, SATURATES, SHRINKS, STEADY, ZERO, UNDECIDED = COURSES = (
    "grows like a power", "saturates", "shrinks", "hardly changes", "stays zero", "undecided",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Exponent:
    """Slopes over seeds: ``slopes`` (S,), NaN where a seed has too few depths to be fitted.

    ``interval`` is ``None`` where fewer than half of the seeds have one. ``depths`` are the
    least and largest depth that any seed's line goes through; ``None`` without a line.
    """

    slopes: np.ndarray
    interval: MeanInterval | None
    depths: tuple[int, int] | None

    @property
    def low(self) -> float:
        """The lower end of the interval; NaN without one."""
        return np.nan if self.interval is None else self.interval.mean - self.interval.half_width

    @property
    def high(self) -> float:
        """The upper end of the interval; NaN without one."""
        return np.nan if self.interval is None else self.interval.mean + self.interval.half_width


def exponent(depths: np.ndarray, values: np.ndarray, fitted: np.ndarray) -> Exponent:
    """Fit the exponent of ``values`` (S, L) in ``depths`` (L,) to the points ``fitted`` (S, L).

    These must be positive. Source: Draper & Smith, *Applied Regression Analysis*, 3rd ed., 1.2.
    """
    enough = fitted.sum(1) >= FEWEST_DEPTHS
    fitted = fitted & enough[:, None]
    slopes = _slopes(depths, values, fitted)
    known = slopes[enough]
    if len(known) < max(2, FEWEST_SEEDS * len(values)):
        return Exponent(slopes, None, None)
    reached = depths[fitted.any(0)]
    return Exponent(slopes, mean_interval(known), (int(reached[0]), int(reached[-1])))


def _slopes(depths: np.ndarray, values: np.ndarray, fitted: np.ndarray) -> np.ndarray:
    """(S,): least-squares slopes of the logarithms; NaN for a seed without points."""
    logs = np.log(np.where(fitted, values, 1.0))
    count = fitted.sum(1, keepdims=True)
    with np.errstate(invalid="ignore"):  # 0 / 0
        x = np.where(fitted, np.log(depths) - (fitted * np.log(depths)).sum(1, keepdims=True)
                     / count, 0.0)  # fmt: skip
        return (x * logs).sum(1) / np.square(x).sum(1)


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
    bend: MeanInterval | None


def course(depths: np.ndarray, values: np.ndarray, errors: np.ndarray, known: np.ndarray) -> Course:
    """Find the course of ``values`` (S, L), whose ``errors`` are bounds where they are ``known``.

    It *stays zero* where every value is known and within its error; it *hardly changes* where the
    interval of its slope lies within 0.05 of zero, and early and late slopes do; it *shrinks* where
    the interval of its slope lies below zero, it falls at the end too, and did not grow at first
    with certainty; it *saturates* where it grows at first, and its late slope is lower with
    certainty, below half of the early one, and not below zero with certainty; it *grows like a
    power* where the interval of its slope lies above zero, and it does neither saturate nor fall at
    the end. Anything else is *undecided*.
    """
    fitted = settled(values, errors, known)
    middle = depths[np.abs(np.log(depths) - np.log(depths[[0, -1]]).mean()).argmin()]
    whole = exponent(depths, values, fitted)
    early = exponent(depths, values, fitted & (depths <= middle))
    late = exponent(depths, values, fitted & (2 * depths >= depths[-1]))
    change = late.slopes - early.slopes
    change = change[np.isfinite(change)]
    enough = len(change) >= max(2, FEWEST_SEEDS * len(values))
    bend = mean_interval(change) if enough else None
    zero = bool((known & (values <= errors)).all())
    return Course(_word(zero, whole, early, late, bend), whole, early, late, bend)


def settled(values: np.ndarray, errors: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(S, L): whether a value is known to half of itself, and is not zero: it can be fitted."""
    with np.errstate(invalid="ignore"):
        return known & (values > 0) & (errors <= SETTLED * values)


def _word(
    zero: bool, whole: Exponent, early: Exponent, late: Exponent, bend: MeanInterval | None
) -> str:
    if zero:
        return ZERO
    if whole.interval is None:
        return UNDECIDED
    parts = [part.interval for part in (early, late) if part.interval is not None]
    level = max(abs(whole.low), abs(whole.high)) < LEVEL
    if level and all(abs(part.mean) < LEVEL for part in parts):
        return STEADY
    falls = late.interval is None or late.interval.mean < 0
    if whole.high < 0 and falls and not early.low > 0:
        return SHRINKS
    if late.high < 0:
        return UNDECIDED
    if early.low > 0 and late.interval is not None and early.interval is not None and bend:
        ended = late.interval.mean < ENDED * early.interval.mean
        if ended and bend.mean + bend.half_width < 0:
            return SATURATES
    return GROWS if whole.low > 0 else UNDECIDED
