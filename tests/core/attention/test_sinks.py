"""A sink logit is a scalar gate of each head, and one more slot with key 0 and value 0."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention.charts import weight_chart
from gating_core.attention.config import MECHANISMS, AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import measure_surface
from gating_core.jets.second_order import nested_jet, second_order_jet
from gating_core.randomness import generator
from gating_core.theory import four_key_curvature, with_sink
from tests.core import exact
from tests.profiles import fuzz

POINTS = torch.rand(9, 2, generator=generator(2, "test"), dtype=torch.float64) * 2 - 1
SOFTMAX = [source for source, layer in MECHANISMS.items() if layer.has_softmax]
SINKS = ("zero", "learned")


def both(config, seeds=(3, 8)):
    """A model with a sink, and the same without."""
    return build_attention(config, seeds), build_attention(replace(config, sink="none"), seeds)


def sink_of(layer):
    """(S, H): the sink logits."""
    if layer.sink is None:
        return torch.zeros(len(layer.query), layer.config.heads, dtype=torch.float64)
    return layer.sink


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("source", SOFTMAX)
def test_all_other_weights_are_those_without_a_sink(source, sink):
    sunk, plain = both(AttentionConfig(source, model_dim=4, heads=2, depth=2, sink=sink))
    states, others = sunk.state_dict(), plain.state_dict()
    assert all(torch.equal(states[name], x) for name, x in others.items())
    added = {"layers.0.sink", "layers.1.sink"} if sink == "learned" else set()
    assert states.keys() - others.keys() == added
    for name in added:
        assert states[name].shape == (2, 2)
        assert len(states[name].unique()) == 4


@pytest.mark.parametrize("sink", SINKS)
def test_over_slots_it_equals_a_gate_on_the_total_of_exponentials(sink):
    """g = Z / (Z + e^s) for each head, Z from the logits."""
    sunk, plain = both(AttentionConfig(model_dim=6, value_count=5, heads=2, sink=sink))
    records, before = [], []
    out, ungated = sunk(POINTS, records), plain(POINTS, before)
    layer = sunk.blocks[0]
    logits = torch.einsum("snd,shdk->shnk", sunk.embed(POINTS), layer.logit_map())
    total = (logits + layer.bias.unsqueeze(2)).exp().sum(-1)  # (S, H, N)
    gate = total / (total + sink_of(layer).exp().unsqueeze(-1))
    gated = ungated.unflatten(-1, (2, 3)) * gate.permute(0, 2, 1).unsqueeze(-1)
    torch.testing.assert_close(out, gated.flatten(-2), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(records[0].weights, before[0].weights * gate.unsqueeze(-1))
    assert not records[0].on_simplex
    torch.testing.assert_close(records[0].shares, before[0].weights)


@pytest.mark.parametrize("sink", SINKS)
def test_over_slots_it_equals_one_more_slot_with_key_0_and_value_0(sink):
    config = AttentionConfig(model_dim=6, value_count=3, heads=2, sink=sink, depth=2)
    sunk, _ = both(config)
    wider = build_attention(replace(config, value_count=4, sink="none"), (3, 8))
    wider.input_map.data, wider.input_bias.data = sunk.input_map.data, sunk.input_bias.data
    for layer, other in zip(sunk.blocks, wider.blocks, strict=True):
        other.query.data = layer.query.data
        for name in ("keys", "values"):
            own = getattr(layer, name).data
            getattr(other, name).data = torch.cat([own, torch.zeros_like(own[:, :1])], 1)
        other.bias.data = torch.cat([layer.bias, sink_of(layer).unsqueeze(-1)], -1)
    torch.testing.assert_close(sunk(POINTS), wider(POINTS), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("source", SOFTMAX)
def test_a_sink_far_below_changes_nothing_and_one_far_above_takes_all(source):
    sunk, plain = both(AttentionConfig(source, sink="learned"))
    sunk.blocks[0].sink.data.fill_(-60.0)
    torch.testing.assert_close(sunk(POINTS), plain(POINTS), rtol=1e-14, atol=1e-15)
    sunk.blocks[0].sink.data.fill_(800.0)
    assert not sunk(POINTS).any()


CONFIGS = st.builds(
    lambda source, heads, sink, **parts: AttentionConfig(
        source, model_dim=3 * heads, heads=heads, sink=sink, **parts
    ),
    st.sampled_from(SOFTMAX),
    st.integers(1, 2),
    st.sampled_from(SINKS),
    depth=st.integers(1, 2),
    value_count=st.integers(2, 4),
    residual=st.booleans(),
    gate=st.none() | st.builds(GateConfig, position=st.sampled_from(["G1", "G3", "G4"])),
)


@fuzz(6, soak=100)
@given(config=CONFIGS, seed=st.integers(0, 1000))
def test_jets_and_a_second_implementation_agree(config, seed):
    model = build_attention(config, (seed,))
    point = POINTS[:1]
    jet = second_order_jet(model, point, "rigorous")
    assert jet.bound_kind == "rigorous"
    torch.testing.assert_close(jet.stack, nested_jet(model, point).stack, rtol=1e-9, atol=1e-11)
    u, v = point[0].tolist()
    true = exact.jet(lambda m, *x: exact.attention(m, model, list(x))[0], u, v)
    with mpmath.workdps(exact.DIGITS):
        for row, error, own in zip(
            jet.stack[:, 0, :, 0], jet.errors[:, 0, :, 0], true, strict=True
        ):
            for found, bound, wanted in zip(row.tolist(), error.tolist(), own, strict=True):
                assert abs(mpmath.mpf(found) - wanted) <= bound + exact.OWN_ERROR


@pytest.mark.parametrize("sink", SINKS)
def test_with_three_slots_k_has_the_sign_of_four_keys(sink):
    """As of the four slots that `with_sink` makes, and measured at points."""
    signs = set()
    for seed in range(12):
        model = build_attention(AttentionConfig(sink=sink), (seed,))
        layer = model.blocks[0]
        surface = measure_surface(model, square_grid(9))
        (proof,), (verdict,) = surface.signs, surface.verdicts
        assert not (surface.sign == -proof.sign).any()
        assert verdict.one_sign.endswith(" (the sink's key is 0)")
        keys = (model.input_map[0] @ layer.logit_map()[0, 0]).mT
        biases = layer.bias[0, 0] + model.input_bias[0] @ layer.logit_map()[0, 0]
        slots = with_sink(keys, biases, layer.values[0], float(sink_of(layer)))
        found = four_key_curvature(*slots, square_grid(9).points)
        assert found.sign == proof.sign
        close = np.isclose(found.gaussian.reshape(9, 9), surface.gaussian[0], rtol=1e-6)
        assert close[surface.gaussian_error[0] < 1e-7 * np.abs(surface.gaussian[0])].all()
        signs.add(proof.sign)
    assert signs == {1, -1}


def test_with_two_slots_it_is_flat_and_with_four_both_signs_occur():
    flat = measure_surface(
        build_attention(AttentionConfig(value_count=2, sink="learned"), (1,)), square_grid(9)
    )
    assert flat.proof == ("it lies in the plane of three fixed values, one of them the sink's 0",)
    assert ((abs(flat.gaussian) <= flat.gaussian_error) | ~flat.resolved).all()
    four = AttentionConfig(value_count=4, sink="learned")
    signs = (
        measure_surface(build_attention(four, (seed,)), square_grid(15)).sign for seed in range(20)
    )
    assert any((sign == 1).any() and (sign == -1).any() for sign in signs)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="sink is 'some'; it must be one of 'none', 'zero'"):
        AttentionConfig(sink="some")
    for source in set(MECHANISMS) - {*SOFTMAX}:
        with pytest.raises(ValueError, match=f"'{source}'; a sink needs softmax.*memory, tokens"):
            AttentionConfig(source, sink="zero")
    with pytest.raises(ValueError, match="because beside a sink the weights do not add up to one"):
        weight_chart(build_attention(AttentionConfig(sink="zero")))
    assert math.isfinite(float(build_attention(AttentionConfig(sink="zero"))(POINTS).sum()))
