"""The model computes what the documentation says: a plain second implementation agrees."""

import itertools
import math
from dataclasses import replace

import pytest
import torch

from gating_core.attention.config import MECHANISMS, NORMS, AttentionConfig, GateConfig
from gating_core.attention.gates import GATE_GRANULARITIES, GATE_NAMES, GATE_POSITIONS
from gating_core.attention.stack import UnitClassifier, build_attention
from gating_core.randomness import generator, normal
from tests.core import exact
from tests.profiles import SOAK

POINTS = torch.rand(9, 2, generator=generator(0, "test"), dtype=torch.float64) * 2 - 1

PLACES = list(itertools.product(MECHANISMS, GATE_POSITIONS))


def combinations(source: str, position: str) -> list[AttentionConfig]:
    """All parts on and off, in all combinations, round a gate at one place."""
    gates = [
        GateConfig(kind, granularity, position, strength)
        for kind in GATE_NAMES
        for granularity in GATE_GRANULARITIES
        for strength in (0.0, 0.4, 1.0)
    ]
    parts = itertools.product(gates, NORMS, (1, 2), (1, 2, 3), (False, True), (False, True))
    return [
        AttentionConfig(
            source=source,
            model_dim=4,
            value_count=3,
            gate=gate,
            norm=norm,
            heads=heads,
            depth=depth,
            residual=residual,
            output_projection=projection,
        )
        for gate, norm, heads, depth, residual, projection in parts
    ]


def assert_plain(config: AttentionConfig, points: torch.Tensor, seeds: tuple = (3, 7)) -> None:
    """Every member at every point, against the plain second implementation."""
    model = build_attention(config, seeds)
    out = model(points)
    assert out.shape == (len(seeds), len(points), config.model_dim)
    assert out.dtype == torch.float64
    for s in range(len(seeds)):
        plain = [exact.attention(math, model, point, s)[0] for point in points.tolist()]
        expected = torch.tensor(plain, dtype=torch.float64)
        torch.testing.assert_close(
            out[s], expected, rtol=1e-12, atol=1e-13, msg=lambda text: f"{text}\n{config}"
        )


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("source", "position"), PLACES)
def test_against_the_plain_reference(source, position):
    """Each part with each other, in 1296 combinations; 97 shares no factor with that number."""
    step = 1 if SOAK else 97
    for config in combinations(source, position)[::step]:
        assert_plain(config, POINTS[:2])


SHAPES = {
    "plain": AttentionConfig(),
    "wide": AttentionConfig(model_dim=8, value_count=5),
    "three heads": AttentionConfig(model_dim=6, value_count=4, heads=3, depth=2),
    "one channel a head": AttentionConfig(model_dim=3, heads=3, gate=GateConfig("tanh")),
    "one channel": AttentionConfig(model_dim=1, gate=GateConfig(granularity="headwise")),
    "solid": AttentionConfig(input_dim=3, model_dim=4, value_count=4, gate=GateConfig("silu")),
    "two values": AttentionConfig(value_count=2, gate=GateConfig(position="G3")),
    **{
        f"sixteen layers, {position}": AttentionConfig(
            model_dim=4, depth=16, norm=norm, residual=True, gate=GateConfig(position=position)
        )
        for position, norm in zip(
            GATE_POSITIONS, ("none", "pre", "post", "none", "pre"), strict=True
        )
    },
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("source", MECHANISMS)
@pytest.mark.parametrize("name", sorted(SHAPES))
def test_odd_shapes_against_the_plain_reference(name, source):
    config = replace(SHAPES[name], source=source)
    if not config.layer.weights_on_simplex:  # deep sums without normalisation grow beyond bounds
        config = replace(config, depth=min(config.depth, 4))
    points = POINTS if config.input_dim == 2 else torch.cat([POINTS, POINTS[:, :1] ** 2], -1)
    assert_plain(config, points[:3])


def test_members_do_not_depend_on_the_company_they_keep():
    config = AttentionConfig(gate=GateConfig())
    many, alone = build_attention(config, range(20)), build_attention(config, (13,))
    for (name, a), (_, b) in zip(many.named_parameters(), alone.named_parameters(), strict=True):
        assert torch.equal(a[13], b[0]), name


@pytest.mark.parametrize("source", MECHANISMS)
def test_initial_weights_have_the_documented_spread(source):
    config = AttentionConfig(
        source=source, model_dim=16, value_count=16, output_projection=True, gate=GateConfig()
    )
    spreads = {
        "input_map": 1.5 / math.sqrt(2), "input_bias": 0.5, "query": 0.25, "gate.weight": 0.25,
        "gate.bias": 0.1, "projection": 0.25,
        "keys": 1.0, "values": 1.0, "bias": 0.5, "key_map": 0.25, "value_map": 0.25,
    }  # fmt: skip
    names = []
    for name, parameter in build_attention(config, range(200)).named_parameters():
        names.append(name.removeprefix("layers.0."))
        assert names[-1] in spreads, "new weights: say their spread here and in the README"
        spread = float(parameter.std())
        # Standard error of a standard deviation from n normals, five of them.
        assert abs(spread / spreads[names[-1]] - 1) < 5 / math.sqrt(2 * parameter.numel()), name
    assert {"input_map", "input_bias", "gate.weight", "gate.bias", "projection"} < set(names)
    assert ("values" in names) == MECHANISMS[source].fixed_values
    has_chart = MECHANISMS[source].no_weight_chart is None
    assert ("bias" in names) == has_chart, "biases of slots go with a weight chart"


def test_names_and_seeds_give_different_numbers():
    assert not torch.equal(normal((0,), "a", (4,), 1.0), normal((0,), "b", (4,), 1.0))
    assert not torch.equal(normal((0,), "a", (4,), 1.0), normal((1,), "a", (4,), 1.0))
    state = torch.get_rng_state()
    normal((0,), "a", (4,), 1.0)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("source", MECHANISMS)
def test_seed_axis_of_points(source):
    model = build_attention(AttentionConfig(source=source), (0, 1))
    own = torch.stack([POINTS, -POINTS])
    assert torch.equal(model(own)[0], model(torch.stack([POINTS, POINTS]))[0])
    assert not torch.equal(model(own)[1], model(POINTS)[1])


WRONG_CONFIGS = [
    (dict(source="pixels"), "source"),
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
    (dict(norm=None), "norm"),
    (dict(output_projection="yes"), "output_projection"),
    (dict(gate="sigmoid"), "gate"),
    (dict(gate=True), "gate"),
    (dict(source="Tokens"), "source is 'Tokens'; it must be one of 'memory', 'tokens'"),
    (dict(source="tokens", value_count=65), "value_count"),
    (dict(source="tokens", heads=2), "heads is 2; it must divide model_dim, which is 3"),
]
WRONG_GATES = [
    (dict(kind="relu"), "gate.kind is 'relu'; it must be one of 'sigmoid', 'silu', 'tanh'"),
    (dict(kind="SiLU"), "gate.kind"),
    (dict(kind=None), "gate.kind"),
    (dict(granularity="row"), "gate.granularity"),
    (dict(position="G9"), "gate.position"),
    (dict(position="g1"), "gate.position"),
    (dict(position=1), "gate.position"),
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


@pytest.mark.parametrize("source", MECHANISMS)
@pytest.mark.parametrize("shape", [(2,), (5, 3), (1, 1, 5, 2)])
def test_wrong_points_are_refused(shape, source):
    with pytest.raises(ValueError, match="points has shape"):
        build_attention(AttentionConfig(source))(torch.zeros(shape, dtype=torch.float64))


def test_wrong_members_are_refused():
    model = build_attention(AttentionConfig(), (0, 1))
    with pytest.raises(ValueError, match="index"):
        model.member(2)
    with pytest.raises(ValueError, match="without a gate"):
        model.member(0, [0.5])


def test_a_unit_classifier_cannot_amplify():
    """Its logits are a plane's distance in radii of the surface, whatever the size of anything."""
    attention = build_attention(AttentionConfig(model_dim=4, gate=GateConfig()), range(3))
    model = UnitClassifier(attention, 2).requires_grad_(False)
    grid = torch.cartesian_prod(*2 * [(torch.arange(8, dtype=torch.float64) - 3.5) / 4])
    surface, direction = attention(grid), model.weight[..., 1] - model.weight[..., 0]
    away = surface - surface.mean(1, keepdim=True)
    height = (away @ direction.unsqueeze(-1)).squeeze(-1) / direction.norm(dim=-1, keepdim=True)
    radius = away.norm(dim=-1).square().mean(1, keepdim=True).sqrt()
    logits = model(grid)
    torch.testing.assert_close(logits[..., 1] - logits[..., 0], 8 * height / radius)
    model.weight.data *= 7.0
    attention.blocks[0].values.data *= 1e-3
    torch.testing.assert_close(model(grid), logits)
    model.bias.data[:, 1] += 0.5
    torch.testing.assert_close((model(grid) - logits)[..., 1], torch.full((3, 64), 2.0).double())
