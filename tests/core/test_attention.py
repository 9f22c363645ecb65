"""Does the model compute what the documentation says, against a plain second implementation?"""

import math

import pytest
import torch

from gating_core.attention import build_attention
from gating_core.config import AttentionConfig, GateConfig
from gating_core.randomness import generator, normal

POINTS = torch.rand(9, 2, generator=generator(0, "test"), dtype=torch.float64) * 2 - 1

CONFIGS = {
    "plain": AttentionConfig(),
    "wide": AttentionConfig(model_dim=8, value_count=5),
    "heads": AttentionConfig(model_dim=6, value_count=4, heads=3, depth=2),
    "residual": AttentionConfig(model_dim=4, residual=True, depth=3),
    "pre": AttentionConfig(model_dim=4, norm="pre", residual=True, depth=2),
    "post": AttentionConfig(model_dim=4, norm="post", depth=2),
    "projection": AttentionConfig(model_dim=4, heads=2, output_projection=True),
    "gated": AttentionConfig(gate=GateConfig()),
    "headwise": AttentionConfig(model_dim=6, heads=2, gate=GateConfig(granularity="headwise")),
    "half strength": AttentionConfig(depth=2, gate=GateConfig(strength=0.4)),
    "everything": AttentionConfig(
        model_dim=6, value_count=5, heads=3, depth=2, residual=True, norm="pre",
        output_projection=True, gate=GateConfig(granularity="headwise", strength=0.7),
    ),
}  # fmt: skip


def plain_attention(model, seed_index: int, point: torch.Tensor) -> torch.Tensor:
    """One model, one point, one head at a time, straight from the definition."""
    config, s = model.config, seed_index
    d = config.model_dim // config.heads
    h = point @ model.input_map[s] + model.input_bias[s]
    for layer in model.blocks:
        state = h / (h.square().mean()).sqrt() if config.norm == "pre" else h
        q, out = state @ layer.query[s], []
        for head in range(config.heads):
            part = slice(head * d, (head + 1) * d)
            logits = [
                sum(q[part] * layer.keys[s, i, part]) / math.sqrt(d) + layer.bias[s, head, i]
                for i in range(config.value_count)
            ]
            top = max(logits)
            powers = [math.exp(z - top) for z in logits]
            mixed = sum(w / sum(powers) * layer.values[s, i, part] for i, w in enumerate(powers))
            if layer.gate is not None:
                strength = config.gate.strength
                z = state @ layer.gate.weight[s] + layer.gate.bias[s]
                g = 1 / (1 + torch.exp(-z))
                g = g[part] if config.gate.granularity == "elementwise" else g[head]
                mixed = mixed * ((1 - strength) + strength * g)
            out.append(mixed)
        y = torch.cat(out)
        if layer.projection is not None:
            y = y @ layer.projection[s]
        if config.residual:
            y = y + h
        if config.norm == "post":
            y = y / y.square().mean().sqrt()
        h = y
    return h


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_against_the_plain_reference(name):
    model = build_attention(CONFIGS[name], (3, 7))
    out = model(POINTS)
    assert out.shape == (2, 9, CONFIGS[name].model_dim)
    assert out.dtype == torch.float64
    for s in range(2):
        expected = torch.stack([plain_attention(model, s, point) for point in POINTS])
        torch.testing.assert_close(out[s], expected, rtol=1e-12, atol=1e-13)


def test_ungated_numbers_are_those_of_torch_scaled_dot_product_attention():
    config = AttentionConfig(model_dim=6, value_count=5, heads=2)
    model = build_attention(config, (0, 1))
    layer = model.blocks[0]
    query = (model.embed(POINTS) @ layer.query).unflatten(-1, (2, 3)).transpose(1, 2)
    keys, values = (m.unflatten(-1, (2, 3)).transpose(1, 2) for m in (layer.keys, layer.values))
    mask = layer.bias.unsqueeze(2).expand(2, 2, len(POINTS), 5)
    out = torch.nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
    torch.testing.assert_close(model(POINTS), out.transpose(1, 2).flatten(-2), rtol=1e-12, atol=0)


@pytest.mark.parametrize("strength", [0.0, 0.1, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("granularity", ["elementwise", "headwise"])
def test_a_gate_frozen_at_one_equals_no_gate_bit_for_bit(granularity, strength):
    config = AttentionConfig(model_dim=6, heads=2, depth=3, residual=True)
    gate = GateConfig(granularity=granularity, strength=strength)
    ungated = build_attention(config, (0, 1))
    gated = build_attention(AttentionConfig(**{**vars(config), "gate": gate}), (0, 1))
    for layer in gated.blocks:
        layer.gate.weight.data.zero_()
        layer.gate.bias.data.fill_(800.0)  # sigmoid(800) is exactly 1 in float64
    assert torch.equal(gated(POINTS), ungated(POINTS))


def test_strength_zero_equals_no_gate_bit_for_bit():
    ungated = build_attention(AttentionConfig(depth=4), (0, 5))
    off = build_attention(AttentionConfig(depth=4, gate=GateConfig(strength=0.0)), (0, 5))
    gated = build_attention(AttentionConfig(depth=4, gate=GateConfig()), (0, 5))
    assert torch.equal(off(POINTS), ungated(POINTS))
    assert torch.equal(gated.member(1, [0.0, 0.5])(POINTS)[0], ungated.member(1)(POINTS)[0])
    assert not torch.equal(gated(POINTS), ungated(POINTS))


def test_a_sweep_of_strengths_is_the_model_at_each_strength():
    strengths = [0.0, 0.25, 0.6, 1.0]
    sweep = build_attention(AttentionConfig(gate=GateConfig()), (4, 2)).member(1, strengths)
    for frame, strength in enumerate(strengths):
        alone = build_attention(AttentionConfig(gate=GateConfig(strength=strength)), (2,))
        torch.testing.assert_close(sweep(POINTS)[frame], alone(POINTS)[0], rtol=1e-15, atol=1e-15)
    assert torch.equal(sweep.member(3)(POINTS)[0], sweep(POINTS)[3])


def test_members_do_not_depend_on_the_company_they_keep():
    config = AttentionConfig(gate=GateConfig())
    many, alone = build_attention(config, range(20)), build_attention(config, (13,))
    for (name, a), (_, b) in zip(many.named_parameters(), alone.named_parameters(), strict=True):
        assert torch.equal(a[13], b[0]), name


def test_gated_and_ungated_share_every_weight_they_have_in_common():
    gated = dict(build_attention(AttentionConfig(gate=GateConfig()), (0,)).named_parameters())
    for name, value in build_attention(AttentionConfig(), (0,)).named_parameters():
        assert torch.equal(gated[name], value), name


def test_initial_weights_have_the_documented_spread():
    model = build_attention(AttentionConfig(model_dim=16, value_count=16), range(200))
    for parameter, scale in [
        (model.input_map, 1.5 / math.sqrt(2)), (model.input_bias, 0.5),
        (model.blocks[0].query, 0.25), (model.blocks[0].keys, 1.0),
        (model.blocks[0].values, 1.0), (model.blocks[0].bias, 0.5),
    ]:  # fmt: skip
        spread = float(parameter.std())
        # Standard error of a standard deviation from n normals, five of them.
        assert abs(spread / scale - 1) < 5 / math.sqrt(2 * parameter.numel())


def test_names_and_seeds_give_different_numbers():
    assert not torch.equal(normal((0,), "a", (4,), 1.0), normal((0,), "b", (4,), 1.0))
    assert not torch.equal(normal((0,), "a", (4,), 1.0), normal((1,), "a", (4,), 1.0))
    state = torch.get_rng_state()
    normal((0,), "a", (4,), 1.0)
    assert torch.equal(torch.get_rng_state(), state)


def test_seed_axis_of_points():
    model = build_attention(AttentionConfig(), (0, 1))
    own = torch.stack([POINTS, -POINTS])
    assert torch.equal(model(own)[0], model(torch.stack([POINTS, POINTS]))[0])
    assert not torch.equal(model(own)[1], model(POINTS)[1])


WRONG_CONFIGS = [
    (dict(source="tokens"), "source"),
    (dict(input_dim=1), "input_dim"),
    (dict(input_dim=4), "input_dim"),
    (dict(model_dim=0), "model_dim"),
    (dict(model_dim=3.0), "model_dim"),
    (dict(model_dim=True), "model_dim"),
    (dict(value_count=1), "value_count"),
    (dict(heads=0), "heads"),
    (dict(heads=2), "heads is 2; it must divide model_dim, which is 3"),
    (dict(depth=0), "depth is 0; it must be a whole number from 1 to 16"),
    (dict(depth=17), "depth"),
    (dict(depth="2"), "depth"),
    (dict(residual=1), "residual"),
    (dict(norm="both"), "norm"),
    (dict(gate="sigmoid"), "gate"),
]
WRONG_GATES = [
    (dict(kind="relu"), "gate.kind"),
    (dict(granularity="row"), "gate.granularity"),
    (dict(position="G9"), "gate.position"),
    (dict(strength=-0.1), "gate.strength"),
    (dict(strength=1.5), "gate.strength"),
    (dict(strength=float("nan")), "gate.strength"),
    (dict(strength="1"), "gate.strength"),
]


@pytest.mark.parametrize(("fields", "message"), WRONG_CONFIGS)
def test_wrong_models_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        AttentionConfig(**fields)


@pytest.mark.parametrize(("fields", "message"), WRONG_GATES)
def test_wrong_gates_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        GateConfig(**fields)


@pytest.mark.parametrize("seeds", [(), (1, 1), (-1,), (2**31,), (0.5,)])
def test_wrong_seeds_are_refused(seeds):
    with pytest.raises(ValueError, match="seeds"):
        build_attention(AttentionConfig(), seeds)


@pytest.mark.parametrize("shape", [(2,), (5, 3), (1, 1, 5, 2)])
def test_wrong_points_are_refused(shape):
    with pytest.raises(ValueError, match="points has shape"):
        build_attention(AttentionConfig())(torch.zeros(shape, dtype=torch.float64))


def test_wrong_members_are_refused():
    model = build_attention(AttentionConfig(), (0, 1))
    with pytest.raises(ValueError, match="index"):
        model.member(2)
    with pytest.raises(ValueError, match="without a gate"):
        model.member(0, [0.5])
