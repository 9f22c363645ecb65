"""Does the page's correction say what plain loops say, and no more?"""

import numpy as np
import pytest
import torch

from gating_core.efficient import HeadSample, ar1_tokens, corrected, mixed, window_mask
from gating_core.lm.approximations.delta_correction import (
    GAMMA_STEPS,
    GAPS,
    CorrectionRequest,
    correct_ar1,
    correct_head,
    retrieve,
)

T, WINDOW, SINKS, GAMMA = 48, 8, 2, 4


@pytest.fixture(scope="module")
def sample():
    return ar1_tokens(T, memory=16.0, seed=3)


@pytest.fixture(scope="module")
def result(sample):
    return correct_head(sample, CorrectionRequest(WINDOW, SINKS, GAMMA))


def cosine(one, other):
    return float(one @ other / one.norm() / other.norm())


def test_cosines_are_those_of_each_query(sample, result):
    full = mixed(sample.scores, sample.values)
    sparse = mixed(sample.scores, sample.values, window_mask(T, WINDOW, SINKS))
    repaired = corrected(sparse, full[::GAMMA], GAMMA)
    end = T - GAMMA  # the last 4 queries are computed in full
    late = range(T // 2, end)  # the text is too short for the first 32 to be left out
    assert result.tail == GAMMA
    for mean, of in zip(result.cosine, (sparse, repaired), strict=True):
        assert mean == pytest.approx(np.mean([cosine(of[i], full[i]) for i in late]), abs=1e-6)
    errors = [(outputs - full)[T // 2 : end].square().sum() for outputs in (repaired, sparse)]
    error = errors[0] / errors[1]
    assert result.ratio == pytest.approx(float(error), rel=1e-5)


def test_curves_pass_through_the_numbers_of_the_request(result):
    row = GAMMA_STEPS.index(GAMMA)
    assert result.by_gamma[0, row] == result.cosine[1]
    assert result.by_gamma[1, row] == result.share[1]
    np.testing.assert_allclose(result.by_gamma[:, 0], 1)  # γ = 1: everything is computed
    small = GAMMA_STEPS.index(8)  # beyond it the dense tail grows
    assert (np.diff(result.by_gamma[1, :small]) < 0).all()  # rarer anchors compute less
    assert np.isnan(result.by_gamma[0, -1])  # γ = 64: all 48 queries are computed in full
    assert result.by_gamma[1, -1] == 1


def test_shares_count_the_scores_that_a_mask_holds(result):
    seen = window_mask(T, WINDOW, SINKS)
    assert result.share[0] == int(seen.sum()) / (T * (T + 1) // 2)
    everything = torch.ones(T, T, dtype=torch.bool).tril()
    seen[::GAMMA] = everything[::GAMMA]
    seen[T - GAMMA :] = everything[T - GAMMA :]
    assert result.share[1] == int(seen.sum()) / (T * (T + 1) // 2)


def test_nothing_is_missing_where_the_window_holds_all(sample):
    of = correct_head(sample, CorrectionRequest(64, 0, GAMMA))
    assert np.isnan(of.ratio)
    np.testing.assert_allclose(of.cosine, 1)


def test_correction_helps_slow_tokens_and_not_fast_ones():
    request = CorrectionRequest(16, 4, 8)
    assert all(of.ratio < 0.8 for of in correct_ar1(request))
    fast = ar1_tokens(256, memory=0.0, noise=1.0, seed=1)
    assert correct_head(fast, request).ratio > 1.2


def test_retrieval_fails_beyond_the_window():
    for sinks in (0, 8):  # which hold no pair
        full, sparse, repaired = retrieve(CorrectionRequest(16, sinks, 4)).mean(-1)
        assert (full == 1).all()
        assert sparse[-1] < 0.2
    assert 0.25 <= repaired[-1] < 0.5  # one query in four is an anchor
    assert len(full) == len(GAPS)


@pytest.mark.parametrize(("window", "length", "message"), [
    (5, T, "window is 5; it must be one of"), (8, 3, "the text has 3 tokens"),
])  # fmt: skip
def test_what_cannot_be_corrected_is_said(window, length, message):
    parts = torch.ones(3, length, 2, dtype=torch.float64)
    with pytest.raises(ValueError, match=message):
        correct_head(HeadSample(*parts), CorrectionRequest(window, 0, GAMMA))
