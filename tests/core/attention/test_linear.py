"""Linear attention over slots: the paper's definition, and the curvature of its outputs."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core.attention.charts import weight_chart
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.mechanisms import feature_map
from gating_core.attention.stack import build_attention
from gating_core.geometry.grid import square_grid
from gating_core.jets.second_order import nested_jet, second_order_jet

GRID = square_grid(21)
LINEAR = AttentionConfig("linear")
SUM = AttentionConfig("unnormalised")
BOTH = [LINEAR, SUM]


def phi(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def test_the_feature_map_is_elu_plus_one_and_accurate_at_both_ends():
    x = torch.tensor([-700.0, -30.0, -1e-9, 0.0, 1e-9, 2.0, 1e300], dtype=torch.float64)
    torch.testing.assert_close(feature_map(x), torch.from_numpy(phi(x.numpy())), rtol=1e-15, atol=0)
    torch.testing.assert_close(feature_map(x), torch.nn.functional.elu(x) + 1)


def test_keys_far_below_zero_are_compared_as_softmax_compares_them():
    """phi of all keys underflows there, and one channel of them weighs all slots alike."""
    model = build_attention(replace(LINEAR, model_dim=2, heads=2, value_count=4), (3,))
    (layer,) = model.blocks
    layer.keys.data = -1e3 - layer.keys.data.abs()
    shares = torch.softmax(layer.keys, 1).mT  # (S, H, n): one channel a head
    records = []
    out = model(GRID.points, records)
    assert torch.isfinite(out).all()
    torch.testing.assert_close(
        records[0].weights, shares.unsqueeze(2).expand(-1, -1, len(GRID.points), -1)
    )
    assert torch.isfinite(layer.mixed_values()).all()


@pytest.mark.parametrize("config", BOTH, ids=lambda config: config.source)
def test_derivatives_are_those_of_nested_forward_mode_within_rigorous_bounds(config):
    gate = GateConfig("silu", "headwise", "G4")
    config = replace(config, model_dim=4, heads=2, depth=2, residual=True, gate=gate)
    model = build_attention(config, (0, 1))
    points = GRID.points[::17]
    jet, nested = second_order_jet(model, points, "rigorous"), nested_jet(model, points)
    assert jet.bound_kind == "rigorous"
    own = 1e-12 * nested.stack.abs().amax((1, 2, 3), keepdim=True)
    assert ((jet.stack - nested.stack).abs() <= jet.errors + own).all()


def test_at_the_kink_derivatives_are_those_of_the_left_and_no_bound_is_claimed():
    """phi'' jumps from 1 to 0 where its argument is 0; phi and phi' do not."""
    points = torch.tensor([[0.0, 0.5], [-1e-9, 0.5], [1e-9, 0.5]], dtype=torch.float64)
    jet = second_order_jet(lambda p: feature_map(p[:, :1]), points, "rigorous")
    torch.testing.assert_close(jet.value[:, 0], torch.ones(3).double(), rtol=0, atol=1e-8)
    torch.testing.assert_close(jet.first[:, 0, 0], torch.ones(3).double(), rtol=0, atol=1e-8)
    torch.testing.assert_close(jet.second[:, 0, 0, 0], torch.tensor([1.0, 1, 0]).double())
    torch.testing.assert_close(nested_jet(lambda p: feature_map(p[:, :1]), points).stack, jet.stack)
    by_rounding = second_order_jet(lambda p: feature_map(p[:, :1] * (1 / 3)), points, "rigorous")
    assert by_rounding.bound_kind == "estimate"


@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_head_of_d_channels_mixes_d_vectors_at_most(count):
    """Outputs are averages of `mixed_values`: solved for, their weights are on the simplex."""
    config = replace(LINEAR, model_dim=6, heads=2, value_count=count)
    model = build_attention(config, (4,))
    mixed = model.blocks[0].mixed_values()[0]
    assert len(mixed) == min(count, 3)
    for head in range(2):
        part = slice(3 * head, 3 * head + 3)
        vectors, out = (
            torch.nn.functional.pad(x[:, part], (0, 1), value=1.0)
            for x in (mixed, model(GRID.points)[0])
        )
        weights = out @ torch.linalg.pinv(vectors)
        torch.testing.assert_close(weights @ vectors, out)
        assert (weights > -1e-12).all()


@pytest.mark.parametrize("config", BOTH, ids=lambda config: config.source)
def test_there_is_no_weight_chart(config):
    with pytest.raises(ValueError, match=f"source is '{config.source}'; .* linear attention"):
        weight_chart(build_attention(config))
