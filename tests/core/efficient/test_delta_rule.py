"""The gated delta rule: two forms against loops, a reference's numbers, and its laws."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.efficient import (
    delta_chunked,
    delta_weights,
    gated_output,
    log_decays,
    unit_length,
)


def tokens(seed, batch, length, channels, forgetting=0.5, scale=1.0):
    """Queries, keys, values of three channels, log decays and steps."""
    draw = torch.Generator().manual_seed(seed)
    q, k, v, a, b = (
        torch.randn(*batch, length, n, generator=draw, dtype=torch.float64) * scale
        for n in (channels, channels, 3, 1, 1)
    )
    return q, k, v, -forgetting * a[..., 0].abs(), b[..., 0].sigmoid()


def loops(q, k, v, log_decay, step):
    """Outputs and states of one text, a number at a time."""
    d, e = q.shape[-1], v.shape[-1]
    state, outputs, states = [[0.0] * d for _ in range(e)], [], []

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
        states.append(state)
        outputs.append(
            [sum(c * x for c, x in zip(row, query, strict=True)) / math.sqrt(d) for row in state]
        )
    return (torch.tensor(x, dtype=torch.float64) for x in (outputs, states))


@given(
    seed=st.integers(0, 10**6),
    batch=st.sampled_from([(), (2,), (2, 0), (3, 1, 2)]),
    length=st.integers(1, 24),
    channels=st.integers(1, 6),
    forgetting=st.sampled_from([0.0, 0.5, 1000.0]),
    scale=st.sampled_from([1e-3, 1.0, 10.0]),
    chunk=st.integers(1, 30),
)
def test_chunks_and_weights_are_loops(seed, batch, length, channels, forgetting, scale, chunk):
    q, k, v, a, b = tokens(seed, batch, length, channels, forgetting, scale)
    want, state = delta_chunked(q, k, v, a, b, chunk=chunk)
    assert (want.shape, state.shape) == ((*batch, length, 3), (*batch, 3, channels))
    last = (length + 1) // 2  # queries
    weights = delta_weights(q[..., -last:, :], k, a, b)
    torch.testing.assert_close(weights @ v, want[..., -last:, :], rtol=1e-10, atol=1e-10)
    assert not weights.triu(length - last + 1).any()
    if 0 not in batch:
        first = (0,) * len(batch)
        outputs, states = loops(*(x[first] for x in (q, k, v, a, b)))
        torch.testing.assert_close(want[first], outputs, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(state[first], states[-1], rtol=1e-10, atol=1e-10)


def test_a_public_reference_gives_these_numbers():
    """`torch_recurrent_gated_delta_rule` of Qwen3-Next in transformers 5.24.0, single precision."""
    n = torch.arange(1, 9, dtype=torch.float64)
    q, k, v = (torch.sin(n * factor).view(4, 2) for factor in (1.0, 2.0, 3.0))
    a, b = -torch.cos(n[:4]).square() / 2, torch.sin(n[:4]).square()
    outputs = [[0.0037114434, -0.0073485970], [-0.2340645194, 0.3007581830],
               [-0.0140313581, 0.0344480351], [0.1895106882, -0.2305652052]]  # fmt: skip
    left = [[0.4704989493, 0.0092819482], [-0.5206350088, -0.0456841737]]
    for result, want in zip(delta_chunked(q, k, v, a, b), (outputs, left), strict=True):
        torch.testing.assert_close(
            result, torch.tensor(want, dtype=torch.float64), rtol=0, atol=1e-6
        )


def test_reading_goes_on_from_a_state():
    parts = tokens(0, (2,), 20, 4)
    whole, state = delta_chunked(*parts)
    first, between = delta_chunked(*(x[:, :7] for x in parts))
    last, after = delta_chunked(*(x[:, 7:] for x in parts), between)
    torch.testing.assert_close(torch.cat((first, last), 1), whole, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(after, state, rtol=1e-12, atol=1e-12)


def test_a_token_that_is_masked_leaves_no_trace():
    q, k, v, a, b = tokens(0, (2,), 12, 4)
    seen = torch.arange(12) != 5
    masked, state = delta_chunked(q, k, v, a * seen, b * seen)
    rest, same = delta_chunked(*(x[:, seen] for x in (q, k, v, a, b)))
    torch.testing.assert_close(masked[:, seen], rest, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(state, same, rtol=1e-12, atol=1e-12)


def test_what_was_told_with_a_whole_step_is_recalled_at_once():
    _, k, v, a, b = tokens(0, (3,), 10, 5)
    outputs, _ = delta_chunked(k, k, v, a, torch.ones_like(b))
    torch.testing.assert_close(outputs * 5**0.5, v, rtol=0, atol=1e-5)  # unit lengths are not quite
    repeated, _ = delta_chunked(k, k, v, torch.zeros_like(a), torch.zeros_like(b))
    assert not repeated.any()


def test_single_precision_stays_single_even_where_all_is_forgotten():
    parts = tokens(0, (2,), 30, 4)
    single = [x.float() for x in parts]
    single[3][:, 3] = parts[3][:, 3] = -1e6
    outputs, _ = delta_chunked(*single)
    assert outputs.dtype == torch.float32
    torch.testing.assert_close(outputs.double(), delta_chunked(*parts)[0], rtol=1e-4, atol=1e-5)


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


Q, K, V, A, B = tokens(0, (), 4, 2)


@pytest.mark.parametrize(("parts", "message"), [
    ((Q, K[1:], V, A, B), "they must be"),
    ((Q[:0], K[:0], V[:0], A[:0], B[:0]), "T > 0"),
    ((Q, K, V, A[1:], B), r"log_decay has the shape \(3,\); it must be \(4,\)"),
    ((Q, K, V, A, B[None]), r"step has the shape \(1, 4\); it must be \(4,\)"),
    ((Q, K, V, 1 - A, B), "log_decay has positive values"),
    ((Q, K, V, A, B + 1), "step has values that are not from 0 to 1"),
    ((Q * math.nan, K, V, A, B), "queries contain NaN or infinite values"),
    ((Q, K, V.float(), A, B), "values are torch.float32 and queries torch.float64"),
    ((Q, K, V, A, B, torch.zeros(7, 7).double()), "state has the shape"),
    ((Q, K, V, A, B, None, 0), "chunk is 0; it must be a whole number from 1"),
])  # fmt: skip
def test_what_does_not_fit_says_why(parts, message):
    with pytest.raises(ValueError, match=message):
        delta_chunked(*parts)


@pytest.mark.parametrize("parts", [
    (Q, K[1:], A, B), (Q, K, A[1:], B), (Q, K, A, B[1:]), (Q[:, 1:], K, A, B), (Q[0], K, A, B),
])  # fmt: skip
def test_weights_are_of_sizes_that_fit(parts):
    with pytest.raises(ValueError, match="T <= n"):
        delta_weights(*parts)
