"""A gate at each of its five places: without effect where it should have none, curved elsewhere."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention.charts import weight_chart
from gating_core.attention.config import MECHANISMS, AttentionConfig, GateConfig
from gating_core.attention.gates import GATE_GRANULARITIES, GATE_NAMES, GATE_POSITIONS
from gating_core.attention.layer import LayerRecord
from gating_core.attention.stack import build_attention
from gating_core.geometry.curvature import curvature
from gating_core.jets.second_order import second_order_jet
from gating_core.randomness import generator
from tests.core import exact
from tests.core.flat import GRID, assert_flat, curved, through_logs, warp

POINTS = torch.rand(9, 2, generator=generator(1, "test"), dtype=torch.float64) * 2 - 1
PLACES = list(itertools.product(MECHANISMS, GATE_POSITIONS))
EVERYTHING = dict(
    model_dim=6, value_count=4, heads=2, depth=3, residual=True, output_projection=True
)


def pair(source: str, gate: GateConfig, seeds: tuple = (0, 5), **parts):
    """The ungated and the gated model: they differ in nothing else."""
    config = AttentionConfig(source=source, **parts)
    return build_attention(config, seeds), build_attention(replace(config, gate=gate), seeds)


# --- A gate that does nothing does nothing ---


@pytest.mark.parametrize(("source", "position"), PLACES)
def test_strength_zero_equals_no_gate_bit_for_bit(source, position):
    for kind, granularity in zip(GATE_NAMES, itertools.cycle(GATE_GRANULARITIES), strict=False):
        gate = GateConfig(kind, granularity, position, 0.0)
        ungated, off = pair(source, gate, **EVERYTHING)
        assert torch.equal(off(POINTS), ungated(POINTS))
        _, on = pair(source, replace(gate, strength=1.0), **EVERYTHING)
        assert not torch.isclose(on(POINTS), ungated(POINTS), rtol=1e-3).all(-1).any()


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("source", "position"), PLACES)
def test_a_sweep_of_strengths_is_the_model_at_each_strength(source, position):
    strengths = [0.0, 0.25, 0.6, 1.0]
    gate = GateConfig("silu", "headwise", position)
    _, gated = pair(source, gate, (4, 2), **EVERYTHING)
    sweep = gated.member(1, strengths)
    for frame, strength in enumerate(strengths):
        _, alone = pair(source, replace(gate, strength=strength), (2,), **EVERYTHING)
        torch.testing.assert_close(sweep(POINTS)[frame], alone(POINTS)[0], rtol=1e-13, atol=1e-14)
    torch.testing.assert_close(sweep.member(3)(POINTS)[0], sweep(POINTS)[3], rtol=1e-13, atol=1e-14)
    # Four members of either: batches of one size are rounded alike.
    ungated, gated = pair(source, gate, (4, 2, 9, 7), **EVERYTHING)
    assert torch.equal(gated.member(3, [0.5, 1.0, 0.25, 0.0])(POINTS)[3], ungated(POINTS)[3])


# --- What a layer did ---


def assert_looks(looks, plain, s: int, at: int) -> None:
    """One member's looks at one point, against those of the plain reference."""
    assert len(looks) == len(plain)
    for look, (weights, gate) in zip(looks, plain, strict=True):
        expected = torch.tensor(weights, dtype=torch.float64)
        torch.testing.assert_close(look.weights[s, :, at], expected, rtol=1e-11, atol=1e-14)
        if gate is None:
            assert look.gate is None
        else:
            expected = torch.tensor(gate, dtype=torch.float64)
            torch.testing.assert_close(look.gate[s, at], expected, rtol=1e-11, atol=1e-13)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("granularity", GATE_GRANULARITIES)
@pytest.mark.parametrize(("source", "position"), PLACES)
def test_looks_are_those_of_the_plain_reference(source, position, granularity):
    gate = GateConfig("silu", granularity, position)
    models = [*pair(source, gate, **EVERYTHING)]
    models.append(models[1].member(1, [0.0, 0.4, 1.0]))
    for model in models:
        looks: list[LayerRecord] = []
        assert torch.equal(model(POINTS, looks), model(POINTS))
        for look in looks:
            assert look.weights.shape == (len(model.seeds), 2, len(POINTS), 4)
            assert ((look.shares.sum(-1) - 1).abs() < 1e-15 * 4).all()
            if model.config.gate is not None:
                heads = 1 if position == "G5" else 2
                width = 6 if granularity == "elementwise" else heads
                assert look.gate.shape == (len(model.seeds), len(POINTS), width)
        for s, at in enumerate((0, 8)):
            _, plain = exact.attention(math, model, POINTS[at].tolist(), s)
            assert_looks(looks, plain, s, at)
    assert (looks[0].gate[0] == 1).all()  # the sweep at strength 0


CHARTS = {
    "ungated, two heads": AttentionConfig(model_dim=6, value_count=5, heads=2, depth=2),
    "ungated, residual": AttentionConfig(model_dim=6, value_count=5, residual=True),
    "norm": AttentionConfig(norm="post", gate=GateConfig("tanh", position="G2")),
    **{
        f"{position}, two heads": AttentionConfig(
            model_dim=6, value_count=4, heads=2, depth=2, gate=GateConfig(position=position)
        )
        for position in ("G2", "G3", "G4")
    },
    **{
        f"{position}, n = {n}": AttentionConfig(
            model_dim=6, value_count=n, depth=2, gate=GateConfig("silu", position=position)
        )
        for position in ("G1", "G5")
        for n in (3, 5)
    },
    **{
        f"{position}, residual": AttentionConfig(
            model_dim=6, residual=True, gate=GateConfig("tanh", "headwise", position)
        )
        for position in ("G1", "G2", "G3", "G5")
    },
    "G1 off, two heads": AttentionConfig(model_dim=4, heads=2, gate=GateConfig(strength=0.0)),
    "G4 off, residual": AttentionConfig(
        residual=True, gate=GateConfig(position="G4", strength=0.0)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CHARTS))
def test_weight_charts_that_can_be_exist_and_are_those_of_the_plain_reference(name):
    chart = weight_chart(build_attention(CHARTS[name], (3, 8)))
    looks: list[LayerRecord] = []
    out = chart(POINTS, looks)
    assert torch.equal(out, chart(POINTS))
    for head in range(CHARTS[name].heads):
        assert torch.equal(looks[0].weights[:, head], chart.weights(POINTS))
    for s, at in itertools.product((0, 1), (0, 8)):
        y, plain = exact.on_weight_chart(math, chart, POINTS[at].tolist(), s)
        expected = torch.tensor(y, dtype=torch.float64)
        torch.testing.assert_close(out[s, at], expected, rtol=1e-11, atol=1e-13)
        assert_looks(looks, plain, s, at)


@pytest.mark.parametrize("name", sorted(CHARTS))
def test_the_state_behind_the_weights_produces_them(name):
    """Where more than the weights is read, the layer would have computed just these."""
    chart = weight_chart(build_attention(CHARTS[name], (3, 8)))
    first, seen = chart.model.blocks[0], []
    first.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    out = chart(POINTS)
    assert (seen[0] is None) == first.reads_only_weights
    if seen[0] is not None:
        weights = first.weights(seen[0])[:, 0]
        torch.testing.assert_close(weights, chart.weights(POINTS), rtol=1e-9, atol=1e-12)
        if chart.model.config.value_count == 3:  # both charts show one surface
            inputs = chart.inputs(POINTS)
            torch.testing.assert_close(chart.model(inputs), out, rtol=1e-9, atol=1e-11)
            farthest = inputs.norm(dim=-1).amax(-1)
            torch.testing.assert_close(chart.reach(POINTS), farthest, rtol=1e-14, atol=0)


# --- Flat or not ---

HARMLESS = st.builds(
    GateConfig,
    kind=st.sampled_from(GATE_NAMES),
    position=st.sampled_from(["G2", "G3", "G4"]),
    granularity=st.sampled_from(GATE_GRANULARITIES),
    strength=st.floats(0.1, 1),
)


@given(
    gate=HARMLESS,
    n=st.integers(3, 8),
    heads=st.integers(1, 3),
    width=st.integers(1, 4),
    seed=st.integers(0, 10**6),
    projection=st.booleans(),
)
def test_gates_of_values_keys_and_queries_leave_the_weight_chart_flat(
    gate, n, heads, width, seed, projection
):
    """One layer: G2 and G3 only move fixed vectors, G4 only the weights, and those are given."""
    config = AttentionConfig(
        model_dim=max(width, 3) * heads,
        value_count=n,
        heads=heads,
        output_projection=projection,
        gate=gate,
    )
    chart = weight_chart(build_attention(config, (seed,)))
    assert_flat(lambda p: chart(warp(p)), "rigorous")
    assert_flat(through_logs(chart), "rigorous")


@given(
    gate=HARMLESS,
    depth=st.integers(1, 6),
    dim=st.integers(3, 8),
    seed=st.integers(0, 10**6),
    norm=st.sampled_from(["none", "pre"]),
    projection=st.booleans(),
)
def test_they_leave_one_head_and_three_values_flat_on_the_query_chart_at_every_depth(
    gate, depth, dim, seed, norm, projection
):
    config = AttentionConfig(
        model_dim=dim, depth=depth, norm=norm, output_projection=projection, gate=gate
    )
    model = build_attention(config, (seed,))
    field = curvature(second_order_jet(model, GRID.points, "rigorous"))
    assert field.bound_kind == "rigorous"
    assert field.flat[field.resolved].all()
    if depth <= 2:  # deep random stacks collapse, and then nothing is resolved
        assert field.resolved.double().mean() > 0.9


@pytest.mark.sampled(4)
@pytest.mark.parametrize("granularity", GATE_GRANULARITIES)
@pytest.mark.parametrize("kind", GATE_NAMES)
@pytest.mark.parametrize("position", ["G1", "G5"])
def test_gates_of_the_output_curve_both_charts(position, kind, granularity):
    gate = GateConfig(kind, granularity, position)
    for depth in (1, 2):
        model = build_attention(AttentionConfig(depth=depth, gate=gate), range(2))
        assert curved(model).all()
        assert curved(weight_chart(model)).all()
    model = build_attention(AttentionConfig(model_dim=6, value_count=5, gate=gate), range(2))
    assert curved(weight_chart(model)).all()
