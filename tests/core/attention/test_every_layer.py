"""The outputs after layer l are those of the stack cut there, and flat where theory says so."""

from dataclasses import replace

import pytest
import torch

from gating_core.attention import AttentionConfig, EveryLayer, GateConfig, build_attention
from gating_core.geometry import curvature, square_grid
from gating_core.geometry.flatness import flatness_proofs
from gating_core.jets import second_order_jet

GATE = GateConfig()
POINTS = square_grid(7).points
CONFIGS = {
    "memory": AttentionConfig(depth=5, value_count=6, gate=GATE),
    "residual": AttentionConfig(depth=5, value_count=6, residual=True, norm="pre", gate=GATE),
    "post": AttentionConfig(depth=5, model_dim=4, norm="post", output_projection=True),
    "tokens": AttentionConfig("tokens", depth=4, residual=True, gate=GATE),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_layer_l_is_the_stack_cut_after_l_layers(name):
    """A second stack of l layers with the same weights: derivatives and bounds as well."""
    config = CONFIGS[name]
    whole = second_order_jet(EveryLayer(build_attention(config, (0, 7))), POINTS, "rigorous")
    for depth in range(1, config.depth + 1):
        cut = build_attention(replace(config, depth=depth), (0, 7))
        alone = second_order_jet(cut, POINTS, "rigorous")
        here = whole.stack[:, depth - 1]
        if name != "tokens":
            assert torch.equal(here, alone.stack)
            assert torch.equal(whole.errors[:, depth - 1], alone.errors)
        else:  # the last layer of the cut stack computes one token alone
            within = whole.errors[:, depth - 1] + alone.errors
            assert ((here - alone.stack).abs() <= within).all()
        if depth > 1:  # a layer earlier it is another surface, by far
            off = (whole.stack[:, depth - 2] - alone.stack).abs().amax((0, 2, 3))
            assert (off > 1e3 * alone.errors.amax((0, 2, 3))).all()


FLAT = AttentionConfig(depth=6)  # one head, three values, no gate
NOT_FLAT = {
    "gate": replace(FLAT, gate=GATE),
    "four values": replace(FLAT, value_count=4),
    "two heads": replace(FLAT, model_dim=4, heads=2),
    "residual": replace(FLAT, residual=True),
    "normalisation": replace(FLAT, model_dim=4, norm="post"),
}


def test_an_ungated_stack_of_one_head_and_three_values_is_flat_at_every_layer():
    layers = EveryLayer(build_attention(FLAT, range(4)))
    jet = second_order_jet(layers, POINTS, "rigorous")
    proofs = flatness_proofs(layers, jet.value)
    assert proofs == ("it lies in the plane of three fixed values",) * 24
    field = curvature(jet)
    assert field.flat[field.resolved].all()
    assert field.resolved[:3].all()


def test_a_layer_is_flat_by_its_own_values():
    """Where the last layer's lie on a line, there is no surface to be flat; before it there is."""
    model = build_attention(FLAT, (0,))
    values = model.blocks[-1].values.data
    values[:, 2] = 2 * values[:, 1] - values[:, 0]
    layers = EveryLayer(model)
    proofs = flatness_proofs(layers, layers(POINTS))
    assert [proof is None for proof in proofs] == [False] * 5 + [True]


@pytest.mark.parametrize("name", NOT_FLAT)
def test_others_are_not(name):
    layers = EveryLayer(build_attention(NOT_FLAT[name], range(4)))
    jet = second_order_jet(layers, POINTS, "rigorous")
    assert set(flatness_proofs(layers, jet.value)) == {None}
    assert curvature(jet).decided.any(-1)[:2].all()


def test_weights_must_be_finite():
    model = build_attention(FLAT, (0,))
    model.input_bias.data[0, 0] = torch.nan
    with pytest.raises(ValueError, match="input_bias contains NaN"):
        EveryLayer(model)
