"""Does one head lose what mixing without the evicted keys says?"""

import numpy as np
import pytest
import torch

from gating_core.efficient import (
    POLICIES,
    HeadSample,
    ar1_tokens,
    kept_keys,
    key_scores,
)
from gating_core.lm.approximations.eviction import EvictionRequest, evict

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
