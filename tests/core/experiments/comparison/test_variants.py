"""Every variant of attention computes what its name says: a plain reference agrees."""

import math
from dataclasses import replace

import pytest
import torch

from gating_core.attention.charts import weight_chart
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.gates import CONTROL_NAMES
from gating_core.attention.stack import build_attention, build_classifier, parameter_count
from gating_core.experiments.comparison.setting import VARIANTS, variant_config
from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import square_grid
from gating_core.jets.second_order import second_order_jet
from gating_core.randomness import generator
from gating_core.training.trainer import batches_of
from tests.core import exact

POINTS = torch.rand(9, 2, generator=generator(0, "test"), dtype=torch.float64) * 2 - 1
MEMORY = AttentionConfig(model_dim=6, value_count=4, heads=2)
TOKENS = replace(MEMORY, source="tokens")


def base_of(name):
    return TOKENS if name == "value" else MEMORY


def added(layer, states):
    return torch.sigmoid(states @ layer.gate.weight[0] + layer.gate.bias[0])


CONTROLS = {  # of the ungated outputs y, at full strength
    "half": lambda y, *_: y / 2,
    "pointwise": lambda y, *_: y * torch.sigmoid(y),
    "additive": lambda y, layer, states: y + added(layer, states),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("strength", [0.4, 1.0])
@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "value"])
def test_variants_of_memory_models_against_a_plain_reference(name, strength):
    """A control is a function of what the model without a gate puts out: weights are the same."""
    config = variant_config(name, MEMORY)
    if config.gate is not None:
        config = replace(config, gate=replace(config.gate, strength=strength))
    model = build_attention(config, (3,))
    if name in CONTROLS:
        y = build_attention(MEMORY, (3,))(POINTS)[0]
        whole = CONTROLS[name](y, model.blocks[0], model.embed(POINTS)[0])
        wanted = (1 - strength) * y + strength * whole
    else:
        plain = [exact.attention(math, model, point)[0] for point in POINTS.tolist()]
        wanted = torch.tensor(plain, dtype=torch.float64)
    torch.testing.assert_close(model(POINTS)[0], wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("name", "flat"), [("ungated", True), ("half", True), ("pointwise", False), ("sigmoid", False)]
)
def test_controls_on_the_attention_weight_chart(name, flat):
    """A constant keeps the plane; a nonlinear function of the output curves it, as a gate does."""
    chart = weight_chart(build_attention(variant_config(name, AttentionConfig()), (1,)))
    looks = []
    grid = square_grid(9)
    chart(grid.points, looks)
    # What reads the state needs the input behind the weights; a control of the output does not.
    assert chart.inputs_known == (name == "sigmoid")
    assert (looks[0].gate is None) == (name == "ungated")
    field = curvature(second_order_jet(_bent(chart), grid.points, "rigorous"))
    assert bool(field.flat.all()) == flat
    assert field.resolved.all()


def _bent(chart):
    """The chart in other coordinates: on affine ones a plane has no second derivatives at all."""
    return lambda points: chart(points + 0.05 * torch.sin(2 * points))


def test_parameters_are_counted_by_hand():
    base = AttentionConfig(model_dim=8)
    ungated = (2 * 8 + 8) + (8 * 8 + 2 * 3 * 8 + 3) + (8 * 2 + 2)  # input, layer, classifier
    counts = {"ungated": 0, "sigmoid": 72, "headwise": 9, "silu": 72, "tanh": 72, "half": 0,
              "additive": 72, "pointwise": 0}  # fmt: skip
    for name, extra in counts.items():
        assert parameter_count(variant_config(name, base)) == ungated + extra, name
    assert parameter_count(base, class_count=4) == ungated + 18


@pytest.mark.parametrize(
    ("base", "like", "dim"),
    [
        (AttentionConfig(model_dim=8), "sigmoid", 11),  # 247 parameters for 229; at 10 it has 215
        (AttentionConfig(model_dim=8), "headwise", 9),
        (AttentionConfig(model_dim=8, heads=2), "sigmoid", 12),
        (AttentionConfig(model_dim=8), "half", 8),
    ],
)
def test_the_matched_model_is_the_narrowest_that_has_enough(base, like, dim):
    matched = variant_config("matched", base, like=like)
    wanted = parameter_count(variant_config(like, base))
    assert matched == replace(base, model_dim=dim)
    assert parameter_count(matched) >= wanted
    if dim > base.model_dim:
        narrower = replace(matched, model_dim=dim - base.heads)
        assert parameter_count(narrower) < wanted


def test_what_can_be_trained_together():
    names = ("ungated", "sigmoid", "headwise", "silu", "half", "matched")
    configs = {name: variant_config(name, AttentionConfig(model_dim=8)) for name in names}
    configs["weak"] = replace(configs["silu"], gate=GateConfig("silu", strength=0.5))
    assert batches_of(configs) == [
        ("ungated", "sigmoid"), ("headwise",), ("silu", "weak"), ("half",), ("matched",)
    ]  # fmt: skip
    assert batches_of({"ungated": AttentionConfig()}) == [("ungated",)]


@pytest.mark.parametrize(
    ("name", "base", "message"),
    [
        ("gated", MEMORY, "variant is 'gated'"),
        ("value", MEMORY, "source is 'memory'; the variant 'value' needs 'tokens'"),
        ("matched", AttentionConfig(model_dim=256), "model_dim is 256"),
    ],
)
def test_wrong_variants_are_refused(name, base, message):
    with pytest.raises(ValueError, match=message):
        variant_config(name, base)
    assert variant_config("sigmoid", base).gate is not None


@pytest.mark.parametrize("kind", CONTROL_NAMES)
def test_controls_have_one_place(kind):
    assert GateConfig(kind).record.reads_state == (kind == "additive")
    for wrong in (dict(granularity="headwise"), dict(position="G2"), dict(position="G5")):
        with pytest.raises(ValueError, match=f"control '{kind}' must be elementwise at G1"):
            GateConfig(kind, **wrong)


@pytest.mark.parametrize("name", list(VARIANTS))
def test_variants_share_every_initial_weight_they_have_in_common(name):
    config = variant_config(name, base_of(name))
    variant = dict(build_classifier(config, (4,)).named_parameters())
    for part, value in build_classifier(replace(config, gate=None), (4,)).named_parameters():
        assert torch.equal(variant[part], value), part
