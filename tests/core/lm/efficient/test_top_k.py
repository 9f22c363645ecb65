"""Truncation against loops and sorted lists, and its identities on rows of every kind."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from gating_core.lm.efficient.certificates import CERTIFICATES, masses, smallest_k
from gating_core.lm.efficient.rows import (
    diameter,
    kept_weights,
    mixed,
    output_error,
    tail_mass,
    top_k,
)
from gating_core.lm.efficient.samples import ar1_tokens, gaussian_scores
from gating_core.lm.efficient.top_k import row_at, row_curves
from tests.core.lm.efficient.rows_of_scores import rows
from tests.each import each

INF = torch.inf


@given(rows(), st.integers(1, 50))
def test_the_k_largest_are_those_of_a_stable_sort(scores, k):
    order = sorted(range(len(scores)), key=lambda key: -scores[key])
    want = {key for key in order[:k] if scores[key] > -INF}
    assert {*top_k(scores, k).nonzero()[:, 0].tolist()} == want
    stacked = torch.stack([scores, scores.flip(0)]).float().view(2, 1, -1)
    assert torch.equal(top_k(stacked, k)[0, 0], top_k(scores.float(), k))


@given(rows(), st.integers(1, 50))
def test_what_is_left_out_is_the_total_variation_and_follows_from_the_divergence(scores, k):
    for each_kept in (top_k(scores, k), ~top_k(-scores.masked_fill(scores == -INF, 0.0), 1)):
        kept = each_kept | (scores == scores.max())  # some that are no top k too
        tau = tail_mass(scores, kept)
        everything, part = scores.softmax(-1), kept_weights(scores, kept)
        torch.testing.assert_close((everything - part).abs().sum() / 2, tau, rtol=0, atol=1e-12)
        ratio = torch.where(part > 0, part / everything, 1.0)
        from_divergence = -torch.expm1(-(part * ratio.log()).sum())
        torch.testing.assert_close(from_divergence, tau, rtol=0, atol=1e-12)
        assert 0 <= tau < 1 + 1e-15


@given(rows(), st.integers(1, 50), st.integers(0, 2**31))
def test_the_error_is_the_mass_times_the_distance_of_both_means(scores, k, seed):
    values = torch.randn(len(scores), 3, generator=torch.Generator().manual_seed(seed)).double()
    kept = top_k(scores, k)
    (error,), (bound,) = output_error(scores[None], values, kept[None])
    whole, part = mixed(scores[None], values), mixed(scores[None], values, kept[None])
    torch.testing.assert_close(error, (whole - part).norm(), rtol=0, atol=1e-12)
    if (~kept & (scores > -INF)).any():
        tail = scores.masked_fill(kept, -INF).softmax(-1) @ values
        factored = tail_mass(scores, kept) * (tail - part[0]).norm()
        torch.testing.assert_close(error, factored, rtol=0, atol=1e-12)
    assert bound >= error - 1e-12


def test_the_bound_is_reached_by_two_keys():
    values = torch.tensor([[0.0, 3.0], [4.0, 0.0]])
    error = output_error(torch.zeros(1, 2), values, torch.tensor([[True, False]]))
    assert [float(x) for x in error] == [2.5, 2.5]


def test_the_mass_is_accurate_where_it_is_tiny():
    scores = torch.tensor([0.0, -600.0, -601.0], dtype=torch.float64)
    want = math.exp(-600) * (1 + math.exp(-1))
    assert float(tail_mass(scores, top_k(scores, 1))) == pytest.approx(want, rel=1e-12)


def test_the_diameter_is_that_of_a_loop():
    draw = torch.Generator().manual_seed(0)
    values = torch.randn(2, 6, 3, generator=draw)
    head, tail = torch.rand(2, 2, 5, 6, generator=draw) < 0.5
    head[0, 0] = False
    result = diameter(values, head, tail)
    for batch in range(2):
        for row in range(5):
            pairs = [
                (values[batch, i] - values[batch, j]).norm()
                for i in range(6)
                for j in range(6)
                if head[batch, row, i] and tail[batch, row, j]
            ]
            assert float(result[batch, row]) == pytest.approx(float(max(pairs, default=0.0)))


ROW = torch.zeros(1, 3)
VALUES = torch.zeros(3, 2)
KEPT = torch.tensor([[True, False, False]])


@each([
    (lambda: top_k(ROW, 0), "k is 0; it must be a whole number from 1"),
    (lambda: top_k(ROW, 1.5), "k is 1.5; it must be a whole number"),
    (lambda: top_k(torch.zeros(2, 0), 1), r"shape \(2, 0\); they must be \(..., n\), n > 0"),
    (lambda: top_k(torch.tensor(1.0), 1), r"shape \(\)"),
    (lambda: top_k(torch.tensor([0.0, math.nan]), 1), "scores contain NaN or"),
    (lambda: top_k(torch.tensor([0.0, INF]), 1), "scores contain NaN or"),
    (lambda: top_k(torch.tensor([[0.0, 1.0], [-INF, -INF]]), 1), "a row of scores is -inf"),
    (lambda: top_k(ROW.half(), 1), "scores are torch.float16; they must be float32 or float64"),
    (lambda: mixed(ROW, VALUES.double()), "values are torch.float64; they must be torch.float32"),
    (lambda: mixed(ROW, VALUES[:2]), r"shape \(1, 3\) and values \(2, 2\)"),
    (lambda: mixed(ROW, VALUES / 0), "values contain NaN"),
    (lambda: mixed(torch.zeros(2, 1, 3), VALUES.expand(5, 3, 2)),
     r"\(5,\) where scores have \(2,\)"),
    (lambda: mixed(ROW, VALUES, KEPT.float()), "kept is torch.float32; it must be bool"),
    (lambda: tail_mass(ROW, KEPT.long()), "kept is torch.int64; it must be bool"),
    (lambda: tail_mass(ROW, KEPT[:, :2]), r"shape \(1, 2\); its last axis must have 3 keys"),
    (lambda: kept_weights(torch.zeros(2, 3), KEPT.expand(5, 3)), "must broadcast"),
    (lambda: mixed(ROW, VALUES, ~KEPT & KEPT), "kept leaves a query without keys"),
    (lambda: kept_weights(torch.tensor([[-INF, 0.0, 0.0]]), KEPT), "kept leaves a query without"),
])  # fmt: skip
def test_what_has_no_result_says_why(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_one_key_is_kept_whole():
    scores = torch.tensor([[5.0]])
    assert top_k(scores, 1).all()
    assert float(tail_mass(scores, top_k(scores, 7))) == 0


# --- A row over all k -----------------------------------------------------------------------------

EPSILON = 0.05


@pytest.fixture(scope="module")
def tokens():
    return ar1_tokens(40, 16.0)


@pytest.fixture(scope="module")
def row(tokens):
    return row_curves(tokens, EPSILON)


def test_curves_are_the_librarys_at_every_k(tokens, row):
    scores = tokens.scores[-1:]
    np.testing.assert_array_equal(row.ks, np.arange(1, 41))
    for k in (1, 7, 39, 40):
        kept = top_k(scores, k)
        error = output_error(scores, tokens.values, kept)
        assert row.mass[k - 1] == pytest.approx(float(tail_mass(scores, kept)), abs=1e-14)
        assert row_at(tokens, k)[1:] == pytest.approx([float(x) for x in error])
    weights = scores[0].softmax(-1).numpy()
    np.testing.assert_allclose(row.weights, np.sort(weights)[::-1], rtol=1e-12)
    np.testing.assert_allclose(weights[row.keys], row.weights, rtol=1e-12)


def test_a_row_without_a_tail_or_without_values(tokens):
    assert row_at(gaussian_scores(20, 1.0), 3)[1:] == (None, None)
    assert row_at(tokens, 40) == pytest.approx((0, 0, 0), abs=1e-14)


def test_what_is_certified_is_so(tokens, row):
    truth = row.certified["truth"]
    assert truth.k == int(smallest_k(masses(tokens.scores[-1]), EPSILON))
    assert truth.scored == 40
    assert list(row.certified) == ["truth", *CERTIFICATES, "boxes"]
    for name, one in row.certified.items():
        assert one.k >= truth.k, name
        assert one.scored <= 40
        if name in row.bounds:
            assert (row.bounds[name] >= row.mass - 1e-12).all()
            assert row.bounds[name][one.k - 1] <= EPSILON
    assert row.certified["even_gaps"].title == CERTIFICATES["even_gaps"].title
    assert row.certified["even_gaps"].scored == CERTIFICATES["even_gaps"].reads(
        row.certified["even_gaps"].k, 40
    )


def test_long_rows_are_thinned_and_their_gaps_are_wide():
    scores = gaussian_scores(20_000, 2.0)
    row = row_curves(scores, EPSILON)
    assert len(row.ks) <= 300
    assert (row.ks[0], row.ks[-1]) == (1, 20_000)
    assert (np.diff(row.ks) > 0).all()
    np.testing.assert_allclose(row.mass, masses(scores)[row.ks - 1])
    assert row.certified["even_gaps"].title == "multi-gap bound, every 313 keys"
    assert all((bound >= row.mass - 1e-12).all() for bound in row.bounds.values())
    assert "boxes" not in row.certified


def test_the_rule_holds_for_gaussian_scores():
    row = row_curves(gaussian_scores(20_000, 2.0), EPSILON)
    assert row.rule == pytest.approx(20_000 * norm.sf(row.sigma + norm.ppf(EPSILON)))
    assert row.rule == pytest.approx(row.certified["truth"].k, rel=0.03)
