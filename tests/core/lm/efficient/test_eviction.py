"""Eviction against removal one by one, derivatives, loops, and the best of all subsets."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.lm.efficient.eviction import (
    EVICTION_SCORES,
    POLICIES,
    EvictionRequest,
    evict,
    kept_keys,
    kept_while_reading,
    key_scores,
)
from gating_core.lm.efficient.rows import mixed
from gating_core.lm.efficient.samples import HeadSample, ar1_tokens, causal
from tests.core.lm.efficient.rows_of_scores import rows
from tests.each import each

SEEDS = st.integers(0, 2**31)


def drawn(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).double()


@given(rows(st.integers(1, 12)), SEEDS)
def test_without_a_key_the_output_is_what_the_identity_says(scores, seed):
    values = drawn(seed, len(scores), 3)
    exact = EVICTION_SCORES["exact"](scores[None], values)[0]
    seen = scores > -torch.inf
    for key in range(len(scores)):
        kept = seen.clone()
        kept[key] = False
        if not seen[key] or not kept.any():
            want = torch.zeros(3).double()  # nothing changes, or nothing is left
        else:
            want = mixed(scores[None], values, kept[None])[0] - mixed(scores[None], values)[0]
        torch.testing.assert_close(exact[key], want.square().sum(), rtol=1e-9, atol=1e-12)


def test_scores_are_the_published_ones():
    """OBCache, arXiv 2510.07651, Eq. 4 to 6, by loops over queries and keys."""
    scores, values = drawn(2, 5, 7), drawn(3, 7, 4)
    for query in range(5):
        weights = torch.softmax(scores[query], 0)
        output = sum(weights[key] * values[key] for key in range(7))
        for key in range(7):
            a, z, v = weights[key], scores[query, key], values[key]
            value = a**2 * (v @ v)
            by_key = (a * z) ** 2 * ((v - output) @ (v - output))
            joint = value + by_key + 2 * a**2 * z * (v @ v - v @ output)
            for name, want in (("value", value), ("key", by_key), ("joint", joint)):
                found = EVICTION_SCORES[name](scores, values)[query, key]
                torch.testing.assert_close(found, want, rtol=1e-10, atol=1e-14)


def test_the_identity_is_the_textbook_one():
    scores, values = drawn(0, 4, 6), drawn(1, 6, 3)
    weights = scores.softmax(-1)[..., None]
    want = weights / (1 - weights) * ((weights.mT @ values) - values)
    exact = EVICTION_SCORES["exact"](scores, values)
    torch.testing.assert_close(exact, want.square().sum(-1))


def test_nothing_cancels_where_one_key_has_all_the_weight():
    scores, values = torch.tensor([[0.0, 40.0, -1.0]]), torch.tensor([[1.0], [3.0], [2.0]])
    want = (1 + 2 * math.exp(-1)) / (1 + math.exp(-1)) - 3
    exact = EVICTION_SCORES["exact"](scores, values)
    assert float(exact[0, 1]) == pytest.approx(want**2, rel=1e-6)


def test_first_order_scores_are_derivatives():
    queries, keys, values = drawn(2, 5, 4), drawn(3, 7, 4), drawn(4, 7, 3)
    scores = queries @ keys.mT / 2

    def outputs(key_sizes, value_sizes):
        return (queries @ (keys * key_sizes[:, None]).mT / 2).softmax(-1) @ (
            values * value_sizes[:, None]
        )

    one = torch.ones(7).double()
    by_key, by_value = torch.autograd.functional.jacobian(outputs, (one, one))  # (T, d, n)
    for name, change in (("key", by_key), ("value", by_value), ("joint", by_key + by_value)):
        torch.testing.assert_close(EVICTION_SCORES[name](scores, values), change.square().sum(1))
    assert torch.equal(key_scores(scores, values, "mass"), scores.softmax(-1).sum(0))
    assert key_scores(scores, values, "recency").tolist() == [*range(7)]


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 9), SEEDS)
def test_a_budget_keeps_what_is_recent_and_then_the_largest(n, budget, recent, seed):
    worth = drawn(seed, 2, n).round()
    if recent > budget:
        with pytest.raises(ValueError, match=f"recent is {recent}; it must be at most the budget"):
            kept_keys(worth, budget, recent)
        return
    for row, kept in zip(worth.tolist(), kept_keys(worth, budget, recent), strict=True):
        safe = {key for key in range(n) if key >= n - recent}
        others = sorted({*range(n)} - safe, key=lambda key: (-row[key], key))
        want = safe | {*others[: budget - len(safe)]}
        assert {*kept.nonzero()[:, 0].tolist()} == want


@given(st.integers(2, 9), st.integers(1, 9), st.integers(0, 2), st.sampled_from(POLICIES), SEEDS)
def test_keys_leave_one_by_one_as_in_a_loop(length, budget, recent, policy, seed):
    scores, values = causal(drawn(seed, length, length)), drawn(seed + 1, length, 3)
    recent = min(recent, budget)
    result = kept_while_reading(scores, values, policy, budget, recent)
    alive, worth = [], [0.0] * length
    for t in range(length):
        alive.append(t)
        if len(alive) > budget:
            able = [key for key in alive if key <= t - recent]
            alive.remove(min(able, key=lambda key: key if policy == "recency" else worth[key]))
        assert result[t].nonzero()[:, 0].tolist() == alive
        if policy != "recency":
            part = EVICTION_SCORES[policy](scores[t : t + 1, alive], values[alive])[0]
            for key, more in zip(alive, part.tolist(), strict=True):
                worth[key] += more
    both = torch.stack([causal(drawn(seed + 2, length, length)), scores])
    stacked = kept_while_reading(both, values, policy, budget, recent)
    assert torch.equal(stacked[1], result)


def test_a_newest_key_that_nothing_protects_leaves_at_once():
    scores, values = causal(drawn(5, 12, 12)), drawn(6, 12, 3)
    kept = kept_while_reading(scores, values, "mass", 4, recent=0)
    assert kept[-1].nonzero()[:, 0].tolist() == [0, 1, 2, 3]
    assert kept_while_reading(scores, values, "mass", 4)[-1, -1]


@given(st.integers(2, 9), st.integers(1, 5), SEEDS)
def test_of_a_single_key_the_exact_score_knows_everything(n, queries, seed):
    scores, values = 2 * drawn(seed, queries, n), drawn(seed + 1, n, 3)

    def error(kept):
        return float((mixed(scores, values, kept) - mixed(scores, values)).square().sum())

    exact = kept_keys(key_scores(scores, values, "exact"), n - 1).expand(queries, -1)
    without = [error((torch.arange(n) != key).expand(queries, -1)) for key in range(n)]
    assert error(exact) == pytest.approx(min(without))


@each([
    (lambda: kept_keys(torch.zeros(3), 0), "budget is 0; it must be a whole number from 1"),
    (lambda: kept_keys(torch.zeros(3), 2, recent=-1), "recent is -1"),
    (lambda: kept_keys(torch.tensor([0.0, -math.inf]), 2), "worth is -inf somewhere"),
    (lambda: kept_while_reading(torch.zeros(3, 4), torch.zeros(4, 2), "mass", 2),
     r"be \(..., T, T\)"),
    (lambda: key_scores(torch.zeros(1, 3), torch.zeros(3, 2), "luck"), "policy is 'luck'"),
])  # fmt: skip
def test_what_cannot_be_kept_says_why(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- One head -------------------------------------------------------------------------------------

BUDGETS = (2, 5, 9, 30)
REQUEST = EvictionRequest("value", 5, True)


@pytest.fixture(scope="module")
def tokens():
    return ar1_tokens(32, 8.0, seed=3)


@pytest.fixture(scope="module")
def evicted(tokens):
    return evict(tokens, REQUEST, BUDGETS)


def attention(of, queries, kept):
    """The outputs of ``queries`` over the keys ``kept``, one query at a time."""
    scores, rows = of.scores, []
    for query in queries:
        keys = [key for key in kept if key <= query]
        rows.append(scores[query, keys].softmax(-1) @ of.values[keys])
    return torch.stack(rows)


def test_errors_are_those_of_mixing_without_the_evicted(tokens, evicted):
    assert (evicted.prefill, evicted.length) == (24, 32)
    late = range(24, 32)
    full = attention(tokens, late, range(32))
    for p, policy in enumerate(POLICIES):
        worth = key_scores(tokens.scores[:24, :24], tokens.values[:24], policy)
        for row, recent in ((0, [1, 2, 4]), (1, [0, 0, 0])):
            for b, budget in enumerate(BUDGETS[:-1]):
                kept = kept_keys(worth, budget, recent[b]).nonzero()[:, 0].tolist()
                outputs = attention(tokens, late, [*kept, *late])
                expected = float((outputs - full).square().sum() / full.square().sum())
                assert evicted.errors[row, p, b] == pytest.approx(expected, rel=1e-9)
            chosen = kept_keys(worth, 5, recent[1]).numpy()
            np.testing.assert_array_equal(evicted.kept[row, p], chosen)
    assert not evicted.errors[:, :, -1].any()  # all keys stay


def test_keys_leave_one_by_one_and_the_newest_first_where_nothing_protects_it(tokens, evicted):
    assert evicted.seen_newest == 1
    bare = evict(tokens, EvictionRequest("mass", 5, False), BUDGETS)
    assert bare.seen_newest == pytest.approx(5 / 32)
    assert bare.reading_error > evict(tokens, EvictionRequest("mass", 5, True), (5,)).reading_error


def test_short_texts_are_refused():
    short = ar1_tokens(23)
    with pytest.raises(ValueError, match="23 tokens; it must have 24"):
        evict(short, REQUEST, BUDGETS)


def test_long_texts_are_read_in_part(tokens):
    long = ar1_tokens(600, 8.0)
    first = HeadSample(long.queries[:512], long.keys[:512], long.values[:512])
    both = [evict(of, EvictionRequest("recency", 4, True), (4,)) for of in (long, first)]
    assert both[0].length == 512
    np.testing.assert_array_equal(both[0].errors, both[1].errors)
