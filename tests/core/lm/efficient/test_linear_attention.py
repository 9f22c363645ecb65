"""Linear and hybrid attention against loops, and what they make of odd input."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.lm.efficient.linear import (
    elu_features,
    exponential_features,
    hybrid,
    linear_weights,
)


def drawn(seed, *shape, scale=1.0, dtype=torch.float64):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=draw, dtype=torch.float64).mul(scale).to(dtype)


def tokens(seed, batch, length, channels, scale=1.0, dtype=torch.float64):
    """Features of queries and keys, and values of three channels."""
    q, k = (
        elu_features(drawn(seed + n, *batch, length, channels, scale=scale, dtype=dtype))
        for n in range(2)
    )
    return q, k, drawn(seed + 2, *batch, length, 3, dtype=dtype)


def loops(q, k, v):
    """The same for one text, a number at a time."""
    q, k, v, outputs = q.tolist(), k.tolist(), v.tolist(), []
    for i in range(len(q)):
        shares = [math.fsum(a * b for a, b in zip(q[i], k[j], strict=True)) for j in range(i + 1)]
        outputs.append(
            [
                math.fsum(s * v[j][c] for j, s in enumerate(shares)) / math.fsum(shares)
                for c in range(len(v[0]))
            ]
        )
    return torch.tensor(outputs, dtype=torch.float64)


@given(
    seed=st.integers(0, 10**6),
    batch=st.sampled_from([(), (2,), (2, 0), (3, 1, 2)]),
    length=st.integers(1, 40),
    channels=st.integers(1, 6),
    scale=st.sampled_from([0.01, 1.0, 10.0]),
)
def test_causal_weights_are_those_of_loops(seed, batch, length, channels, scale):
    q, k, v = tokens(seed, batch, length, channels, scale)
    found = linear_weights(q, k, torch.ones(length, length, dtype=torch.bool).tril()) @ v
    assert found.shape == (*batch, length, 3)
    if 0 not in batch:
        first = (0,) * len(batch)
        plain = loops(q[first], k[first], v[first])
        torch.testing.assert_close(found[first], plain, rtol=1e-10, atol=1e-10)


def test_weights_are_an_average_of_what_is_seen_and_nothing_where_nothing_is():
    q, k, _ = tokens(1, (2,), 6, 4)
    mask = torch.ones(6, 6, dtype=torch.bool).tril()
    mask[3] = False
    weights = linear_weights(q, k, mask)
    assert not weights[:, ~mask].any()
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).double().expand(2, 6))
    ratios = (q[0, 5] @ k[0, 1]) / (q[0, 5] @ k[0, 2])
    torch.testing.assert_close(weights[0, 5, 1] / weights[0, 5, 2], ratios)
    assert not linear_weights(torch.zeros(6, 4), torch.zeros(6, 4), mask).any()
    hidden = k.clone()
    hidden[:, 5] = torch.nan  # the last key, which the queries before do not see
    torch.testing.assert_close(linear_weights(q, hidden, mask)[:, :5], weights[:, :5])


def test_features_are_those_of_their_formulas():
    x, weight = drawn(0, 5, 4, scale=3.0), drawn(1, 4, 4)
    want = [[c + 1 if c > 0 else math.exp(c) for c in row] for row in (x / 4**0.25).tolist()]
    torch.testing.assert_close(elu_features(x), torch.tensor(want, dtype=torch.float64))
    assert (elu_features(torch.tensor([-1e4, -300.0], dtype=torch.float64)) >= 0).all()
    features = exponential_features(x, weight)
    for row, logits in zip(features.tolist(), (x @ weight).tolist(), strict=True):
        up, down = ([math.exp(sign * c) for c in logits] for sign in (1, -1))
        assert row == pytest.approx([c / sum(up) for c in up] + [c / sum(down) for c in down])


def test_a_hybrid_is_a_mean_of_its_branches_and_loses_either():
    window, linear = drawn(0, 2, 3, 5, 5), drawn(1, 2, 3, 5, 5)
    share = torch.tensor([0.25, 0.5, 1.0], dtype=torch.float64).view(3, 1, 1)
    mixed = hybrid(window, linear, share)
    torch.testing.assert_close(mixed[:, 0], (window[:, 0] + 3 * linear[:, 0]) / 4)
    assert torch.equal(mixed[:, 2], window[:, 2])
    broken = torch.full_like(window, torch.nan)
    assert torch.equal(hybrid(window, broken, 1.0), window)
    assert torch.equal(hybrid(broken, linear, 0.0), linear)


Q, K, V = tokens(0, (), 4, 2)


def test_what_does_not_fit_says_why():
    for mask, message in ((torch.ones(4, 4), "mask is torch.float32; it must be bool"),
                          (torch.ones(4, 3).bool(), "last axis must have 4 keys")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            linear_weights(Q, K, mask)
    with pytest.raises(ValueError, match="features have the shapes"):
        linear_weights(Q, K[:, 1:], torch.ones(4, 4).bool())
    with pytest.raises(ValueError, match="x has shape"):
        exponential_features(Q, torch.ones(7, 7).double())
    with pytest.raises(ValueError, match="they must have the same"):
        hybrid(V, V[1:], 0.5)
    for share in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="share must be from 0 to 1"):
            hybrid(V, V, share)
