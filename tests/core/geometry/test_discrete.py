"""Finite differences err as theory says; the paper's proxy; the bundled second opinions."""

import numpy as np
import pytest
import torch

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.experiments.instance import INSTANCE, build_instance, bundled_second_opinions
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.curvature import curvature
from gating_core.geometry.discrete import (
    COMPARED,
    DIFFERENCE_STEPS,
    central_differences,
    difference_curvature,
    difference_errors,
    error_curve,
    paper_proxy,
    proxy_limit,
)
from gating_core.geometry.grid import square_grid
from gating_core.jets.second_order import second_order_jet

INSIDE = square_grid(15, -0.8, 0.8).points
GATED = build_attention(AttentionConfig(gate=GateConfig()), (0,)).member(0)


def half_collapsed(p):
    """Without area for u <= 0; flat, in a warped chart, elsewhere."""
    u, v = p.unbind(-1)
    return torch.stack([torch.relu(u) ** 3, v, torch.relu(u) ** 3 + v], -1)


@pytest.mark.parametrize("name", ["plane", "saddle", "paraboloid", "graph of z^2 in C2"])
def test_differences_of_quadratics_have_no_truncation(name):
    """With a step that is a power of two, nothing is left but rounding."""
    chart = SURFACES[name].chart
    found = central_differences(chart, INSIDE, 0.25).mT
    torch.testing.assert_close(found, second_order_jet(chart, INSIDE).stack, rtol=0, atol=1e-13)
    gaussian = difference_curvature(chart, INSIDE, 0.25)
    torch.testing.assert_close(gaussian, SURFACES[name].gaussian(INSIDE), rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", SURFACES)
def test_differences_agree_with_the_closed_form(name):
    surface = SURFACES[name]
    gap = difference_curvature(surface.chart, INSIDE, 1e-4) - surface.gaussian(INSIDE)
    assert gap.abs().max() < 1e-4


@pytest.mark.parametrize("function", [SURFACES["catenoid"].chart, GATED])
def test_truncation_has_slope_two_and_rounding_takes_over(function):
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


def test_a_covariance_rounds_the_ellipsoid():
    """Divided by its semi-axes 2, 1, 1/2 the ellipsoid is the unit sphere."""
    chart = SURFACES["ellipsoid"].chart
    found = difference_curvature(chart, INSIDE, 1e-4, [4.0, 1.0, 0.25])
    np.testing.assert_allclose(found, 1, rtol=1e-4)
    assert difference_errors(chart, [4.0, 1.0, 0.25]).median.min() < 1e-5


def test_a_leading_axis_of_one_changes_nothing_and_several_surfaces_are_refused():
    chart = SURFACES["torus"].chart
    alone, stacked = difference_errors(chart), difference_errors(lambda p: chart(p)[None])
    np.testing.assert_array_equal(alone.median, stacked.median)
    with pytest.raises(ValueError, match="2 surfaces"):
        difference_errors(lambda p: torch.stack([chart(p), chart(p)]))


@pytest.mark.parametrize("step", [0.0, -1e-3, 1.5, float("nan"), True])
def test_steps_stay_between_the_limits(step):
    for way in (difference_curvature, paper_proxy):
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
        difference_curvature(function, points)


# --- The proxy ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["warped plane", "cylinder"])
def test_the_proxy_sees_warping_and_bending_where_nothing_curves(name):
    chart = SURFACES[name].chart
    assert paper_proxy(chart, INSIDE).mean > 0.1
    assert curvature(second_order_jet(chart, INSIDE, "rigorous")).flat.all()


def test_the_proxy_of_a_quadratic_is_known_and_tends_to_its_limit():
    def saddle(p):
        return torch.stack([p[:, 0], p[:, 1], p[:, 0] ** 2 - p[:, 1] ** 2 + p.prod(-1)], -1)

    exact = (4 + 2 * 1 + 4) ** 0.5  # |D_uu| = |D_vv| = 2, |D_uv| = 1
    limit = proxy_limit(second_order_jet(saddle, INSIDE))
    assert abs(float(limit.mean) - exact) < 1e-14
    assert abs(float(paper_proxy(saddle, INSIDE, 1e-3).mean) - exact) < 1e-8


def test_normalising_removes_the_scale_of_the_output_only():
    chart = SURFACES["torus"].chart
    once, twice = (paper_proxy(lambda p, c=c: c * chart(p), INSIDE) for c in (1.0, 2.0))
    assert abs(float(twice.mean / once.mean) - 2) < 1e-6
    assert abs(float(twice.normalised / once.normalised) - 1) < 1e-6
    stretched = paper_proxy(lambda p: chart(2 * p), INSIDE / 2)
    assert abs(float(stretched.normalised / once.normalised) - 2) < 1e-5


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
