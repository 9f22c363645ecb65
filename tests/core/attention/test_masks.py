"""Masks over tokens and the readout of all tokens: off by default, and right where they are on."""

import pytest
import torch

from gating_core.attention import (
    AttentionConfig,
    GateConfig,
    build_attention,
    causal_mask,
)
from gating_core.jets import second_order_jet
from gating_core.randomness import generator

POINTS = torch.rand(9, 2, generator=generator(3, "test"), dtype=torch.float64) * 2 - 1
TOKENS = AttentionConfig(
    "tokens",
    model_dim=6,
    value_count=4,
    heads=2,
    depth=2,
    residual=True,
    gate=GateConfig("silu", position="G2"),
)


def test_all_tokens_are_read_out_and_the_first_is_the_model():
    model = build_attention(TOKENS, (0, 5))
    whole = model(POINTS, readout="all")
    assert whole.shape == (2, 4, 9, 6)
    assert torch.equal(whole[:, 0], model(POINTS))
    jet = second_order_jet(lambda p: model(p, readout="all"), POINTS, "rigorous")
    torch.testing.assert_close(jet.value, whole, rtol=1e-12, atol=1e-14)


def test_a_masked_token_changes_nothing_before_it():
    model = build_attention(TOKENS, (0, 5))
    before = model(POINTS, mask=causal_mask(4), readout="all")
    model.input_map.data[:, 2] += 1  # token 3
    after = model(POINTS, mask=causal_mask(4), readout="all")
    assert torch.equal(before[:, :2], after[:, :2])
    assert not torch.isclose(before[:, 2:], after[:, 2:]).all(-1).any()
    assert torch.equal(model(POINTS, mask=causal_mask(4)), after[:, 0])


def test_masks_are_those_of_torch_scaled_dot_product_attention():
    config = AttentionConfig("tokens", model_dim=6, value_count=4, heads=2)
    model, mask = build_attention(config, (1,)), torch.rand(4, 4) < 0.5
    mask |= torch.eye(4, dtype=torch.bool)
    states, layer = model.embed(POINTS).transpose(1, 2), model.blocks[0]  # (S, N, n, D)
    query, keys, values = (
        (states @ matrix.unsqueeze(1)).unflatten(-1, (2, 3)).transpose(2, 3)
        for matrix in (layer.query, layer.key_map, layer.value_map)
    )
    for one in (mask, causal_mask(4)):
        out = torch.nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=one)
        wanted = out.transpose(2, 3).flatten(-2).transpose(1, 2)
        torch.testing.assert_close(
            model(POINTS, mask=one, readout="all"), wanted, rtol=1e-12, atol=1e-14
        )
    everything = torch.ones(4, 4, dtype=torch.bool)
    assert torch.equal(model(POINTS, mask=everything), model(POINTS))


@pytest.mark.parametrize("more", [dict(mask=causal_mask(3)), dict(readout="all")])
def test_slots_have_neither(more):
    with pytest.raises(ValueError, match="source is 'memory'; a mask and the readout 'all' need"):
        build_attention(AttentionConfig())(POINTS, **more)


def test_other_readouts_are_refused():
    with pytest.raises(ValueError, match="readout is 'last'"):
        build_attention(TOKENS)(POINTS, readout="last")
