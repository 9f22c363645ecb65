"""What is flat and what is not: the theorem, its edges, and the exact cases of gating."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention import build_attention
from gating_core.config import AttentionConfig, GateConfig
from gating_core.geometry import CurvatureField, curvature
from gating_core.jets import second_order_jet
from gating_core.sample import square_grid, weight_chart

GRID = square_grid(21)


def field_of(function, points=GRID.points) -> CurvatureField:
    return curvature(second_order_jet(function, points))


def warp(p):
    """A nonlinear change of chart that keeps (-1, 1)^2 inside itself."""
    u, v = p.unbind(-1)
    return torch.stack([torch.sin(u) + 0.1 * v * v, torch.tanh(v) + 0.1 * u * v], -1) * 0.85


def through_logs(chart):
    """The same weights, written as a softmax of logarithms: rounding has somewhere to enter."""

    def function(p):
        weights = torch.softmax(chart.weights(warp(p)).log(), -1).unsqueeze(1)
        heads = chart.model.config.heads
        return chart.model.run(None, torch.cat([weights] * heads, 1) if heads > 1 else weights)

    return function


def assert_flat(function):
    """|K| within its error wherever resolved; the error itself small: a lazy one cannot pass."""
    jet = second_order_jet(function, GRID.points)
    field = curvature(jet)
    resolved = field.resolved
    assert resolved.double().mean() >= 0.98
    assert (field.gaussian.abs() <= field.gaussian_error)[resolved].all()
    low, high = jet.value.amin(-2), jet.value.amax(-2)
    diameter2 = (high - low).square().sum(-1, keepdim=True)
    assert (field.gaussian_error * diameter2)[resolved].median() < 1e-9


@given(
    n=st.integers(3, 16), heads=st.integers(1, 4), width=st.integers(1, 8),
    seed=st.integers(0, 10**6), projection=st.booleans(),
)  # fmt: skip
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
    "residual": AttentionConfig(model_dim=6, value_count=4, residual=True),
    "normalisation": AttentionConfig(norm="post"),
}


@pytest.mark.parametrize("name", sorted(NOT_FLAT))
def test_what_curves_without_a_gate(name):
    """A slice of a flat space can curve, and so can residuals and norms: no gate needed."""
    field = field_of(build_attention(NOT_FLAT[name], range(4)))
    assert (~field.flat & field.resolved).any(-1).all()


def test_a_residual_curves_the_weight_chart():
    config = AttentionConfig(model_dim=6, value_count=4, residual=True)
    field = field_of(weight_chart(build_attention(config, (0, 1))))
    assert (~field.flat & field.resolved).any(-1).all()


@pytest.mark.parametrize("dim", [3, 5, 8])
def test_rms_norm_puts_an_ungated_plane_on_a_sphere(dim):
    """K = +1/D exactly: unit gain, epsilon 0."""
    field = field_of(build_attention(AttentionConfig(model_dim=dim, norm="post"), range(4)))
    error = (field.gaussian - 1 / dim).abs()
    assert (error <= field.gaussian_error)[field.resolved].all()
    sure = field.resolved & (field.gaussian_error < 1e-5)
    assert sure.double().mean() > 0.4
    assert error[sure].median() < 1e-12


def test_two_dimensions_are_flat_for_every_map():
    field = field_of(build_attention(AttentionConfig(model_dim=2, gate=GateConfig()), range(4)))
    assert (field.flat | ~field.resolved).all()


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
def test_the_law_for_the_real_model(seed):
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
        (q * r * a[:, 0] ** 2).abs() + (p * r * a[:, 1] ** 2).abs()
        + (p * q * a[:, 2] ** 2).abs() + abs(p * q * r)
    )  # fmt: skip
    decided = field.resolved[0] & ~field.flat[0] & (conic.abs() > 1e-9 * scale)
    assert (field.gaussian[0].sign() == conic.sign())[decided].all()


def test_both_charts_show_the_same_surface_for_three_values():
    model = build_attention(AttentionConfig(gate=GateConfig(), depth=2), (0, 1))
    chart = weight_chart(model)
    x = chart.inputs(GRID.points)
    torch.testing.assert_close(chart(GRID.points), model(x), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(
        model.blocks[0].weights(model.embed(x))[:, 0], chart.weights(GRID.points),
        rtol=1e-9, atol=1e-12,
    )  # fmt: skip
    assert (chart.reach(GRID.points) >= x.norm(dim=-1).amax(-1) * (1 - 1e-12)).all()


def test_the_state_behind_the_weights_produces_them_for_more_values():
    model = build_attention(AttentionConfig(model_dim=8, value_count=5, gate=GateConfig()), (3,))
    chart = weight_chart(model)
    seen = []
    model.blocks[0].gate.register_forward_hook(lambda _, args, __: seen.append(args[1]))
    chart(GRID.points)
    weights = model.blocks[0].weights(seen[0])[:, 0]
    torch.testing.assert_close(weights, chart.weights(GRID.points), rtol=1e-9, atol=1e-12)


@given(n=st.integers(3, 20), seed=st.integers(0, 10**6))
def test_the_slice_is_the_documented_one(n, seed):
    chart = weight_chart(build_attention(AttentionConfig(value_count=n), (seed,)))
    e1, e2 = chart.slices[0]
    corners = torch.tensor([[-1.0, -1], [-1, 1], [1, -1], [1, 1]], dtype=torch.float64)
    assert abs(float(chart.weights(corners).min()) - 0.02) < 1e-14
    assert abs(float(e1 @ e2)) < 1e-15
    assert abs(float(e1.norm() - e2.norm())) < 1e-15
    assert float(e1.sum().abs() + e2.sum().abs()) < 1e-14


WRONG_CHARTS = [
    (AttentionConfig(value_count=2), "value_count is 2"),
    (AttentionConfig(value_count=50), "value_count is 50"),
    (AttentionConfig(norm="pre"), "norm is 'pre'"),
    (AttentionConfig(model_dim=4, heads=2, gate=GateConfig()), "heads is 2"),
    (AttentionConfig(model_dim=4, heads=2, residual=True), "heads is 2"),
    (AttentionConfig(model_dim=3, value_count=6, gate=GateConfig()), "no query reaches"),
]


@pytest.mark.parametrize(("config", "message"), WRONG_CHARTS)
def test_charts_that_cannot_be_are_refused(config, message):
    with pytest.raises(ValueError, match=message):
        weight_chart(build_attention(config))
