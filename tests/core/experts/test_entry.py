"""The terms of one entry: each is what it says, and their sum is the model's own number."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention import (
    GATE_KINDS,
    GATE_NAMES,
    GATE_POSITIONS,
    MECHANISMS,
    NORMS,
    AttentionConfig,
    GateConfig,
    build_attention,
)
from gating_core.experts import entry_maps, entry_tree

PER = ("elementwise", "headwise")
ROUNDING = 1e-14  # of the terms' sizes
AT = (0.3, -0.8)
PLAIN = AttentionConfig(
    "tokens", model_dim=6, heads=2, value_count=3, output_projection=True, gate=None
)
POINTS = st.tuples(*[st.floats(-2, 2)] * 2)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


@st.composite
def gates(draw):
    kind = draw(st.sampled_from([None, *GATE_KINDS]))
    if kind is None:
        return None
    strength = draw(st.sampled_from([0.0, 0.3, 1.0]))
    if kind not in GATE_NAMES:
        return GateConfig(kind, strength=strength)
    place = draw(st.sampled_from(GATE_POSITIONS))
    return GateConfig(kind, draw(st.sampled_from(PER)), place, strength)


@st.composite
def configs(draw):
    heads = draw(st.integers(1, 3))
    return AttentionConfig(
        source=draw(st.sampled_from([*MECHANISMS])),
        input_dim=2,
        model_dim=heads * draw(st.integers(1, 3)),
        heads=heads,
        value_count=draw(st.integers(2, 5)),
        depth=draw(st.integers(1, 3)),
        residual=draw(st.booleans()),
        norm=draw(st.sampled_from(NORMS)),
        output_projection=draw(st.booleans()),
        gate=draw(gates()),
    )


@given(configs(), st.integers(0, 99), POINTS, st.data())
def test_the_terms_add_up_to_the_forward_pass_of_any_model(config, seed, point, data):
    layer = data.draw(st.integers(0, config.depth - 1))
    channel = data.draw(st.integers(0, config.model_dim - 1))
    member = data.draw(st.integers(0, 1))
    model = build_attention(config, (seed, seed + 1))
    tree = entry_tree(model, point, channel, layer, member)
    every = [*model.states(model.embed(torch.tensor([point], dtype=torch.float64)))]
    shown = every[layer][member, 0, channel].item()
    assert tree.value == pytest.approx(shown, rel=1e-12, abs=1e-12)
    assert abs(tree.rounding) <= ROUNDING * tree.size
    assert tree.terms.shape == (config.heads, config.model_dim // config.heads, config.value_count)


def test_the_entry_of_a_single_member_is_the_forward_pass_bit_for_bit():
    model = build_attention(replace(PLAIN, gate=GateConfig()), (4,))
    own = model(torch.tensor([AT], dtype=torch.float64))[0, 0]
    assert [entry_tree(model, AT, j).value for j in range(6)] == own.tolist()


@pytest.mark.parametrize("per", PER)
@pytest.mark.parametrize("place", [None, *GATE_POSITIONS])
def test_terms_are_those_of_plain_loops(place, per):
    """From the weights alone, without a line of the core's."""
    gate = None if place is None else GateConfig("sigmoid", per, place, 0.7)
    model = build_attention(replace(PLAIN, gate=gate), (11,))
    (layer,) = model.blocks
    weights = {name: p[0].numpy() for name, p in model.named_parameters()}
    query, keys, values, out = (
        weights[f"layers.0.{name}"] for name in ("query", "key_map", "value_map", "projection")
    )
    tokens = [np.array(AT) @ weights["input_map"][t] + weights["input_bias"][t] for t in range(3)]

    def opened(position, t, h, c):
        if place != position:
            return 1.0
        z = tokens[t] @ weights["layers.0.gate.weight"] + weights["layers.0.gate.bias"].ravel()
        one = z[0] if len(z) == 1 else z[h] if per == "headwise" else z[3 * h + c]
        return 0.3 + 0.7 * sigmoid(one)

    j, (outer_head, outer_channel) = 4, (1, 1)
    tree = entry_tree(model, AT, j)
    for h in range(2):
        scores = [
            sum(
                (tokens[0] @ query)[3 * h + c]
                * opened("G4", 0, h, c)
                * (tokens[t] @ keys)[3 * h + c]
                * opened("G3", t, h, c)
                for c in range(3)
            )
            / np.sqrt(3)
            for t in range(3)
        ]
        shares = np.exp(scores) / np.exp(scores).sum()
        for c in range(3):
            for t in range(3):
                gives = tokens[t] @ values[:, 3 * h + c]
                term = (
                    opened("G5", 0, outer_head, outer_channel)
                    * out[3 * h + c, j]
                    * opened("G1", 0, h, c)
                    * shares[t]
                    * opened("G2", t, h, c)
                    * gives
                )
                assert tree.terms[h, c, t] == pytest.approx(term, rel=1e-12)
                assert tree.experts[h, t, c] == pytest.approx(gives, rel=1e-12)
            assert tree.gates[h, c] == pytest.approx(opened("G1", 0, h, c))
        np.testing.assert_allclose(tree.weights[h], shares, rtol=1e-12)
    assert layer.gate is None or layer.gate.config.position == place


@pytest.mark.parametrize("place", GATE_POSITIONS)
def test_a_gate_of_no_strength_leaves_every_term_as_it_is(place):
    plain = entry_tree(build_attention(PLAIN, (2,)), AT, 0)
    idle = replace(PLAIN, gate=GateConfig(position=place, strength=0.0))
    assert np.array_equal(entry_tree(build_attention(idle, (2,)), AT, 0).terms, plain.terms)


def test_an_additive_control_is_a_term_of_its_own_and_a_residual_another():
    gate = GateConfig("additive", strength=0.5)
    tree = entry_tree(build_attention(replace(PLAIN, gate=gate, residual=True), (2,)), AT, 1)
    assert np.abs(tree.added_terms).min() > 0
    assert tree.residual != 0
    assert tree.total == pytest.approx(
        tree.terms.sum() + tree.added_terms.sum() + tree.residual, rel=1e-13
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"channel": 6}, "channel is 6; it must be a whole number from 0 to 5"),
        ({"channel": 0.5}, "channel is 0.5"),
        ({"layer": 1}, "layer is 1; it must be a whole number from -1 to 0"),
        ({"member": 1}, "index is 1"),
        ({"point": (1.0,)}, "it must be 2 finite numbers for this model"),
        ({"point": (float("nan"), 0.0)}, "it must be 2 finite numbers for this model"),
    ],
)
def test_wrong_arguments_are_one_sentence(change, words):
    arguments = {"point": AT, "channel": 0, **change}
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        entry_tree(build_attention(PLAIN, (0,)), **arguments)


@pytest.mark.parametrize("per", PER)
@pytest.mark.parametrize("place", GATE_POSITIONS)
def test_affine_maps_give_what_the_model_computes_before_its_nonlinearities(place, per):
    """At an input of its own: the maps are read off at three others."""
    model = build_attention(replace(PLAIN, gate=GateConfig("sigmoid", per, place)), (5,))
    maps, tree = entry_maps(model), entry_tree(model, AT, 4)
    at = np.array([1.0, *AT])
    np.testing.assert_allclose(np.tensordot(at, maps.values, 1), tree.experts, rtol=1e-12)
    np.testing.assert_allclose(maps.projection[..., 4], tree.projection, rtol=0)
    tokens = np.tensordot(at, maps.tokens, 1)
    experts = np.einsum("nD,hcD->hnc", tokens, maps.value_map)
    np.testing.assert_allclose(experts, tree.experts, rtol=1e-12)
    opened = sigmoid(np.tensordot(at, maps.gate_logits, 1))  # (n or 1, H, d)
    assert len(opened) == (3 if place in ("G2", "G3") else 1)
    if place == "G1":
        np.testing.assert_allclose(opened[0], tree.gates, rtol=1e-12)
    elif place == "G2":
        np.testing.assert_allclose(opened.transpose(1, 0, 2), tree.value_gates, rtol=1e-12)
    elif place == "G5":
        assert opened[0, 1, 1] == pytest.approx(tree.outside, rel=1e-12)
    else:
        factors = np.broadcast_to(opened, (3, 2, 3))  # of keys, or of the query for every key
        queries, keys = np.tensordot(at, maps.queries, 1), np.tensordot(at, maps.keys, 1)
        scores = np.einsum("hc,htc,thc->ht", queries, keys, factors) / np.sqrt(3)
        shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        np.testing.assert_allclose(shares, tree.weights, rtol=1e-12)


@pytest.mark.parametrize(
    "change",
    [{"source": "memory"}, {"depth": 2}, {"residual": True}, {"norm": "pre"},
     {"output_projection": False}, {"gate": GateConfig("additive")}],
)  # fmt: skip
def test_what_is_no_affine_map_of_the_input_is_refused(change):
    with pytest.raises(ValueError, match="only one layer among tokens"):
        entry_maps(build_attention(replace(PLAIN, **change), (0,)))
