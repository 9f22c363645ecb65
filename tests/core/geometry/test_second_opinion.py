"""Other ways of measuring err as theory says, and their figures show it."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from gating_core.attention.charts import weight_chart
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.curvature import curvature
from gating_core.geometry.discrete import difference_curvature, difference_jet, mesh_curvature
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import grid_integrals
from gating_core.geometry.second_opinion import (
    DIFFERENCE_STEPS,
    Scale,
    curvature_scale,
    difference_errors,
    mesh_errors,
    proxy_errors,
    second_opinion,
)
from gating_core.jets.second_order import second_order_jet

GRID = square_grid(21)
INSIDE = square_grid(15, -0.8, 0.8).points
FLAT = ["warped plane", "cylinder", "cone", "flat torus in R4"]
CURVED = ["sphere by gating", "ellipsoid", "torus", "catenoid", "pseudosphere"]
UNIT = Scale(1.0, "mean |K|")
GATED = build_attention(AttentionConfig(gate=GateConfig()), (0,)).member(0)


def exact_field(function, points, covariance=None):
    return curvature(second_order_jet(function, points, "rigorous"), covariance)


def known(function, points):
    """K at the points, NaN where it is not resolved."""
    field = exact_field(function, points)
    return torch.where(field.resolved, field.gaussian, torch.nan).flatten().numpy()


def half_collapsed(p):
    """Without area for u <= 0; flat, in a warped chart, elsewhere."""
    u, v = p.unbind(-1)
    return torch.stack([torch.relu(u) ** 3, v, torch.relu(u) ** 3 + v], -1)


# --- Differences ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plane", "saddle", "paraboloid", "graph of z^2 in C2"])
def test_differences_of_quadratics_have_no_truncation(name):
    """With a step that is a power of two, nothing is left but rounding."""
    surface = SURFACES[name]
    found, exact = difference_jet(surface.chart, INSIDE, 0.25), second_order_jet(
        surface.chart, INSIDE
    )  # fmt: skip
    torch.testing.assert_close(found.stack, exact.stack, rtol=0, atol=1e-13)
    assert found.bound_kind == "estimate"
    gaussian = difference_curvature(surface.chart, INSIDE, 0.25)
    torch.testing.assert_close(gaussian, surface.gaussian(INSIDE), rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", SURFACES)
def test_differences_agree_with_the_closed_form(name):
    surface = SURFACES[name]
    gap = difference_curvature(surface.chart, INSIDE, 1e-4) - surface.gaussian(INSIDE)
    assert gap.abs().max() < 1e-4


@pytest.mark.parametrize("name", [*CURVED, "gated"])
def test_truncation_has_slope_two_and_rounding_takes_over(name):
    function = GATED if name == "gated" else SURFACES[name].chart
    steps = [1e-6, 1e-4, 0.01, 0.02, 0.1]
    curve = difference_errors(function, INSIDE, known(function, INSIDE), UNIT, steps)
    assert abs(np.log2(curve.median[3] / curve.median[2]) - 2) < 0.1
    assert curve.best == 1
    assert curve.median[0] > 100 * curve.median[1]
    assert curve.median[4] > 1e3 * curve.median[1]
    assert (curve.high >= curve.median).all()


def test_errors_are_those_of_the_points_that_are_resolved():
    surface = SURFACES["ellipsoid"]
    exact, scale = known(surface.chart, INSIDE), Scale(2.0, "mean |K|")
    curve = difference_errors(surface.chart, INSIDE, exact, scale, [0.05])
    found = difference_curvature(surface.chart, INSIDE, 0.05) - surface.gaussian(INSIDE)
    sizes = np.sort(found.abs().numpy()) / 2
    np.testing.assert_allclose(curve.median, sizes[len(sizes) // 2], rtol=1e-6)
    np.testing.assert_allclose(curve.high, sizes[int(np.ceil(0.95 * len(sizes))) - 1], rtol=1e-6)

    collapsed = exact_field(half_collapsed, INSIDE)
    assert 0 < collapsed.resolved.sum() < len(INSIDE)
    right = INSIDE[collapsed.resolved]
    both = (
        difference_errors(half_collapsed, points, known(half_collapsed, points), UNIT, [1e-3])
        for points in (INSIDE, right)
    )
    whole, part = both
    np.testing.assert_array_equal(whole.high, part.high)
    assert np.isfinite(whole.high).all()
    # Across the edge of what is resolved the mesh is wrong, but every vertex has a number.
    assert np.isfinite(mesh_errors(half_collapsed, UNIT, (41,)).median)


def test_float32_wants_a_larger_step_and_leaves_the_model_alone():
    exact = known(GATED, INSIDE)
    double = difference_errors(GATED, INSIDE, exact, UNIT)
    single = difference_errors(GATED, INSIDE, exact, UNIT, dtype=torch.float32)
    assert double.x[double.best] < 2e-3 < 8e-3 < single.x[single.best]
    assert single.median[single.best] > 100 * double.median[double.best]
    assert {p.dtype for p in GATED.parameters()} == {torch.float64}
    for plain in (SURFACES["torus"].chart, weight_chart(GATED)):
        assert difference_errors(plain, INSIDE, exact, UNIT, dtype=torch.float32) is None


def test_no_value_at_all_counts_as_infinitely_wrong():
    """In float32 a step of 1e-8 does not move most points: no tangent, no curvature."""
    exact = known(GATED, INSIDE)
    curve = difference_errors(GATED, INSIDE, exact, UNIT, [1e-8, 0.02], dtype=torch.float32)
    assert np.isinf(curve.median[0])
    assert np.isfinite(curve.median[1])
    assert curve.best == 1
    assert difference_errors(GATED, INSIDE, exact, UNIT, [1e-8], dtype=torch.float32).best is None


# --- Scales ---------------------------------------------------------------------------------------


def test_scales_of_curved_surfaces_are_means_over_area():
    for name, covariance in (("saddle", None), ("torus", None), ("ellipsoid", 4.0)):
        jet = second_order_jet(SURFACES[name].chart, GRID.points)
        scale = curvature_scale(curvature(jet, covariance), jet.value, GRID.weights)
        sums = grid_integrals(jet, GRID.weights, covariance)
        assert scale.kind == "mean |K|"
        assert abs(scale.value - float(sums.absolute.value / sums.area.value)) < 1e-12


def test_scales_of_flat_surfaces_are_diameters():
    chart = SURFACES["cylinder"].chart
    scale = curvature_scale(exact_field(chart, GRID.points), chart(GRID.points), GRID.weights)
    assert scale.kind == "1 / diameter^2"
    assert abs(1 / scale.value - (4 * np.sin(1) ** 2 + 4)) < 1e-12
    second = second_opinion(chart, GRID, covariance=4.0)
    assert second.scale.kind == "1 / diameter^2"
    assert abs(second.scale.value / scale.value - 4) < 1e-9


def test_nothing_resolved_has_no_scale():
    def point(p):
        return 0 * p[:, [0, 1, 0]] + 1

    second = second_opinion(point, GRID)
    assert second.scale.kind == "none"
    assert not second.resolved.any()
    assert np.isnan(second.difference_curve.median).all()
    assert np.isnan(second.mesh).all()
    assert second.proxy_curve is None


# --- Meshes ---------------------------------------------------------------------------------------


def angle_defect(values, r, c):
    """The same number, vertex by vertex: the ring of six neighbours along the diagonals."""
    ring = [(0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1), (1, 0), (0, 1)]
    centre = values[r, c]
    spokes = [values[r + i, c + j] - centre for i, j in ring]
    defect, area = 2 * np.pi, 0.0
    for a, b in pairwise(spokes):
        defect -= np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        area += np.linalg.norm(np.cross(a, b)) / 2
    return defect / (area / 3)


def test_mesh_curvature_is_the_angle_defect_in_rows_and_columns():
    u, v = np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-1, 0.5, 6))
    values = np.stack([u, v, np.sin(u + 2 * v) + 2 * u * v * v], -1)
    found = mesh_curvature(values)
    assert found.shape == (6, 9)
    inside = np.zeros((6, 9), dtype=bool)
    inside[1:-1, 1:-1] = True
    np.testing.assert_array_equal(np.isfinite(found), inside)
    expected = [[angle_defect(values, r, c) for c in range(1, 8)] for r in range(1, 5)]
    np.testing.assert_allclose(found[1:-1, 1:-1], expected, rtol=1e-6, atol=1e-9)
    assert (found[1:-1, 1:-1] > 0.1).any()
    assert (found[1:-1, 1:-1] < -0.1).any()


@pytest.mark.parametrize("name", [*CURVED, "saddle"])
def test_the_worst_vertex_of_a_mesh_gets_better_with_the_grid(name):
    """Not the median alone: where diagonals flip, single vertices stay wrong on every grid."""
    worst = []
    for size in (21, 81):
        grid, surface = square_grid(size), SURFACES[name]
        exact = surface.gaussian(grid.points).reshape(size, size).numpy()
        found = mesh_curvature(surface.chart(grid.points).reshape(size, size, 3).numpy())
        worst.append(np.abs(found - exact)[1:-1, 1:-1].max())
    assert worst[0] > 6 * worst[1]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CURVED)
def test_mesh_errors_fall_with_the_spacing(name):
    curve = mesh_errors(SURFACES[name].chart, UNIT)
    np.testing.assert_allclose(curve.x, [1 / 60, 1 / 40, 1 / 30, 1 / 20, 1 / 15, 1 / 10])
    assert (np.diff(curve.median) > 0).all()
    assert (np.diff(curve.high) > 0).all()
    slope = np.polyfit(np.log(curve.x), np.log(curve.median), 1)[0]
    assert abs(slope - 2) < 0.25
    assert curve.best == 0


def test_triangles_without_area_have_no_curvature():
    grid = square_grid(9)
    u, v = grid.points.numpy().reshape(9, 9, 2).transpose(2, 0, 1)
    values = np.stack([np.maximum(u, 0), v, 0 * u], -1)
    found = mesh_curvature(values)
    assert np.isnan(found[:, :5]).all()
    np.testing.assert_allclose(found[1:-1, 5:-1], 0, atol=1e-10)


def test_meshes_need_three_finite_dimensions():
    assert mesh_errors(SURFACES["flat torus in R4"].chart, UNIT, (5,)) is None
    assert mesh_errors(lambda p: torch.log(p[:, [0, 1, 0]]), UNIT, (5,)) is None
    second = second_opinion(SURFACES["graph of z^2 in C2"].chart, GRID)
    assert second.mesh is None
    assert second.mesh_curve is None
    with pytest.raises(ValueError, match="sizes is empty"):
        mesh_errors(SURFACES["plane"].chart, UNIT, ())


GOOD_VALUES = np.random.default_rng(0).normal(size=(4, 5, 3))
BROKEN_VALUES = np.where(np.arange(60).reshape(4, 5, 3) == 31, np.nan, GOOD_VALUES)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (GOOD_VALUES, None),
        (GOOD_VALUES.tolist(), None),
        (GOOD_VALUES[:3, :3], None),
        (GOOD_VALUES[:2], "shape"),
        (GOOD_VALUES[:, :2], "shape"),
        (GOOD_VALUES[..., :2], "shape"),
        (GOOD_VALUES[None], "shape"),
        (BROKEN_VALUES, "NaN"),
        (np.where(np.isnan(BROKEN_VALUES), np.inf, GOOD_VALUES), "infinite"),
    ],
)
def test_only_finite_grids_in_space_are_meshed(values, message):
    if message is None:
        assert np.isfinite(mesh_curvature(values)).any()
    else:
        with pytest.raises(ValueError, match=message):
            mesh_curvature(values)


# --- The proxy ------------------------------------------------------------------------------------


def test_the_error_of_the_proxy_of_a_sine_is_known():
    """Second differences of sin are its second derivative times 2 (1 - cos h) / h^2."""

    def wave(p):
        return torch.stack([p[:, 0], p[:, 1], torch.sin(p[:, 0])], -1)

    steps = np.array([0.01, 0.1, 0.5, 1.0])
    curve = proxy_errors(wave, GRID.points, steps.tolist())
    np.testing.assert_allclose(curve.median, 1 - 2 * (1 - np.cos(steps)) / steps**2, rtol=1e-5)
    np.testing.assert_array_equal(curve.median, curve.high)
    assert abs(curve.scale.value - float(torch.sin(GRID.points[:, 0]).abs().mean())) < 1e-14


def test_the_proxy_tends_to_its_limit():
    second = second_opinion(GATED, GRID, 1e-4)
    assert abs(second.proxy_mean / second.proxy_limit - 1) < 1e-6
    assert abs(second.proxy.mean() - second.proxy_mean) < 1e-12
    curve = second.proxy_curve
    assert curve.median[curve.best] < 1e-6
    assert curve.median[-1] > 1e-4
    assert proxy_errors(SURFACES["plane"].chart, GRID.points) is None


# --- All of them ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FLAT)
def test_flat_surfaces_look_flat_in_every_way(name):
    second = second_opinion(SURFACES[name].chart, GRID)
    assert (np.abs(second.exact) <= second.exact_error).all()
    assert second.bound_kind == "rigorous"
    assert np.abs(second.difference).max() < 1e-5
    if second.mesh is not None:
        assert np.nanmax(np.abs(second.mesh)) < 1e-10
    assert second.proxy.min() > 0  # but the proxy sees bending and warping


def test_every_way_finds_the_curvature_of_the_ellipsoid():
    surface = SURFACES["ellipsoid"]
    grid = square_grid(41, -0.5, 0.5)
    second = second_opinion(surface.chart, grid, 1e-4)
    expected = surface.gaussian(grid.points).reshape(41, 41).numpy()
    np.testing.assert_allclose(second.exact, expected, rtol=1e-10)
    np.testing.assert_allclose(second.difference, expected, rtol=1e-5)
    np.testing.assert_allclose(second.mesh[1:-1, 1:-1], expected[1:-1, 1:-1], rtol=0.01)
    np.testing.assert_array_equal(second.axis, grid.axis.numpy())
    np.testing.assert_allclose(second.mesh_curve.x[-1], 1 / 20)  # its grids are on this chart
    assert [curve.name for curve in second.curves] == [
        "differences, float64",
        "triangle mesh",
        "paper's proxy",
    ]


@pytest.mark.parametrize("covariance", [[4.0, 1.0, 0.25], torch.diag(torch.tensor([4.0, 1, 0.25]))])
def test_a_covariance_rounds_the_ellipsoid_for_all_ways(covariance):
    """Divided by its semi-axes 2, 1, 1/2 the ellipsoid is the unit sphere."""
    chart = SURFACES["ellipsoid"].chart
    second = second_opinion(chart, square_grid(41), 1e-4, covariance)
    np.testing.assert_allclose(second.exact, 1, rtol=1e-10)
    np.testing.assert_allclose(second.difference, 1, rtol=1e-4)
    np.testing.assert_allclose(second.mesh[1:-1, 1:-1], 1, rtol=0.01)
    assert abs(second.scale.value - 1) < 1e-10
    assert second.difference_curve.median.min() < 1e-5
    assert second.mesh_curve.high.max() < 0.03
    plain = second_opinion(chart, square_grid(41), 1e-4)
    np.testing.assert_array_equal(second.proxy, plain.proxy)


def test_a_mixing_covariance_whitens_the_mesh_as_it_does_the_jet():
    covariance = [[2.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 0.5]]
    second = second_opinion(SURFACES["saddle"].chart, square_grid(61), 1e-4, covariance)
    plain = second_opinion(SURFACES["saddle"].chart, square_grid(61), 1e-4)
    inside = np.s_[1:-1, 1:-1]
    gap = np.abs(second.mesh - second.exact)[inside]
    assert gap.max() < 0.05 * np.abs(plain.exact - second.exact)[inside].max()


def test_a_leading_axis_of_one_changes_nothing():
    chart = SURFACES["torus"].chart
    alone = second_opinion(chart, GRID)
    stacked = second_opinion(lambda p: chart(p)[None], GRID)
    for name in ("exact", "exact_error", "resolved", "difference", "mesh", "proxy"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(stacked, name))
        assert getattr(alone, name).shape == (21, 21)
    for a, b in zip(alone.curves, stacked.curves, strict=True):
        np.testing.assert_array_equal(a.median, b.median)
    assert difference_curvature(lambda p: chart(p)[None], INSIDE).shape == (1, len(INSIDE))


def test_curves_over_steps_never_leave_the_chart():
    reached = []

    def chart(p):
        reached.append(float(p.detach().abs().max()) if type(p) is torch.Tensor else 0.0)
        return SURFACES["torus"].chart(p)

    second_opinion(chart, GRID, 1e-5)
    assert len(reached) > 9 * len(DIFFERENCE_STEPS)
    assert max(reached) <= 1 + 1.001e-5  # the map of the chosen step, at the edge


def test_where_a_step_leaves_the_domain_there_is_no_value():
    def edge(p):
        return torch.stack([p[:, 0], p[:, 1], torch.log(p[:, 0] + 1.01)], -1)

    second = second_opinion(edge, GRID, 0.02)
    assert np.isfinite(second.exact).all()
    missing = np.isnan(second.difference)
    assert missing[:, 0].all()
    assert not missing[:, 1:].any()
    assert np.isnan(second.proxy_mean)


def two_surfaces(p):
    return torch.stack([SURFACES["torus"].chart(p), SURFACES["saddle"].chart(p)])


@pytest.mark.parametrize(
    "call",
    [
        lambda: second_opinion(two_surfaces, GRID),
        lambda: mesh_errors(two_surfaces, UNIT, (5,)),
        lambda: proxy_errors(two_surfaces, INSIDE),
        lambda: difference_errors(two_surfaces, INSIDE, known(GATED, INSIDE), UNIT),
    ],
)
def test_several_surfaces_are_refused(call):
    with pytest.raises(ValueError, match="2 surfaces"):
        call()


@pytest.mark.parametrize("step", [1e-8, 1.0, 0.0, -1e-3, 1.5, 1e-9, float("nan"), "small", True])
def test_steps_stay_between_the_limits(step):
    if step in (1e-8, 1.0) and step is not True:
        assert difference_jet(SURFACES["plane"].chart, INSIDE, step).stack.isfinite().all()
        return
    for way in (difference_jet, difference_curvature):
        with pytest.raises(ValueError, match="step"):
            way(SURFACES["plane"].chart, INSIDE, step)


@pytest.mark.parametrize(
    ("function", "points", "message"),
    [
        (SURFACES["plane"].chart, torch.zeros(4, 3), "points"),
        (SURFACES["plane"].chart, torch.tensor([[0.0, torch.nan]]), "points"),
        (lambda p: p[:, 0], torch.zeros(4, 2), "function returned shape"),
        (lambda p: p.T, torch.zeros(4, 2), "function returned shape"),
    ],
)
def test_wrong_points_and_functions_are_refused(function, points, message):
    with pytest.raises(ValueError, match=message):
        difference_jet(function, points)


def test_wrong_covariances_are_refused():
    for covariance in (-1.0, [1.0, 2.0], "wide"):
        with pytest.raises(ValueError, match="covariance"):
            second_opinion(SURFACES["plane"].chart, GRID, covariance=covariance)
