"""Calibration against scikit-learn, cases counted by hand, and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.lm.measurements.calibration import (
    bootstrap_reliability,
    classwise_error,
    equal_mass_bins,
    reliability,
)


def draw(seed, count, sharpness=1.0):
    numbers = np.random.default_rng(seed)
    confidences = numbers.uniform(0.05, 0.95, count)
    return confidences, numbers.uniform(size=count) < confidences**sharpness


@given(st.integers(0, 2**32 - 1), st.integers(1, 300))
def test_bins_are_those_of_scikit_learn(seed, count):
    from sklearn.calibration import calibration_curve  # here: slow to import

    confidences, came = draw(seed, count)
    frequency, confidence = calibration_curve(came, confidences, n_bins=15, strategy="quantile")
    found = reliability(confidences, came)
    np.testing.assert_allclose(found.frequency, frequency)
    np.testing.assert_allclose(found.confidence, confidence)
    assert found.counts.sum() == count
    assert 0 <= found.error <= 1


def test_the_error_is_counted_by_hand():
    confidences = np.array([0.2, 0.4, 0.6, 0.8])
    came = np.array([False, False, True, False])
    found = reliability(confidences, came, 2)
    assert found.confidence.tolist() == pytest.approx([0.3, 0.7])
    assert found.frequency.tolist() == [0.0, 0.5]
    assert found.error == pytest.approx((2 * 0.3 + 2 * 0.2) / 4)
    assert equal_mass_bins(confidences, 2).tolist() == [0, 0, 1, 1]


def test_honest_predictions_are_calibrated_and_overconfident_ones_are_not():
    honest, sharp = (reliability(*draw(1, 40_000, power)).error for power in (1.0, 2.0))
    assert honest < 0.01
    # The mean of p - p², which is uniform on (.05, .95): 1/2 - (.95³ - .05³) / 2.7.
    assert sharp == pytest.approx(0.5 - (0.95**3 - 0.05**3) / 2.7, abs=0.01)


def test_the_classwise_error_is_the_mean_over_classes():
    probabilities = np.array([[0.7, 0.3, 0.0], [0.4, 0.6, 0.0], [0.9, 0.1, 0.0]])
    labels = np.array([0, 1, 1])
    each = [reliability(probabilities[:, k], labels == k, 2).error for k in range(3)]
    assert classwise_error(probabilities, labels, 2) == pytest.approx(np.mean(each))
    assert each[2] == 0


def test_a_bootstrap_draws_whole_verses():
    confidences, came = draw(2, 600)
    groups = np.repeat(np.arange(30), 20)
    found = bootstrap_reliability(confidences, came, groups, 400)
    np.testing.assert_allclose(found.whole.frequency, reliability(confidences, came).frequency)
    assert found.errors.shape == (400,)
    middle = np.nanmean(found.frequencies, 0)
    np.testing.assert_allclose(middle, found.whole.frequency, atol=0.03)
    # One verse only: every resample is the whole.
    one = bootstrap_reliability(confidences, came, np.zeros(600, int), 5)
    np.testing.assert_allclose(one.errors, one.whole.error)
    np.testing.assert_allclose(one.frequencies, one.whole.frequency[None].repeat(5, 0))
    # Each verse all right or all wrong: resamples spread as 30 verses do, not as 600 predictions.
    verse = np.repeat(np.random.default_rng(0).uniform(size=30) < 0.5, 20)
    spread = bootstrap_reliability(np.full(600, 0.5), verse, groups, 2000).frequencies.std()
    assert spread == pytest.approx((verse.mean() * (1 - verse.mean()) / 30) ** 0.5, rel=0.1)
    again = bootstrap_reliability(confidences, came, groups, 400)
    np.testing.assert_array_equal(again.errors, found.errors)


@pytest.mark.parametrize("sizes", [(0, 0, 0), (2, 3, 2), (2, 2, 3)])
def test_predictions_that_do_not_fit_are_refused(sizes):
    confidences, came, groups = (np.zeros(size, int) for size in sizes)
    with pytest.raises(ValueError, match="there must be equally many, and at least one"):
        bootstrap_reliability(confidences, came, groups)
