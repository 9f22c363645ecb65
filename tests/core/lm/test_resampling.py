"""Bootstrap over texts against a loop, and paired differences in cases known by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from gating_core.lm.resampling import (
    ends,
    family_p,
    loss_difference,
    paired_difference,
    resampled_means,
    text_draws,
    widened,
)
from gating_core.training import mean_interval


def test_resampled_means_are_those_of_texts_drawn_again():
    draw = np.random.default_rng(1)
    sums, counts = draw.random((6, 2)), draw.integers(1, 9, 6)
    draws = text_draws(6, 20)
    assert (draws.sum(1) == 6).all()
    assert (draws == text_draws(6, 20)).all()  # the same for every model
    found = resampled_means(sums, counts, draws)
    for row, times in zip(found, draws, strict=True):
        texts = np.repeat(np.arange(6), times)
        np.testing.assert_allclose(row, sums[texts].sum(0) / counts[texts].sum())


def test_the_spread_of_resamples_is_that_of_a_mean():
    values = np.random.default_rng(2).normal(size=400)
    low, high = ends(resampled_means(values, np.ones(400), text_draws(400)))
    assert (high - low) / 2 == pytest.approx(1.96 / 20, rel=0.15)
    assert low < values.mean() < high
    low, high = ends(np.array([[np.nan, 1.0], [2.0, 1.0], [2.0, 1.0]]))
    assert list(low) == list(high) == [2.0, 1.0]


def test_seeds_and_texts_add_up_by_squares():
    draw = np.random.default_rng(3)
    values, others = draw.random(3), draw.random(3)
    same = np.zeros((3, 50))
    of = paired_difference(values, others, same, same)
    assert of.mean == pytest.approx((values - others).mean())
    assert of.half_width == pytest.approx(mean_interval(values - others).half_width)
    wobble = draw.normal(size=50)
    # What both models of every seed have in common is no doubt of the difference.
    of = paired_difference(values, others, same + wobble, same + wobble)
    assert of.half_width == pytest.approx(mean_interval(values - others).half_width)
    low, high = ends(wobble)
    of = paired_difference(values + 1, values, same + wobble, same)
    assert (of.low, of.high) == pytest.approx((1 - (high - low) / 2, 1 + (high - low) / 2))
    of = paired_difference(values, others, same + wobble, same)
    seeds = mean_interval(values - others).half_width
    assert of.half_width == pytest.approx(np.sqrt(seeds**2 + ((high - low) / 2) ** 2))
    one = paired_difference(values[:1], others[:1], (same + wobble)[:1], same[:1])
    assert one.half_width == pytest.approx((high - low) / 2)


def test_p_is_that_of_a_t_test_and_fits_the_interval_and_a_family_is_adjusted():
    draw = np.random.default_rng(5)
    same = np.zeros((3, 50))
    found = [paired_difference(draw.normal(0.3, 0.2, 3), np.zeros(3), same, same) for _ in range(9)]
    for of in found:
        assert of.p == pytest.approx(stats.ttest_1samp(of.by_seed, 0).pvalue)
        assert (of.p < 0.05) == (not of.low <= 0 <= of.high)
    assert {of.p < 0.05 for of in found} == {True, False}
    ascending = np.sort([of.p for of in found])
    adjusted = np.sort(family_p(found))
    assert adjusted[0] == pytest.approx(9 * ascending[0])
    assert (adjusted >= ascending).all()
    seen = []
    for times in (1, 0.3, 0.1):  # none, some and most are significant
        some = [replace(of, half_width=times * of.half_width) for of in found]
        clear = [not of.low <= 0 <= of.high for of in widened(some)]
        assert clear == [*(family_p(some) < 0.05)]
        for wide, of in zip(widened(some), some, strict=True):  # Bonferroni's is widest
            factor = stats.t.ppf(1 - 0.025 / 9, 2) / stats.t.ppf(0.975, 2)
            assert of.half_width <= wide.half_width * (1 + 1e-9)
            assert wide.half_width <= factor * of.half_width * (1 + 1e-9)
        seen.append(sum(clear))
    assert 0 < seen[1] < 9
    assert np.isnan(paired_difference(np.ones(1), np.zeros(1), same[:1], same[:1]).p)


def test_losses_are_paired_by_seed_and_text():
    draw = np.random.default_rng(4)
    sums, counts = 50 + draw.random((3, 40)), draw.integers(20, 60, 40)
    worse = loss_difference(sums + 0.1 * counts, sums, counts)
    assert worse.mean == pytest.approx(0.1)
    assert worse.half_width < 1e-12
    plain = (sums[0].sum() - sums[1].sum()) / counts.sum()
    assert loss_difference(sums[:1], sums[1:2], counts).by_seed == pytest.approx([plain])
    with pytest.raises(ValueError, match="shape"):
        loss_difference(sums, sums[:, :5], counts)
