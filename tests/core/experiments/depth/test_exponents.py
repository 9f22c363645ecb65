"""Exponents agree with an independent implementation, and each course gets the right word."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gating_core.experiments.depth import GROWS, INCONCLUSIVE, SATURATES, SHRINKS, STEADY, ZERO
from gating_core.experiments.depth.curves import Middle, course, exponent, middle

DEPTHS = np.arange(1, 17)
SEEDS = 16
EVERYWHERE = np.ones((SEEDS, 16), dtype=bool)


def noise(seed: int, size: float) -> np.ndarray:
    return np.exp(size * np.random.default_rng(seed).standard_normal((SEEDS, 16)))


def test_slopes_are_medians_over_pairs_of_depths_and_seeds():
    values = DEPTHS**1.3 * noise(0, 0.4)
    fitted = np.random.default_rng(1).random((SEEDS, 16)) < 0.6
    found = exponent(DEPTHS, values, fitted)
    slopes = []
    for row, here in zip(values, fitted, strict=True):
        points = list(zip(np.log(DEPTHS[here]), np.log(row[here]), strict=True))
        slopes.append(
            np.median([(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.combinations(points, 2)])
        )
    assert np.allclose(found.slopes, slopes, rtol=1e-12, atol=0)
    assert found.over_seeds.value == pytest.approx(np.median(slopes))
    # The number of values below a median is binomial: its interval follows from two of them.
    low, high = np.sort(slopes)[[3, 12]]  # of 97.9 %
    assert low <= found.over_seeds.low < found.over_seeds.value < found.over_seeds.high <= high


def test_a_median_is_within_its_interval_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    draws = [middle(rng.standard_t(2, SEEDS)) for _ in range(60)]
    missed = sum(not one.low <= 0 <= one.high for one in draws)
    assert missed <= stats.binom.ppf(0.999, len(draws), 0.08)
    assert middle(np.ones(5)) == Middle(1.0, 1.0, 1.0, 5)
    assert not middle(np.array([1.0, np.nan, np.nan, np.nan])).known


@given(st.integers(0, 1000), st.floats(-9, 9))
def test_a_few_odd_seeds_move_no_exponent(seed, power):
    """Four seeds of sixteen that behave otherwise, as those of which the mean was made."""
    values = DEPTHS**1.3 * noise(seed, 0.2)
    odd = values.copy()
    odd[:4] *= 1e-6 * DEPTHS**power
    before, after = (exponent(DEPTHS, x, EVERYWHERE).over_seeds for x in (values, odd))
    assert abs(after.value - 1.3) < 0.3
    assert abs(after.value - before.value) < 0.2


@given(st.floats(-5, 5), st.floats(1e-8, 1e8), st.integers(0, 1000))
def test_a_power_has_its_exponent_whatever_the_unit_and_the_points(power, factor, seed):
    fitted = np.random.default_rng(seed).random((SEEDS, 16)) < 0.5
    found = exponent(DEPTHS, factor * DEPTHS**power * np.ones((SEEDS, 1)), fitted)
    enough = fitted.sum(1) >= 3
    assert np.allclose(found.slopes[enough], power, atol=1e-9)
    assert np.isnan(found.slopes[~enough]).all()
    if enough.sum() >= 8:
        assert found.over_seeds.count == enough.sum()
        assert found.over_seeds.high - found.over_seeds.low < 1e-9


def test_nothing_is_said_of_too_few_depths_or_seeds():
    values = DEPTHS**2.0 * np.ones((SEEDS, 1))
    two = EVERYWHERE & (DEPTHS < 3)
    found = exponent(DEPTHS, values, two)
    assert found.depths is None
    assert np.isnan([found.over_seeds.value, found.over_seeds.low, found.over_seeds.high]).all()
    few = EVERYWHERE.copy()
    few[7:] = False
    assert not exponent(DEPTHS, values, few).over_seeds.known
    few[7] = True
    assert exponent(DEPTHS, values, few).over_seeds == Middle(2.0, 2.0, 2.0, 8)
    assert not exponent(DEPTHS, values[:1], EVERYWHERE[:1]).over_seeds.known


SERIES = {
    "square": (DEPTHS**2.0, GROWS),
    "root": (DEPTHS**0.5, GROWS),
    "half a sphere": (2 * np.pi * DEPTHS / (2 + DEPTHS), SATURATES),
    "at once": (1 - 0.9 ** (DEPTHS * 3.0), SATURATES),
    "geometric": (0.5**DEPTHS, SHRINKS),
    "inverse": (1 / DEPTHS, SHRINKS),
    "constant": (np.ones(16), STEADY),
    "slow": (DEPTHS**0.1, GROWS),
    "up and down": (np.exp(-((np.log(DEPTHS) - np.log(4)) ** 2)), INCONCLUSIVE),
}


@pytest.mark.parametrize("name", SERIES)
def test_a_course_gets_its_word(name):
    series, word = SERIES[name]
    values = series * noise(3, 0.05)
    found = course(DEPTHS, values, 1e-6 * values, EVERYWHERE)
    assert found.word == word


def test_early_and_late_are_the_first_and_the_last_depths():
    """Up to the middle of the logarithmic axis, and from half of the greatest depth on."""
    values = DEPTHS**2.0 * noise(6, 0.1)
    for depths, early, late in ((DEPTHS, (1, 4), (8, 16)),
                                (np.array([1, 2, 3, 4, 6, 8]), (1, 3), (4, 8))):  # fmt: skip
        part = values[:, depths - 1]
        found = course(depths, part, 0 * part, np.ones_like(part, dtype=bool))
        assert (found.early.depths, found.late.depths) == (early, late)
        assert found.bend == middle(found.late.slopes - found.early.slopes)


def test_much_noise_is_inconclusive():
    found = course(DEPTHS, DEPTHS**0.1 * noise(5, 8.0), np.zeros((SEEDS, 16)), EVERYWHERE)
    assert found.word == INCONCLUSIVE


def test_zero_is_zero_only_where_it_is_known():
    zeros = np.zeros((SEEDS, 16))
    assert course(DEPTHS, zeros, zeros, EVERYWHERE).word == ZERO
    assert course(DEPTHS, zeros + 1e-30, zeros + 1e-29, EVERYWHERE).word == ZERO
    assert course(DEPTHS, zeros, zeros, ~EVERYWHERE).word == INCONCLUSIVE
    one = EVERYWHERE.copy()
    one[3, 5] = False
    assert course(DEPTHS, zeros, zeros, one).word == INCONCLUSIVE


def test_doubtful_values_are_not_fitted():
    """A value that is known to less than half of itself pulls no line."""
    values = DEPTHS**2.0 * np.ones((SEEDS, 1))
    values[:, 10:] = 1e-9
    errors = np.where(np.arange(16) >= 10, values, 0.0)
    assert course(DEPTHS, values, errors, EVERYWHERE).word == GROWS
    assert course(DEPTHS, values, 0 * errors, EVERYWHERE).word != GROWS
