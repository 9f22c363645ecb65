"""Certificates against the truth: never below it, and equal to it where theory says so."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from gating_core.lm.efficient.certificates import (
    CERTIFICATES,
    block_bounds,
    block_search,
    even_gaps,
    kept_and_next,
    masses,
    multi_gap,
    needed_by_quantiles,
    needed_share,
    single_gap,
    smallest_k,
    standardised,
)
from gating_core.lm.efficient.rows import tail_mass, top_k
from gating_core.lm.efficient.samples import causal, gaussian_scores
from tests.core.lm.efficient.rows_of_scores import rows
from tests.each import each
from tests.profiles import fuzz

ROUNDING = 1e-11  # relative, in float64
UNDERFLOW = 1e-300


@given(rows(st.integers(1, 12)))
def test_the_curve_of_the_truth_is_the_mass_for_every_k(scores):
    curve = masses(scores)
    for k in range(1, len(scores) + 1):
        want = tail_mass(scores, top_k(scores, k))
        torch.testing.assert_close(curve[k - 1], want, rtol=1e-11, atol=1e-300)


@fuzz()
@given(rows(), st.floats(1e-300, 1.0))
def test_no_certificate_is_below_the_truth(scores, epsilon):
    truth = masses(scores)
    needed = smallest_k(truth, epsilon)
    for name, certificate in CERTIFICATES.items():
        curve = certificate.curve(scores)
        assert (curve >= truth * (1 - ROUNDING) - UNDERFLOW).all(), name
        assert ((curve >= 0) & (curve <= 1)).all(), name
        certified = smallest_k(curve, epsilon * (1 - ROUNDING))
        assert certified >= needed, name
        assert tail_mass(scores, top_k(scores, int(certified))) <= epsilon, name
    # Who reads more bounds no worse.
    assert (kept_and_next(scores) <= single_gap(scores) * (1 + ROUNDING) + UNDERFLOW).all()
    assert (multi_gap(scores) <= kept_and_next(scores) * (1 + ROUNDING) + UNDERFLOW).all()
    assert (even_gaps(scores) <= kept_and_next(scores) * (1 + ROUNDING) + UNDERFLOW).all()


def test_certificates_are_tight_where_theory_says_so():
    two_levels = torch.tensor([1.5] * 4 + [-0.5] * 9, dtype=torch.float64)
    torch.testing.assert_close(single_gap(two_levels)[3], masses(two_levels)[3])
    want = 9 / (9 + 4 * math.exp(2))
    assert float(single_gap(two_levels)[3]) == pytest.approx(want)  # the formula itself
    assert single_gap(two_levels)[2] > 1.01 * masses(two_levels)[2]
    equal_rest = torch.tensor([3.0, 2.0, 1.0] + [0.0] * 9, dtype=torch.float64)
    torch.testing.assert_close(kept_and_next(equal_rest)[2], masses(equal_rest)[2])
    assert single_gap(equal_rest)[2] > 1.01 * masses(equal_rest)[2]
    # Stretches of 1, 1, 2, 4 and 8: cut at k = 1, 2, 4, 8.
    doubling = torch.tensor([4.0] + [3.0] + [2.0] * 2 + [1.0] * 4 + [0.0] * 8, dtype=torch.float64)
    torch.testing.assert_close(multi_gap(doubling)[0], masses(doubling)[0])
    assert kept_and_next(doubling)[0] > 1.01 * masses(doubling)[0]
    even = torch.tensor([5.0] + [2.0] * 4 + [1.0] * 4 + [0.0] * 3, dtype=torch.float64)
    torch.testing.assert_close(even_gaps(even, 4)[0], masses(even)[0])
    assert multi_gap(even)[0] > 1.01 * masses(even)[0]


@pytest.mark.parametrize(("k", "n"), [(1, 1), (1, 16), (3, 17), (4, 16), (20, 16), (16, 16)])
def test_how_many_scores_a_certificate_reads(k, n):
    starts = [start for power in range(9) if (start := k * 2**power) < n]
    assert CERTIFICATES["single_gap"].reads(k, n) == min(2, n)
    assert CERTIFICATES["kept_and_next"].reads(k, n) == min(k, n) + bool(starts)
    assert CERTIFICATES["multi_gap"].reads(k, n) == min(k, n) + len(starts)
    assert CERTIFICATES["even_gaps"].reads(k, n) == min(k, n) + len(range(k, n, 16))


def test_every_row_is_on_its_own_in_any_shape_and_precision():
    draw = torch.Generator().manual_seed(1)
    scores = causal(3 * torch.randn(2, 3, 20, 20, generator=draw))
    for certificate in CERTIFICATES.values():
        curves = certificate.curve(scores)
        assert curves.dtype == torch.float32
        seen = scores[1, 2, 7, :8].double()
        torch.testing.assert_close(
            curves[1, 2, 7, :8].double(), certificate.curve(seen), rtol=1e-4, atol=1e-7
        )
        assert not curves[1, 2, 7, 7:].any()
    assert smallest_k(masses(scores), 0.05).shape == (2, 3, 20)


# --- Blocks ---------------------------------------------------------------------------------------


@given(st.integers(1, 40), st.integers(1, 9), st.floats(0.0, 1.0), st.integers(0, 2**31))
def test_blocks_are_scored_until_the_bound_certifies(n, block, epsilon, seed):
    draw = torch.Generator().manual_seed(seed)
    queries, keys = 3 * torch.randn(2, 2, n, 4, generator=draw).double()
    scores = causal(queries @ keys.mT / 2)
    search = block_search(scores, block_bounds(queries, keys, block), epsilon, block)
    truth = tail_mass(scores, search.kept)
    assert (search.bound <= epsilon).all()
    assert (truth <= search.bound * (1 + ROUNDING)).all()
    # Whole blocks, as many as it says.
    for blocks in range(2):
        for row in range(n):
            of = {int(key) // block for key in search.kept[blocks, row].nonzero()[:, 0]}
            assert len(of) == int(search.blocks[blocks, row])
            whole = [key for key in range(row + 1) if key // block in of]
            assert search.kept[blocks, row].nonzero()[:, 0].tolist() == whole


def test_exact_bounds_stop_as_early_as_blocks_can():
    scores = torch.tensor([[0.0, 0.0, 9.0, 9.0, 1.0, 1.0]])
    search = block_search(scores, torch.tensor([[0.0, 9.0, 1.0]]), 0.01, 2)
    assert search.kept.tolist() == [[False, False, True, True, False, False]]
    assert int(search.blocks) == 1
    assert float(search.bound) == pytest.approx(float(tail_mass(scores, search.kept)), rel=1e-5)
    assert block_search(scores, torch.tensor([[0.0, 9.0, 1.0]]), 0.0, 2).kept.all()


@each([
    (lambda: smallest_k(torch.zeros(3), 1.5), "epsilon is 1.5; it must be a number from 0 to 1"),
    (lambda: even_gaps(torch.zeros(3), 0), "block is 0"),
    (lambda: block_search(torch.zeros(1, 4), torch.zeros(1, 3), 0.1, 2), r"must be \(1, 2\)"),
    (lambda: block_search(torch.ones(1, 4), torch.zeros(1, 2), 0.1, 2), "smaller than a score"),
    (lambda: block_search(torch.ones(1, 4), torch.full((1, 2), math.nan), 0.1, 2), "is NaN"),
    (lambda: block_bounds(torch.ones(1, 3), torch.ones(4, 2)), r"\(1, 3\) and \(4, 2\)"),
    (lambda: block_bounds(torch.ones(1, 2), torch.ones(4, 2) / 0), "all must be finite"),
    (lambda: smallest_k(torch.tensor([0.5, 0.4]), 0.1), "nowhere at most epsilon, 0.1"),
    (lambda: smallest_k(torch.tensor([math.nan] * 2), 0.1), "nowhere at most epsilon, 0.1"),
    (lambda: smallest_k(torch.zeros(0), 0.1), "nowhere at most"),
    (lambda: needed_share(torch.tensor([1.0, -1.0]), 0.1), "sigma contains NaN or negative"),
    (lambda: needed_share(torch.ones(1), 0.0), "epsilon is 0.0; it must be between 0 and 1"),
    (lambda: masses(torch.tensor([math.nan])), "scores contain NaN"),
])  # fmt: skip
def test_what_certifies_nothing_says_why(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- The Gaussian rule ----------------------------------------------------------------------------


@pytest.mark.parametrize(("sigma", "share"), [(0.5, 0.8739), (1.0, 0.7405), (2.0, 0.3612)])
def test_the_rule_holds_for_many_normal_scores(sigma, share):
    rule = float(needed_share(torch.tensor(sigma, dtype=torch.float64), 0.05))
    assert rule == pytest.approx(share, abs=1e-4)
    assert rule == pytest.approx(norm.sf(sigma + norm.ppf(0.05)))
    k = smallest_k(masses(gaussian_scores(100_000, sigma)), 0.05)
    assert float(k) / 100_000 == pytest.approx(rule, rel=0.03)


def test_quantiles_come_to_the_rule_as_keys_become_many():
    rule = float(needed_share(torch.tensor(2.0, dtype=torch.float64), 0.05))
    errors = [abs(needed_by_quantiles(n, 2.0, 0.05) / n - rule) for n in (30, 300, 100_000)]
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[2] < 1e-3
    assert needed_by_quantiles(50, 0.0, 0.05) == math.ceil(0.95 * 50)
    assert needed_by_quantiles(1, 3.0, 0.05) == 1


@given(rows())
def test_standardised_scores_have_mean_zero_and_variance_one(scores):
    scaled, sigma = standardised(scores)
    seen = scores > -torch.inf
    assert torch.equal(scaled.isnan(), ~seen)
    part = scores[seen].numpy()
    assert float(sigma) == pytest.approx(part.std(), rel=1e-9, abs=1e-9)
    if float(sigma) > 1e-6:
        assert float(scaled[seen].square().mean()) == pytest.approx(1)
        torch.testing.assert_close(scaled[seen] * sigma + part.mean(), scores[seen])
