"""Truncation against loops and sorted lists, and its identities on rows of every kind."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.efficient import (
    diameter,
    divergence,
    kept_weights,
    mixed,
    output_error,
    tail_mass,
    top_k,
    total_variation,
)
from tests.core.efficient.rows_of_scores import rows
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
        torch.testing.assert_close(total_variation(everything, part), tau, rtol=0, atol=1e-12)
        from_divergence = -torch.expm1(-divergence(scores, kept))
        torch.testing.assert_close(from_divergence, tau, rtol=0, atol=1e-12)
        assert 0 <= tau < 1 + 1e-15


@given(rows(), st.integers(1, 50), st.integers(0, 2**31))
def test_the_error_is_the_mass_times_the_distance_of_both_means(scores, k, seed):
    values = torch.randn(len(scores), 3, generator=torch.Generator().manual_seed(seed)).double()
    kept = top_k(scores, k)
    error = output_error(scores[None], values, kept[None])
    whole, part = mixed(scores[None], values), mixed(scores[None], values, kept[None])
    torch.testing.assert_close(error.direct, (whole - part).norm(dim=-1), rtol=0, atol=1e-12)
    torch.testing.assert_close(error.factored, error.direct, rtol=0, atol=1e-12)
    assert (error.bound >= error.direct - 1e-12).all()


def test_the_bound_is_reached_by_two_keys():
    values = torch.tensor([[0.0, 3.0], [4.0, 0.0]])
    error = output_error(torch.zeros(1, 2), values, torch.tensor([[True, False]]))
    assert [float(x) for x in (error.direct, error.factored, error.bound)] == [2.5, 2.5, 2.5]


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
    (lambda: total_variation(ROW, ROW[:, :2]), "both must have as many keys"),
    (lambda: total_variation(ROW, ROW * math.nan), "weights contain NaN"),
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
    assert float(divergence(scores, top_k(scores, 1))) == 0
