"""Windows, correction, and the samples on which it works and fails."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from gating_core.lm.efficient.cost import COSTS
from gating_core.lm.efficient.delta_correction import (
    GAMMA_STEPS,
    GAPS,
    CorrectionRequest,
    anchors,
    change_by_lag,
    correct_head,
    corrected,
    dense_tail,
    retrieve,
    window_mask,
)
from gating_core.lm.efficient.rows import mixed
from gating_core.lm.efficient.samples import (
    HeadSample,
    ar1_tokens,
    gaussian_scores,
    normal_tokens,
    retrieval,
)
from tests.each import each

LENGTHS = st.integers(1, 40)


@given(LENGTHS, st.integers(1, 50), st.integers(0, 50))
def test_a_window_holds_the_last_keys_and_the_first(length, window, sinks):
    result = window_mask(length, window, sinks)
    for query in range(length):
        want = [key for key in range(query + 1) if key > query - window or key < sinks]
        assert result[query].nonzero()[:, 0].tolist() == want


def test_outputs_are_repaired_by_the_last_anchor():
    draw = torch.Generator().manual_seed(0)
    sparse, full = torch.randn(2, 2, 3, 11, 4, generator=draw)
    for gamma in (1, 3, 4, 11, 50):
        result = corrected(sparse, full, gamma)
        for query in range(11):
            last = query - query % gamma
            want = sparse[..., query, :] + full[..., last, :] - sparse[..., last, :]
            torch.testing.assert_close(result[..., query, :], want)
    assert torch.equal(corrected(sparse, full, 1), full)  # bit for bit


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 40), st.integers(0, 2**31))
def test_the_last_queries_are_computed_in_full(length, gamma, dense, seed):
    dense = min(dense, length)
    draw = torch.Generator().manual_seed(seed)
    sparse, full = torch.randn(2, length, 3, generator=draw).double()
    at = anchors(length, gamma, dense)
    result = corrected(sparse, full, gamma, dense)
    difference, computed = torch.zeros(3).double(), []
    for query in range(length):
        if query >= length - dense or query % gamma == 0:
            difference = full[query] - sparse[query]
            computed.append(query)
        torch.testing.assert_close(result[query], sparse[query] + difference)
    assert at.tolist() == computed


@each([(512, 8, 128), (515, 8, 131), (1000, 64, 168), (2048, 256, 256), (128, 8, 8), (128, 32, 32),
       (81, 8, 9), (81, 64, 81), (4, 8, 4)])  # fmt: skip
def test_the_tail_is_the_published_one_where_most_of_a_sequence_remains_sparse(length, gamma, tail):
    """s mod γ + max(128, γ), from 512 tokens on; below, s mod γ + γ."""
    assert dense_tail(length, gamma) == tail


def test_change_is_none_of_a_constant_and_two_of_noise():
    draw = torch.Generator().manual_seed(1)
    assert not change_by_lag(torch.ones(9, 3), 8).any()
    noise = torch.randn(20_000, 3, generator=draw)
    assert change_by_lag(noise, 3).tolist() == pytest.approx([2, 2, 2], abs=0.05)
    steps = torch.tensor([[1.0], [2.0], [4.0]])
    assert change_by_lag(steps, 2).tolist() == pytest.approx([5 / 20, 9 / 16])


def test_slow_tokens_are_repaired_and_quick_ones_are_not():
    def cosines_and_ratio(sample, gamma):
        full = mixed(sample.scores, sample.values)
        sparse = mixed(sample.scores, sample.values, window_mask(512, 32, 4))
        repaired = corrected(sparse, full, gamma)
        alike = [
            float(functional.cosine_similarity(x, full, dim=-1).mean()) for x in (sparse, repaired)
        ]
        errors = [(x - full).square().sum() for x in (repaired, sparse)]
        return *alike, float(errors[0] / errors[1])

    sparse, repaired, ratio = cosines_and_ratio(ar1_tokens(512), 8)
    assert repaired > sparse + 0.1
    assert ratio < 0.5
    assert cosines_and_ratio(ar1_tokens(512, memory=0.0), 8)[2] > 1.2


def test_neighbours_are_as_alike_as_the_memory_says():
    tokens = ar1_tokens(2048, memory=8.0, noise=0.25, sharpness=3.0)
    for channels, size in ((tokens.queries, 3.0), (tokens.keys, 1.0), (tokens.values, 1.0)):
        assert float(channels.square().mean()) == pytest.approx(size**2, rel=0.1)
        alike = (channels[1:] * channels[:-1]).mean() / size**2
        assert float(alike) == pytest.approx(0.75 * 0.8825, abs=0.06)
    again = ar1_tokens(2048, memory=8.0, noise=0.25, sharpness=3.0)
    assert torch.equal(tokens.scores, again.scores)


def test_what_a_window_does_not_hold_it_cannot_retrieve():
    toy = retrieval()
    scores, values = toy.sample.scores, toy.sample.values
    full = mixed(scores, values)
    sparse = mixed(scores, values, window_mask(len(values), 32, 4))
    assert toy.accuracy(full) == 1
    assert toy.accuracy(sparse) < 0.5
    repaired = corrected(sparse, full, 4)
    assert toy.accuracy(repaired) < 0.5  # what an anchor misses is another pair's
    assert toy.accuracy(mixed(scores, values, window_mask(len(values), 4, 16))) == 1
    assert sorted(toy.answers.tolist()) == [*range(16)]
    later = retrieval(before=4)
    assert sorted(later.answers.tolist()) == [*range(4, 20)]
    assert later.accuracy(mixed(later.sample.scores, later.sample.values)) == 1


def test_normal_tokens_have_scores_as_asked_for_in_every_row():
    products = normal_tokens(2000, 1.5, seed=3)
    rows = products.queries @ products.keys.mT / products.keys.shape[-1] ** 0.5
    assert (rows.std(-1) - 1.5).abs().max() < 0.15  # 4 standard errors of 2,000
    assert abs(float((rows.mean(-1) / 1.5).mean())) < 0.1
    assert abs(float((rows[:, 1:] * rows[:, :-1]).mean())) < 0.1
    assert not normal_tokens(3, 0.0).queries.any()


# --- Cost -----------------------------------------------------------------------------------------


def causal_pairs(mask):
    return int((mask & mask.new_ones(mask.shape).tril()).sum())


@given(LENGTHS, st.integers(1, 50), st.integers(0, 8), st.integers(1, 50), st.integers(0, 40))
def test_costs_are_those_of_masks_counted(n, size, sinks, gamma, dense):
    d, dense = 5, min(n, dense)
    everything, some = window_mask(n, n), window_mask(n, size, sinks)
    both = some.clone()
    both[anchors(n, gamma, dense)] = everything[anchors(n, gamma, dense)]
    plain = window_mask(n, size)
    counted = {
        "full": (everything, everything, COSTS["full"](n, d)),
        "top_k": (everything, plain, COSTS["top_k"](n, d, size)),
        "window": (some, some, COSTS["window"](n, d, size, sinks)),
        "evicted": (plain, plain, COSTS["evicted"](n, d, size)),
        "corrected": (both, both, COSTS["corrected"](n, d, size, sinks, gamma, dense)),
    }
    for name, (scored, mixture, cost) in counted.items():
        assert (cost.scores, cost.mixed) == (causal_pairs(scored), causal_pairs(mixture)), name
    assert COSTS["window"](n, d, size, sinks).stored == 2 * d * min(n, size + sinks)
    assert COSTS["linear"](n, d).stored == d * d + d  # whatever n
    parts = COSTS["linear"](n, d), COSTS["window"](n, d, size)
    assert COSTS["hybrid"](n, d, size).scores == sum(part.scores for part in parts)
    assert COSTS["hybrid"](n, d, size).stored == sum(part.stored for part in parts)


@each([
    (lambda: window_mask(0, 1), "length is 0"),
    (lambda: window_mask(4, 0), "window is 0; it must be a whole number from 1"),
    (lambda: window_mask(4, 1, -1), "sinks is -1"),
    (lambda: anchors(4, 0), "gamma is 0"),
    (lambda: corrected(torch.zeros(5, 2), torch.zeros(2, 2), 4), "both must be the same"),
    (lambda: corrected(torch.zeros(3), torch.zeros(1), 4), r"sparse has shape \(3,\)"),
    (lambda: corrected(torch.zeros(5, 2) / 0, torch.zeros(5, 2), 4), "sparse contains NaN"),
    (lambda: corrected(torch.zeros(5, 2), torch.zeros(5, 2) / 0, 4), "full contains NaN"),
    (lambda: corrected(torch.zeros(5, 2), torch.zeros(5, 2).double(), 4), "torch.float64; both"),
    (lambda: change_by_lag(torch.zeros(5, 2) / 0, 2), "missing contains NaN"),
    (lambda: change_by_lag(torch.zeros(5), 1), r"missing has shape \(5,\)"),
    (lambda: change_by_lag(torch.zeros(5, 2), 5), "lags is 5; it must be a whole number from 1 to"),
    (lambda: gaussian_scores(200_001, 1.0), "n is 200001; it must be a whole number from 1 to"),
    (lambda: ar1_tokens(2049), "length is 2049; it must be a whole number from 1 to 2048"),
    (lambda: normal_tokens(2049, 1.0), "length is 2049"),
    (lambda: normal_tokens(3, -1.0), "sigma is -1.0"),
    (lambda: retrieval(16, before=2020), "before is 2020"),
    (lambda: retrieval(600, 900), "gap is 900; it must be a whole number from 0 to 848"),
    (lambda: COSTS["full"](0, 4), "n is 0"),
])  # fmt: skip
def test_what_does_not_fit_says_why(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- A head, and a retrieval task -----------------------------------------------------------------

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
    repaired = corrected(sparse, full, GAMMA)
    end = T - GAMMA  # the last 4 queries are computed in full
    late = range(T // 2, end)  # the text is too short for the first 32 to be left out
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
    slow = (ar1_tokens(512, 128.0, seed=n) for n in range(5))
    assert all(correct_head(of, request).ratio < 0.8 for of in slow)
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
