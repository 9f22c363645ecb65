"""The paper's proxy and affine hulls: right, and honest about limits."""

import pytest
import torch

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.curvature import curvature
from gating_core.geometry.discrete import paper_proxy, proxy_limit
from gating_core.geometry.flatness import affine_hull
from gating_core.geometry.grid import square_grid
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
