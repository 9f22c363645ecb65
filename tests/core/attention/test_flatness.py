"""What is flat and what is not: the theorem, its edges, and the exact cases of gating."""

from dataclasses import replace

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from gating_core.attention.charts import weight_chart
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from tests.core.flat import assert_flat, curved, field_of, through_logs, warp


@given(
    n=st.integers(3, 16),
    heads=st.integers(1, 4),
    width=st.integers(1, 8),
    seed=st.integers(0, 10**6),
    projection=st.booleans(),
)
def test_the_flatness_theorem(n, heads, width, seed, projection):
    """One layer, fixed values, no residual, no norm: flat on the attention-weight chart."""
    dim = max(3, heads * width)
    dim += -dim % heads
    config = AttentionConfig(
        model_dim=dim, value_count=n, heads=heads, output_projection=projection
    )
    chart = weight_chart(build_attention(config, (seed,)))
    assert field_of(chart).flat.all()
    assert_flat(lambda p: chart(warp(p)))
    assert_flat(through_logs(chart))


NOT_FLAT = {
    "six values, query chart": AttentionConfig(value_count=6),
    "two heads, query chart": AttentionConfig(model_dim=6, heads=2),
    "residual": AttentionConfig(residual=True),
    "normalisation": AttentionConfig(norm="post"),
    "tokens": AttentionConfig(source="tokens"),
    "two tokens": AttentionConfig(source="tokens", value_count=2),
    "tokens, one head, six dimensions": AttentionConfig(source="tokens", model_dim=6, depth=2),
    "linear attention": AttentionConfig(source="linear", model_dim=6, value_count=4),
    "unnormalised linear attention": AttentionConfig(source="unnormalised"),
}
# Gates that move or weigh fixed values, and none at all: they do not curve what is flat.
INNOCENT = [None, *(GateConfig(position=position) for position in ("G2", "G3", "G4"))]


@pytest.mark.sampled(9)
@pytest.mark.parametrize("gate", INNOCENT, ids=lambda gate: gate.position if gate else "ungated")
@pytest.mark.parametrize("name", sorted(NOT_FLAT))
def test_what_curves_without_a_gate(name, gate):
    """A slice of a flat space can curve; so do residuals, norms and tokens: no gate needed."""
    model = build_attention(replace(NOT_FLAT[name], gate=gate), range(2))
    assert curved(model).all()


@pytest.mark.parametrize(
    "gate", INNOCENT[:3], ids=lambda gate: gate.position if gate else "ungated"
)
def test_a_residual_curves_the_weight_chart(gate):
    config = AttentionConfig(model_dim=6, value_count=4, residual=True, gate=gate)
    assert curved(weight_chart(build_attention(config, range(4)))).all()


@pytest.mark.parametrize("parts", [dict(value_count=4), dict(heads=2)])
@pytest.mark.parametrize("gate", INNOCENT, ids=lambda gate: gate.position if gate else "ungated")
def test_a_second_layer_curves_the_weight_chart_unless_one_head_reads_three_values(gate, parts):
    config = AttentionConfig(model_dim=6, depth=2, gate=gate)
    assert not curved(weight_chart(build_attention(config, range(4)))).any()
    assert curved(weight_chart(build_attention(replace(config, **parts), range(4)))).all()


@pytest.mark.parametrize("chart", [lambda model: model, weight_chart], ids=["query", "weights"])
@pytest.mark.parametrize("gate", INNOCENT[::2], ids=["ungated", "G3"])
@pytest.mark.parametrize("dim", [3, 8])
def test_rms_norm_puts_a_plane_on_a_sphere(dim, gate, chart):
    """K = +1/D exactly: unit gain, epsilon 0."""
    config = AttentionConfig(model_dim=dim, norm="post", gate=gate)
    field = field_of(chart(build_attention(config, range(4))))
    error = (field.gaussian - 1 / dim).abs()
    assert (error <= field.gaussian_error)[field.resolved].all()
    sure = field.resolved & (field.gaussian_error < 1e-5)
    assert sure.double().mean() > 0.3
    assert error[sure].median() < 1e-12


@given(n=st.integers(3, 20), seed=st.integers(0, 10**6))
@example(n=3, seed=842)  # two draws that are nearly parallel
def test_the_slice_is_the_documented_one(n, seed):
    chart = weight_chart(build_attention(AttentionConfig(value_count=n), (seed,)))
    e1, e2 = chart.slices[0]
    corners = torch.tensor([[-1.0, -1], [-1, 1], [1, -1], [1, 1]], dtype=torch.float64)
    assert abs(float(chart.weights(corners).min()) - 0.02) < 1e-14
    assert abs(float(e1 @ e2)) < 1e-15
    assert abs(float(e1.norm() - e2.norm())) < 1e-15
    assert float(e1.sum().abs() + e2.sum().abs()) < 1e-14


def gated(position: str, strength: float = 1.0, **parts) -> AttentionConfig:
    return AttentionConfig(gate=GateConfig(position=position, strength=strength), **parts)


WRONG_CHARTS = [
    (AttentionConfig(value_count=2), "value_count is 2"),
    (AttentionConfig(value_count=50), "value_count is 50"),
    (AttentionConfig(norm="pre"), "norm is 'pre'"),
    (gated("G2", norm="pre"), "norm is 'pre'"),
    (AttentionConfig(source="tokens"), "source is 'tokens'"),
    (gated("G2", source="tokens"), "source is 'tokens'"),
    (gated("G1", model_dim=4, heads=2), "heads is 2"),
    (gated("G5", model_dim=4, heads=2), "heads is 2"),
    (AttentionConfig(model_dim=4, heads=2, residual=True), "heads is 2"),
    (gated("G2", model_dim=4, heads=2, residual=True), "heads is 2"),
    (gated("G4", residual=True), "gate.position is 'G4' in a residual model"),
    (gated("G1", value_count=6), "no query reaches"),
    (gated("G5", value_count=6), "no query reaches"),
    (gated("G3", value_count=6, residual=True), "no query reaches"),
    (AttentionConfig(value_count=6, residual=True), "no query reaches"),
]


@pytest.mark.parametrize(("config", "message"), WRONG_CHARTS)
def test_charts_that_cannot_be_are_refused(config, message):
    with pytest.raises(ValueError, match=message):
        weight_chart(build_attention(config))


@pytest.mark.parametrize("position", ["G1", "G5"])
def test_a_sweep_that_leaves_strength_zero_needs_the_state_as_its_gate_does(position):
    """Copies of one model at several strengths are refused as the gated one of them is."""
    model = build_attention(gated(position, model_dim=4, heads=2))
    with pytest.raises(ValueError, match="heads is 2"):
        weight_chart(model.member(0, [0.0, 1.0]))
    assert weight_chart(build_attention(gated(position, 0.0, model_dim=4, heads=2)))
