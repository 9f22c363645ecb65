"""The paper's proxy, affine hulls and three-dimensional charts: right, and honest about limits."""

import pytest
import torch

from gating_core.attention.charts import weight_chart
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.curvature import curvature
from gating_core.geometry.discrete import paper_proxy, proxy_limit
from gating_core.geometry.flatness import affine_hull
from gating_core.geometry.grid import square_grid
from gating_core.geometry.solids import solid_curvature
from gating_core.jets.second_order import second_order_jet

GRID = square_grid(21)


# --- The proxy ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["warped plane", "cylinder", "cone"])
def test_the_proxy_sees_warping_and_bending_where_nothing_curves(name):
    chart = SURFACES[name].chart
    assert paper_proxy(chart, GRID.points).mean > 0.1
    assert curvature(second_order_jet(chart, GRID.points, "rigorous")).flat.all()


def test_the_proxy_of_a_quadratic_is_known_and_tends_to_its_limit():
    def saddle(p):
        return torch.stack([p[:, 0], p[:, 1], p[:, 0] ** 2 - p[:, 1] ** 2 + p.prod(-1)], -1)

    exact = (4 + 2 * 1 + 4) ** 0.5  # |D_uu| = |D_vv| = 2, |D_uv| = 1
    limit = proxy_limit(second_order_jet(saddle, GRID.points))
    assert abs(float(limit.mean) - exact) < 1e-14
    assert abs(float(paper_proxy(saddle, GRID.points, 1e-3).mean) - exact) < 1e-8


def test_the_best_step_depends_on_the_precision():
    model = build_attention(AttentionConfig(gate=GateConfig()), (0,))
    exact = float(proxy_limit(second_order_jet(model, GRID.points)).mean)

    def error(step, dtype):
        run = model.float() if dtype == torch.float32 else model.double()
        return abs(float(paper_proxy(run, GRID.points, step, dtype).mean) - exact)

    assert error(1e-4, torch.float64) < error(1e-1, torch.float64)
    assert error(1e-4, torch.float64) < error(1e-7, torch.float64)
    assert error(1e-2, torch.float32) < error(1e-4, torch.float32)


def test_normalising_removes_the_scale_of_the_output_only():
    chart = SURFACES["torus"].chart
    once, twice = (paper_proxy(lambda p, c=c: c * chart(p), GRID.points) for c in (1.0, 2.0))
    assert abs(float(twice.mean / once.mean) - 2) < 1e-6
    assert abs(float(twice.normalised / once.normalised) - 1) < 1e-6
    stretched = paper_proxy(lambda p: chart(2 * p), GRID.points / 2)
    assert abs(float(stretched.normalised / once.normalised) - 2) < 1e-5


@pytest.mark.parametrize("step", [0.0, -1.0, 2.0, float("nan")])
def test_wrong_steps_are_refused(step):
    with pytest.raises(ValueError, match="step"):
        paper_proxy(SURFACES["plane"].chart, GRID.points, step)


# --- The affine hull ------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "dim", "expected"), [(3, 8, 2), (4, 8, 3), (6, 3, 3), (2, 5, 1)])
def test_values_span_what_the_theorem_says(n, dim, expected):
    model = build_attention(AttentionConfig(model_dim=dim, value_count=n), (0,))
    found = affine_hull(model.blocks[0].values[0])
    assert (found.dimension, found.ambient) == (expected, dim)


def test_an_ungated_sample_lies_in_a_plane_and_a_gated_one_does_not():
    for gate, expected in ((None, 2), (GateConfig(), 8)):
        model = build_attention(AttentionConfig(model_dim=8, gate=gate), (0,))
        assert affine_hull(model(GRID.points)[0]).dimension == expected


def test_a_far_away_plane_is_still_a_plane():
    values = SURFACES["plane"].chart(GRID.points) + 1e6
    assert affine_hull(values).dimension == 2
    assert affine_hull(torch.ones(5, 3)).dimension == 0
    assert affine_hull(values, relative_tolerance=1.0).dimension == 0


@pytest.mark.parametrize(
    "values", [torch.zeros(0, 3), torch.zeros(3), torch.tensor([[1.0, torch.nan]])]
)
def test_wrong_values_are_refused(values):
    with pytest.raises(ValueError, match="values"):
        affine_hull(values)


# --- Three coordinates ----------------------------------------------------------------------------

CUBE = torch.rand(40, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 2 - 1


def three_sphere(p, radius=2.0):
    y = torch.cat([p, 0 * p[:, :1] + 1], -1)
    return radius * y / (y * y).sum(-1, keepdim=True).sqrt()


def flat_solid(p):
    return torch.cat([torch.sin(p), torch.cos(p)], -1)


def sphere_times_line(p):
    u, v, w = p.unbind(-1)
    r = (1 + u * u + v * v).sqrt()
    return torch.stack([u / r, v / r, 1 / r, w], -1)


def balanced(p):
    """At the origin the principal curvatures are 2, 2, -1: every pair sums to nothing in all."""
    u, v, w = p.unbind(-1)
    return torch.stack([u, v, w, u * u + v * v - w * w / 2], -1)


@pytest.mark.parametrize("bound", ["estimate", "rigorous"])
def test_the_three_sphere(bound):
    field = solid_curvature(second_order_jet(three_sphere, CUBE, bound))
    assert field.bound_kind == bound
    assert field.resolved.all()
    assert ((field.scalar - 6 / 4).abs() <= field.scalar_error).all()
    assert field.scalar_error.max() < 1e-8
    torch.testing.assert_close(field.mean_norm, torch.full_like(field.mean_norm, 0.5))
    for a, b in (([1.0, 0, 0], [0, 1.0, 0]), ([1.0, 2, -1], [0.3, 0, 5])):
        value, error = field.sectional(a, b)
        assert ((value - 1 / 4).abs() <= error).all()


@pytest.mark.parametrize("bound", ["estimate", "rigorous"])
def test_flat_space_and_products(bound):
    flat = solid_curvature(second_order_jet(flat_solid, CUBE, bound))
    assert flat.flat.all()
    product = solid_curvature(second_order_jet(sphere_times_line, CUBE, bound))
    assert not product.flat.any()
    assert ((product.scalar - 2).abs() <= product.scalar_error).all()
    along, along_error = product.sectional([1.0, 0, 0], [0, 1.0, 0])
    across, across_error = product.sectional([1.0, 0, 0], [0, 0, 1.0])
    assert ((along - 1).abs() <= along_error).all()
    assert (across.abs() <= across_error).all()


@pytest.mark.parametrize("bound", ["estimate", "rigorous"])
def test_vanishing_scalar_curvature_is_not_flat(bound):
    field = solid_curvature(second_order_jet(balanced, torch.zeros(1, 3), bound))
    assert (field.scalar.abs() <= field.scalar_error).all()
    assert not field.flat.any()
    value, _ = field.sectional([1.0, 0, 0], [0, 1.0, 0])
    assert abs(float(value) - 4) < 1e-12


def test_laws_of_solids():
    """Invariance under rigid motions and charts; 1 / c^2 under scaling; covariance."""
    q = torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(1)).double()).Q
    base = solid_curvature(second_order_jet(balanced, CUBE))
    moved = solid_curvature(second_order_jet(lambda p: balanced(p) @ q + 1, CUBE))
    scaled = solid_curvature(second_order_jet(lambda p: 3 * balanced(p), CUBE))
    metric = solid_curvature(second_order_jet(balanced, CUBE), 0.25)
    mix = torch.tensor([[2.0, 1, 0], [0, 1, 0], [1, 0, 3]], dtype=torch.float64)
    chart = solid_curvature(
        second_order_jet(lambda p: balanced(p @ mix), CUBE @ torch.linalg.inv(mix))
    )
    for other, factor in ((moved, 1), (scaled, 9), (metric, 4), (chart, 1)):
        gap = (base.scalar - factor * other.scalar).abs()
        assert (gap <= base.scalar_error + factor * other.scalar_error).all()


def test_four_values_fill_a_flat_solid_and_a_gate_curves_it():
    config = AttentionConfig(input_dim=3, model_dim=5, value_count=4)
    for seed in range(3):
        chart = weight_chart(build_attention(config, (seed,)), dimension=3)
        points = CUBE[:10]

        def warped(p, chart=chart):
            return chart(torch.tanh(p) * 0.9)

        field = solid_curvature(second_order_jet(warped, points, "rigorous"))
        assert (field.flat | ~field.resolved).all()
        assert field.resolved.all()
        gated = build_attention(
            AttentionConfig(input_dim=3, model_dim=5, value_count=4, gate=GateConfig()), (seed,)
        )
        bent = solid_curvature(second_order_jet(weight_chart(gated, 3), points, "rigorous"))
        assert (~bent.flat & bent.resolved).any()


@pytest.mark.parametrize(("a", "b"), [([1.0, 0, 0], [2.0, 0, 0]), ([0.0, 0, 0], [1.0, 0, 0]),
                                      ([1.0, 0], [0.0, 1.0])])  # fmt: skip
def test_what_spans_no_plane_is_refused(a, b):
    field = solid_curvature(second_order_jet(three_sphere, CUBE))
    with pytest.raises(ValueError, match="must span a plane"):
        field.sectional(a, b)


def test_surfaces_are_no_solids():
    with pytest.raises(ValueError, match="k = 2"):
        solid_curvature(second_order_jet(SURFACES["plane"].chart, GRID.points))
    with pytest.raises(ValueError, match="value_count"):
        weight_chart(build_attention(AttentionConfig(input_dim=3)), dimension=3)
