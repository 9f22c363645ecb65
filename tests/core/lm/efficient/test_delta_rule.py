"""The gated delta rule as weights: against loops, and a reference's numbers."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.lm.efficient.linear import delta_weights, gated_output, log_decays, unit_length


def tokens(seed, batch, length, channels, forgetting=0.5, scale=1.0):
    """Queries, keys, values of three channels, log decays and steps."""
    draw = torch.Generator().manual_seed(seed)
    q, k, v, a, b = (
        torch.randn(*batch, length, n, generator=draw, dtype=torch.float64) * scale
        for n in (channels, channels, 3, 1, 1)
    )
    return q, k, v, -forgetting * a[..., 0].abs(), b[..., 0].sigmoid()


def loops(q, k, v, log_decay, step):
    """Outputs of one text, a number at a time."""
    d, e = q.shape[-1], v.shape[-1]
    state, outputs = [[0.0] * d for _ in range(e)], []

    def unit(x):
        length = math.sqrt(sum(c * c for c in x) + 1e-6)
        return [c / length for c in x]

    rows = zip(*(x.tolist() for x in (q, k, v, log_decay, step)), strict=True)
    for query, key, value, log_a, b in rows:
        query, key = unit(query), unit(key)
        state = [[math.exp(log_a) * c for c in row] for row in state]
        recalled = [sum(c * x for c, x in zip(row, key, strict=True)) for row in state]
        state = [
            [c + b * (value[i] - recalled[i]) * key[j] for j, c in enumerate(row)]
            for i, row in enumerate(state)
        ]
        outputs.append(
            [sum(c * x for c, x in zip(row, query, strict=True)) / math.sqrt(d) for row in state]
        )
    return torch.tensor(outputs, dtype=torch.float64)


@given(
    seed=st.integers(0, 10**6),
    batch=st.sampled_from([(), (2,), (2, 0), (3, 1, 2)]),
    length=st.integers(1, 24),
    channels=st.integers(1, 6),
    forgetting=st.sampled_from([0.0, 0.5, 1000.0]),
    scale=st.sampled_from([1e-3, 1.0, 10.0]),
)
def test_weights_are_loops(seed, batch, length, channels, forgetting, scale):
    q, k, v, a, b = tokens(seed, batch, length, channels, forgetting, scale)
    last = (length + 1) // 2  # queries
    weights = delta_weights(q[..., -last:, :], k, a, b)
    assert weights.shape == (*batch, last, length)
    assert not weights.triu(length - last + 1).any()
    if 0 not in batch:
        first = (0,) * len(batch)
        want = loops(*(x[first] for x in (q, k, v, a, b)))[-last:]
        torch.testing.assert_close((weights @ v)[first], want, rtol=1e-10, atol=1e-10)


def test_a_public_reference_gives_these_numbers():
    """`torch_recurrent_gated_delta_rule` of Qwen3-Next in transformers 5.24.0, single precision."""
    n = torch.arange(1, 9, dtype=torch.float64)
    q, k, v = (torch.sin(n * factor).view(4, 2) for factor in (1.0, 2.0, 3.0))
    a, b = -torch.cos(n[:4]).square() / 2, torch.sin(n[:4]).square()
    want = [[0.0037114434, -0.0073485970], [-0.2340645194, 0.3007581830],
            [-0.0140313581, 0.0344480351], [0.1895106882, -0.2305652052]]  # fmt: skip
    found = delta_weights(q, k, a, b) @ v
    torch.testing.assert_close(found, torch.tensor(want).double(), rtol=0, atol=1e-6)


def test_the_parts_of_a_layer_are_those_of_their_formulas():
    draw = torch.Generator().manual_seed(0)
    x, z, logits = (torch.randn(4, 3, generator=draw, dtype=torch.float64) for _ in range(3))
    gain, rate = torch.tensor([1.0, 2.0, -1.0]).double(), torch.tensor([-1.0, 0.0, 2.0]).double()
    gates = z / (1 + (-z).exp())
    want = x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * gain * gates
    torch.testing.assert_close(gated_output(x, z, gain), want)
    torch.testing.assert_close(log_decays(logits, rate), -rate.exp() * (1 + logits.exp()).log())
    torch.testing.assert_close(
        unit_length(x).norm(dim=-1), torch.ones(4).double(), atol=1e-5, rtol=0
    )
    assert not unit_length(torch.zeros(2)).any()


Q, K, _, A, B = tokens(0, (), 4, 2)


@pytest.mark.parametrize("parts", [
    (Q, K[1:], A, B), (Q, K, A[1:], B), (Q, K, A, B[1:]), (Q[:, 1:], K, A, B), (Q[0], K, A, B),
])  # fmt: skip
def test_weights_are_of_sizes_that_fit(parts):
    with pytest.raises(ValueError, match="T <= n"):
        delta_weights(*parts)
