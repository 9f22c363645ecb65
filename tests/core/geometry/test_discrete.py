"""Finite differences and meshes err as theory says; the second opinions that are bundled hold."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.experiments.instance.model import build_instance
from gating_core.experiments.instance.second_opinions import (
    INSTANCE,
    bundled_second_opinions,
    measure_second_opinions,
)
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.curvature import curvature
from gating_core.geometry.discrete import (
    COMPARED,
    DIFFERENCE_STEPS,
    difference_curvature,
    difference_errors,
    difference_jet,
    error_curve,
    mesh_curvature,
)
from gating_core.geometry.grid import square_grid
from gating_core.jets.second_order import second_order_jet

INSIDE = square_grid(15, -0.8, 0.8).points
CURVED = ["sphere by gating", "ellipsoid", "torus", "catenoid", "pseudosphere"]
FLAT = ["warped plane", "cylinder", "cone", "flat torus in R4"]
GATED = build_attention(AttentionConfig(gate=GateConfig()), (0,)).member(0)


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
    curve = difference_errors(function, steps=[1e-6, 1e-4, 0.01, 0.02, 0.1])
    assert abs(np.log2(curve.median[3] / curve.median[2]) - 2) < 0.1
    assert curve.median.argmin() == 1
    assert curve.median[0] > 100 * curve.median[1]
    assert curve.median[4] > 1e3 * curve.median[1]
    assert (curve.high >= curve.median).all()


def test_errors_are_those_of_the_points_that_are_resolved():
    surface = SURFACES["ellipsoid"]
    curve = difference_errors(surface.chart, steps=[0.05])
    found = difference_curvature(surface.chart, COMPARED, 0.05) - surface.gaussian(COMPARED)
    sizes = np.sort(found.abs().numpy())
    np.testing.assert_allclose(curve.median, sizes[(len(sizes) - 1) // 2], rtol=1e-6)
    np.testing.assert_allclose(curve.high, sizes[int(np.ceil(0.95 * len(sizes))) - 1], rtol=1e-6)

    resolved = curvature(second_order_jet(half_collapsed, COMPARED, "rigorous")).resolved
    assert 0 < resolved.sum() < len(COMPARED)
    gaps = difference_curvature(half_collapsed, COMPARED, 1e-3)[resolved].abs().numpy()
    part = error_curve([1e-3], [gaps])  # K = 0 where it is resolved
    np.testing.assert_allclose(difference_errors(half_collapsed, steps=[1e-3]).high, part.high)
    assert np.isnan(difference_errors(lambda p: 0 * p[:, [0, 1, 0]] + 1).median).all()


def test_no_value_at_all_counts_as_infinitely_wrong():
    curve = error_curve([1.0, 2.0, 3.0], [np.array([np.nan, np.nan, 1.0]), np.ones(3), np.ones(0)])
    np.testing.assert_array_equal(curve.median, [np.inf, 1, np.nan])

    def edge(p):  # a step of 0.1 leaves its domain at the left, the points do not
        return torch.stack([p[:, 0], p[:, 1], torch.log(p[:, 0] + 0.95)], -1)

    curve = difference_errors(edge, steps=[0.01, 0.1])
    assert np.isfinite(curve.high[0])
    gaps = difference_curvature(edge, COMPARED, 0.1).reshape(21, 21)
    assert gaps[:, 0].isnan().all()
    assert gaps[:, 1:].isfinite().all()


@pytest.mark.parametrize("covariance", [[4.0, 1.0, 0.25], torch.diag(torch.tensor([4.0, 1, 0.25]))])
def test_a_covariance_rounds_the_ellipsoid(covariance):
    """Divided by its semi-axes 2, 1, 1/2 the ellipsoid is the unit sphere."""
    chart = SURFACES["ellipsoid"].chart
    found = difference_curvature(chart, INSIDE, 1e-4, covariance)
    np.testing.assert_allclose(found, 1, rtol=1e-4)
    assert difference_errors(chart, covariance).median.min() < 1e-5
    with pytest.raises(ValueError, match="covariance"):
        difference_errors(chart, -1.0)


@pytest.mark.parametrize("name", FLAT)
def test_differences_of_flat_surfaces_are_flat(name):
    assert difference_curvature(SURFACES[name].chart, INSIDE).abs().max() < 1e-5


def test_steps_never_leave_the_chart():
    reached = []

    def chart(p):
        reached.append(float(p.detach().abs().max()) if type(p) is torch.Tensor else 0.0)
        return SURFACES["torus"].chart(p)

    difference_errors(chart)
    assert len(reached) >= 9 * len(DIFFERENCE_STEPS)
    assert max(reached) <= 1 + 1e-12


def test_a_leading_axis_of_one_changes_nothing_and_several_surfaces_are_refused():
    chart = SURFACES["torus"].chart
    alone, stacked = difference_errors(chart), difference_errors(lambda p: chart(p)[None])
    np.testing.assert_array_equal(alone.median, stacked.median)
    assert difference_curvature(lambda p: chart(p)[None], INSIDE).shape == (1, len(INSIDE))
    with pytest.raises(ValueError, match="2 surfaces"):
        difference_errors(lambda p: torch.stack([chart(p), chart(p)]))


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


# --- Meshes ---------------------------------------------------------------------------------------


def angle_defect(values, r, c):
    """The same number, vertex by vertex: the ring of six neighbours along the diagonals."""
    ring = [(0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1), (1, 0), (0, 1)]
    centre = values[r, c]
    spokes = [values[r + i, c + j] - centre for i, j in ring]
    defect, area = 2 * np.pi, 0.0
    for a, b in pairwise(spokes):
        defect -= float(np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))
        area += float(np.linalg.norm(np.cross(a, b))) / 2
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
        gaps = np.abs(found - exact)[1:-1, 1:-1]
        worst.append((gaps.max(), float(np.median(gaps))))
    assert worst[0][0] > 6 * worst[1][0]
    if name != "saddle":
        assert abs(np.log2(worst[0][1] / worst[1][1]) / 2 - 2) < 0.25  # second order


def test_triangles_without_area_have_no_curvature():
    grid = square_grid(9)
    u, v = grid.points.numpy().reshape(9, 9, 2).transpose(2, 0, 1)
    values = np.stack([np.maximum(u, 0), v, 0 * u], -1)
    found = mesh_curvature(values)
    assert np.isnan(found[:, :5]).all()
    np.testing.assert_allclose(found[1:-1, 5:-1], 0, atol=1e-10)


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


# --- The bundled opinions -------------------------------------------------------------------------


def test_each_bundled_opinion_errs_as_its_method_does():
    bundled = bundled_second_opinions()
    double, single, mesh, proxy = (
        bundled.curves[name] for name in ("double", "single", "mesh", "proxy")
    )
    for curve in (double, single, proxy):
        assert curve.x.tolist() == [*DIFFERENCE_STEPS]
    best = {name: curve.x[curve.median.argmin()] for name, curve in bundled.curves.items()}
    assert best["double"] < 2e-3 < 8e-3 < best["single"]
    assert single.median.min() > 100 * double.median.min()
    # At the largest step both are off by the same truncation, and agree.
    assert bundled.apart < 0.01 * double.median[-1]
    assert abs(single.median[-1] / double.median[-1] - 1) < 0.01
    assert abs(np.polyfit(np.log(mesh.x), np.log(mesh.median), 1)[0] - 2) < 0.25
    live = difference_errors(build_instance(INSTANCE), steps=[0.01, 0.1]).median
    np.testing.assert_allclose(live / bundled.scale, double.median[[-4, -1]], rtol=1e-6)
    (first, error), (second, other) = bundled.quadrature, bundled.holonomy
    assert abs(first - second) <= error + other < 0.01 * abs(first)


@pytest.mark.soak
def test_the_bundled_opinions_are_what_is_measured():
    """Where rounding does not decide: its digits differ from machine to machine."""
    bundled, measured = bundled_second_opinions(), measure_second_opinions()
    for name, curve in bundled.curves.items():
        again = measured.curves[name]
        np.testing.assert_array_equal(curve.x, again.x)
        truncated = curve.x >= {"double": 1e-3, "single": 0.04, "mesh": 0.0, "proxy": 1e-3}[name]
        for part in ("median", "high"):
            old, new = getattr(curve, part), getattr(again, part)
            np.testing.assert_allclose(new[truncated], old[truncated], rtol=0.01)
            np.testing.assert_allclose(np.log10(new), np.log10(old), atol=0.7)
    assert abs(measured.scale / bundled.scale - 1) < 1e-6
    for name in ("quadrature", "holonomy"):
        np.testing.assert_allclose(getattr(measured, name), getattr(bundled, name), rtol=1e-3)
