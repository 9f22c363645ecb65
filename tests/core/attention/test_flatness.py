"""What is flat and what is not: the theorem, its edges, and the exact cases of gating."""

from dataclasses import replace

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from gating_core.attention.charts import weight_chart
from gating_core.attention.config import MECHANISMS, AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.jets.second_order import second_order_jet
from tests.core.flat import GRID, assert_flat, curved, field_of, through_logs, warp


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


@given(depth=st.integers(1, 8), dim=st.integers(3, 8), seed=st.integers(0, 10**6))
def test_one_head_and_three_values_are_flat_on_the_query_chart_at_every_depth(depth, dim, seed):
    model = build_attention(AttentionConfig(model_dim=dim, depth=depth), (seed,))
    field = field_of(model)
    assert (field.flat | ~field.resolved).all()


def test_the_same_statement_is_false_with_a_gate():
    gated = AttentionConfig(gate=GateConfig())
    for depth in (1, 2, 3):
        config = AttentionConfig(**{**vars(gated), "depth": depth})
        field = field_of(build_attention(config, range(8)))
        assert (~field.flat & field.resolved).any(-1).all()


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


@pytest.mark.parametrize("source", MECHANISMS)
def test_two_dimensions_are_flat_for_every_map(source):
    config = AttentionConfig(source=source, model_dim=2, gate=GateConfig())
    field = field_of(build_attention(config, range(4)))
    assert field.flat[field.resolved].all()
    assert field.resolved.double().mean() > 0.9


def test_a_gated_model_with_two_values_has_a_surface_on_the_query_chart():
    ungated = field_of(build_attention(AttentionConfig(value_count=2), range(3)))
    gated = field_of(build_attention(AttentionConfig(value_count=2, gate=GateConfig()), range(3)))
    assert not ungated.resolved.any()
    assert gated.resolved.double().mean() > 0.9


@pytest.mark.parametrize("radius", [0.3, 1.0])
def test_sphere_by_gating(radius):
    """The scalar gate r / |y| puts the sheet (u, v, 1) on a sphere: K = +1/r^2."""

    def sphere(p):
        sheet = torch.cat([p, 0 * p[:, :1] + 1], -1)
        return sheet * (radius / (sheet * sheet).sum(-1, keepdim=True).sqrt())

    field = field_of(sphere)
    exact = torch.full_like(field.gaussian, radius**-2)
    torch.testing.assert_close(field.gaussian, exact, rtol=1e-12, atol=0)


SCALAR_GATES = {
    "constant": (lambda u, v: 0.4 + 0 * u, 0),
    "projective": (lambda u, v: 1 / (3 + u + 0.5 * v), 0),
    "of one coordinate of the sheet": (lambda u, v: torch.sigmoid(2 * u), 0),
    "in both directions and still flat": (lambda u, v: 1 / (3 + u * u + v), 0),
    "convex 1/g": (lambda u, v: 1 / (3 + u * u + v * v), 1),
    "saddle 1/g": (lambda u, v: 1 / (3 + u * u - v * v), -1),
}


@pytest.mark.parametrize("name", sorted(SCALAR_GATES))
def test_scalar_gates_curve_with_the_sign_of_the_hessian_of_their_inverse(name):
    """K = rho^4 det Hess rho / (...)^2 with rho = 1/g on the sheet (u, v, 1)."""
    gate, sign = SCALAR_GATES[name]

    def function(p):
        u, v = p.unbind(-1)
        return torch.stack([u, v, 0 * u + 1], -1) * gate(u, v).unsqueeze(-1)

    field = field_of(function)
    if sign == 0:
        assert field.flat.all()
    else:
        assert (~field.flat).all()
        assert (field.gaussian.sign() == sign).all()
    rho = second_order_jet(lambda p: (1 / gate(*p.unbind(-1))).unsqueeze(-1), GRID.points)
    u, v = GRID.points.unbind(-1)
    r, r_u, r_v = rho.value[:, 0], rho.first[:, 0, 0], rho.first[:, 0, 1]
    hessian = torch.linalg.det(rho.second[:, 0])
    law = r**4 * hessian / (r_u**2 + r_v**2 + (r - u * r_u - v * r_v) ** 2) ** 2
    assert ((field.gaussian - law).abs() <= field.gaussian_error + 1e-12).all()


def test_an_elementwise_gate_of_one_coordinate_is_ruled_and_never_positive():
    def function(p):
        u, v = p.unbind(-1)
        a, b, c = torch.sigmoid(2 * u), torch.sigmoid(1 - 3 * u), torch.sigmoid(u + 0.5)
        return torch.stack([u * a, v * b, (1 + v) * c], -1)

    field = field_of(function)
    assert (field.gaussian <= field.gaussian_error).all()
    assert (~field.flat).any()


@given(seed=st.integers(0, 10**6))
def test_the_formula_for_the_real_model(seed):
    """Headwise gate, n = 3: K has the sign of a conic in the attention weights."""
    config = AttentionConfig(gate=GateConfig(granularity="headwise"))
    model = build_attention(config, (seed,))
    field = field_of(model)
    layer = model.blocks[0]
    h = model.embed(GRID.points)
    a = layer.weights(h)[0, 0]
    z = (h @ layer.gate.weight + layer.gate.bias.unsqueeze(1))[0, :, 0]
    # The logit of the gate is affine in the input, and so in the logs of the weights:
    # 1/g = 1 + c a1^p a2^q a3^r with p + q + r = 0.
    centred = a.log() - a.log().mean(-1, keepdim=True)
    design = torch.cat([centred, torch.ones(len(a), 1).double()], -1)
    solution = torch.linalg.lstsq(design, -z.unsqueeze(1), driver="gelsd").solution[:3, 0]
    p, q, r = (solution - solution.mean()).tolist()
    conic = q * r * a[:, 0] ** 2 + p * r * a[:, 1] ** 2 + p * q * a[:, 2] ** 2 + p * q * r
    scale = (
        (q * r * a[:, 0] ** 2).abs()
        + (p * r * a[:, 1] ** 2).abs()
        + (p * q * a[:, 2] ** 2).abs()
        + abs(p * q * r)
    )
    decided = field.resolved[0] & ~field.flat[0] & (conic.abs() > 1e-9 * scale)
    assert (field.gaussian[0].sign() == conic.sign())[decided].all()


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
