"""Summaries of the experiment against means, intervals and pairs that are spelled out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from gating_core.lm.resampling import loss_difference
from gating_core.lm.steering import outcomes as module
from gating_core.lm.steering.outcomes import DIRECTIONS, MODES, load_steering
from gating_core.training import mean_interval

HELD, RELEASED = MODES
BOTH, ENGLISH, SPANISH = slice(None), slice(0, 1), slice(1, 2)
FEATURE = DIRECTIONS.index("feature")
LAYERS = 4


@pytest.fixture(scope="module")
def tables():
    outcomes = load_steering()
    return [outcomes["none", seed] for seed in range(3)]


def test_means_are_over_seeds_prompts_and_languages(tables):
    result = module.summarise(tables, "none", RELEASED, BOTH)
    assert result.texts == 3 * 2 * 40
    for layer, kind, strength in ((0, 0, 4), (3, 2, 1)):
        cells = [table["success"][layer, kind, strength, 1] for table in tables]
        at = layer, kind, strength
        assert result.means["success"][at] == pytest.approx(np.mean(cells), abs=1e-6)
        low, high = result.intervals["success"][:, *at]
        assert 0 <= low < result.means["success"][at] < high <= 1
        assert result.intervals["nats"][1][at] > result.means["nats"][at]
        nats = mean_interval(np.array([x["nats"][layer, kind, strength, 1].mean() for x in tables]))
        assert np.ptp(result.intervals["nats"][:, *at]) / 2 >= nats.half_width - 1e-6
    english = module.summarise(tables, "none", HELD, ENGLISH)
    assert english.texts == 3 * 40
    want = np.mean([table["nats"][1, 0, 2, 0, 0] for table in tables])
    assert english.means["nats"][1, 0, 2] == pytest.approx(want, rel=1e-6)
    want = np.mean([table["unsteered.nats"][0] for table in tables])
    assert english.references["unsteered"]["nats"] == pytest.approx(want, rel=1e-6)


def test_what_is_missing_is_left_out_and_texts_without_words_are_counted_apart(tables):
    values = np.tile(np.array([[[0.5, np.nan, 1.0]], [[0.5, np.nan, 0.0]]]), 12)  # (S, 1, N)
    values[:, :, 4::3] = np.nan
    values[0, 0, 3] = np.nan  # one text of one seed
    (mean,), (width,) = module.means_of(values[:, None])
    assert mean == pytest.approx(np.nanmean(values))
    assert width >= mean_interval(np.nanmean(values, (1, 2))).half_width
    assert np.isnan(module.means_of(values[:, None] * np.nan)).all()
    words = np.stack([table["words"][2, 1, 3, 0] for table in tables])
    assert np.isnan(words).any()
    result = module.summarise(tables, "none", HELD, BOTH)
    assert result.means["words"][2, 1, 3] == pytest.approx(np.nanmean(words), abs=1e-6)
    assert result.means["wordless"][2, 1, 3] == pytest.approx(np.isnan(words).mean())


@pytest.mark.parametrize("count", [1, 3])
def test_intervals_are_those_of_a_difference_from_zero(count):
    values = np.random.default_rng(0).random((count, 5, 2, 12))
    values[:, :, :, 3] = np.nan
    means, widths = module.means_of(values)
    counts = np.where(np.arange(12) == 3, 0, 2)
    for cell in range(5):
        sums = np.nansum(values[:, cell], 1)
        want = loss_difference(sums, np.zeros_like(sums), counts)
        assert means[cell] == pytest.approx(want.mean)
        assert widths[cell] == pytest.approx(want.half_width)


@given(st.integers(0, 240), st.floats(0, 2))
def test_an_interval_of_a_share_lies_within_0_and_1(count, half):
    share = count / 240
    low, high = module.share_interval(np.array([share]), np.array([half]), 40)[:, 0]
    assert -1e-9 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1 + 1e-9
    middle = module.share_interval(np.array([0.5]), np.array([half]), 40)[:, 0]
    np.testing.assert_allclose(middle, 0.5 + np.array([-1, 1]) * half / np.sqrt(1 + 4 * half**2))


@pytest.mark.parametrize("successes", [0, 1, 7, 40])
def test_an_interval_of_independent_texts_is_wilsons(successes):
    share = np.array([successes / 40])
    half = module.NORMAL * np.sqrt(share * (1 - share) / 40)
    want = binomtest(successes, 40).proportion_ci(method="wilson")
    np.testing.assert_allclose(module.share_interval(share, half, 40)[:, 0], want, atol=1e-12)


@pytest.mark.parametrize(("row", "mode"), [*enumerate(MODES)])
def test_the_effect_of_a_gate_is_paired_by_seed(row, mode):
    outcomes, result = load_steering(), module.gate_difference(SPANISH, mode)
    for layer in range(LAYERS):
        gated, plain = (
            np.array(
                [
                    outcomes[name, seed]["success"][layer, FEATURE, :, row, 1].mean()
                    for seed in range(3)
                ]
            )
            for name in ("g1_channel", "none")
        )
        np.testing.assert_allclose(result[layer].by_seed, gated - plain, atol=1e-6)
