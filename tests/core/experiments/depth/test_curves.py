"""Curves against depth: each quantity, each seed, and what is not known."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
import torch

from gating_core.attention import GateConfig, build_attention
from gating_core.experiments.comparison import measure_fields
from gating_core.experiments.depth import (
    QUANTITIES,
    REGIMES,
    ZERO,
    DepthRequest,
    TrainedRequest,
    curves,
    load_gates,
    measure_regime,
    regime_layers,
    replay,
    replay_fields,
)
from gating_core.geometry import measure_surface, paper_proxy, square_grid
from gating_core.jets import second_order_jet
from tests.core import exact

REQUEST = DepthRequest(depth=4, seed=3, seed_count=3, grid=9)


def model_of(request, name, member, depth):
    """One seed's stack of ``depth`` layers, built on its own."""
    regime = REGIMES[name]
    config = request.stack(depth, regime.gated, regime.arrangement)
    return build_attention(config, (request.seeds[member],))


@pytest.mark.parametrize("name", ["ungated_plain", "gated_both", "gated_residual"])
def test_every_quantity_is_what_one_model_alone_shows(name):
    """A stack of three layers, built and measured by itself: not among seeds, not among layers."""
    found = measure_regime(REQUEST, name)
    model, grid = model_of(REQUEST, name, 1, 3), square_grid(REQUEST.grid)
    alone = measure_surface(model, grid)
    area = (alone.area_element * alone.quadrature).sum()
    points = torch.from_numpy(alone.values[0]).flatten(0, 1)
    expected = {
        "total": alone.total[0],
        "mean": alone.total[0] / area,
        "centre": abs(alone.gaussian[0, 4, 4]),
        "proxy": float(paper_proxy(model, grid.points).mean[0]),
        "diameter": max(float((points - point).norm(dim=1).max()) for point in points),
    }
    assert set(expected) == set(QUANTITIES) == set(found.curves)
    for quantity, value in expected.items():
        curve = found.curves[quantity]
        rel = 1e-5 if quantity == "proxy" else 1e-9  # differences with a step of 1e-4
        assert curve.values[1, 2] == pytest.approx(value, rel=rel), quantity
        assert curve.values[1, 1] != pytest.approx(value, rel=1e-3), quantity
        assert curve.known[1, 2]
    assert found.curves["total"].errors[1, 2] >= alone.total_error[0] * (1 - 1e-9)
    assert found.curves["centre"].errors[1, 2] == pytest.approx(alone.gaussian_error[0, 4, 4])


@pytest.mark.soak
def test_proxy_and_diameter_are_within_their_bounds_at_two_hundred_digits():
    """In plain numbers, point by point; the bounds hold those of the derivatives."""
    request = DepthRequest(depth=5, seed_count=1, grid=5)
    found = measure_regime(request, "gated_plain")
    model, points = model_of(request, "gated_plain", 0, 5), square_grid(5).points
    jets = [
        exact.jet(lambda m, u, v: exact.attention(m, model, [u, v])[0], *point)
        for point in points.tolist()
    ]
    with mpmath.workdps(exact.DIGITS):
        norms = [
            mpmath.sqrt(exact.dot(uu, uu) + 2 * exact.dot(uv, uv) + exact.dot(vv, vv))
            for *_, uu, uv, vv in jets
        ]
        ends = [value for value, *_ in jets]
        differences = [[x - y for x, y in zip(a, b, strict=True)] for a in ends for b in ends]
        expected = {
            "proxy": mpmath.fsum(norms) / len(norms),
            "diameter": max(mpmath.sqrt(exact.dot(d, d)) for d in differences),
        }
        for name, value in expected.items():
            curve = found.curves[name]
            error = float(curve.errors[0, 4])
            assert abs(mpmath.mpf(float(curve.values[0, 4])) - value) <= error
            assert error < 1e-6 * value
    errors = second_order_jet(model, points, "rigorous").errors[:, 0].numpy()
    bends = [
        np.sqrt((e[3] ** 2 + 2 * e[4] ** 2 + e[5] ** 2).sum()) for e in errors.T.swapaxes(1, 2)
    ]
    assert found.curves["proxy"].errors[0, 4] >= np.mean(bends)
    moved = np.sqrt((errors[0] ** 2).sum(0)).max()
    assert found.curves["diameter"].errors[0, 4] >= 2 * moved


def test_an_ungated_stack_of_three_values_stays_zero():
    request = replace(REQUEST, value_count=3, depth=16)
    found = measure_regime(request, "ungated_plain")
    assert found.quantities.proved.all()
    for name in ("total", "mean", "centre"):
        curve = found.curves[name]
        assert curve.known.all()
        assert (curve.values == 0).all()
        assert curve.course.word == ZERO
        assert curve.exponent.depths is None
    gated = measure_regime(request, "gated_plain")
    assert not gated.quantities.proved.any()
    assert gated.curves["total"].course.word != ZERO


def test_medians_are_of_what_is_known():
    found = measure_regime(REQUEST, "gated_residual")
    curve = found.curves["total"]
    assert np.allclose(curve.median, np.median(curve.values, 0))
    assert (curve.band[0] <= curve.median).all()
    assert (curve.median <= curve.band[1]).all()
    known = curve.known.copy()
    known[0] = False
    assert np.allclose(replace(curve, known=known).median, np.median(curve.values[1:], 0))
    known[1] = False
    assert np.isnan(replace(curve, known=known).median).all()


@pytest.mark.parametrize("name", ["aligned", "random"])
def test_the_fitted_line_has_the_exponent_as_its_slope_and_as_many_points_above_as_below(name):
    curve = load_gates()[name].curves["centre"]
    ends, values = curve.fitted_line()
    slope = np.diff(np.log(values)) / np.diff(np.log(ends))
    np.testing.assert_allclose(slope, curve.exponent.over_seeds.value, rtol=1e-9)
    heights = np.interp(np.log(curve.depths), np.log(ends), np.log(values))
    residuals = (np.log(curve.values) - heights)[curve.fitted]
    assert abs(np.sign(residuals).sum()) <= 1
    none = replace(curve, known=np.zeros_like(curve.known))
    assert all(part.size == 0 for part in none.fitted_line())


def test_bundled_gates_are_those_that_are_measured():
    for name, bundled in load_gates().items():
        found = measure_regime(DepthRequest(), name)
        for quantity, curve in found.curves.items():
            np.testing.assert_allclose(bundled.curves[quantity].values, curve.values, rtol=1e-9)
            np.testing.assert_array_equal(bundled.curves[quantity].small, curve.small)


def test_twice_the_layers_of_aligned_gates_have_four_times_the_curvature():
    curve = load_gates()["aligned"].curves["centre"]
    ratios = curve.doubling()
    assert ratios.shape == (16, 8)
    np.testing.assert_allclose(ratios, 4, rtol=1e-9)
    np.testing.assert_array_equal(ratios[:, 2], curve.values[:, 5] / curve.values[:, 2])


def test_regimes_come_with_their_progress(monkeypatch):
    monkeypatch.setattr(curves, "LAYERS_PART_POINTS", 250)
    for name, sheets in (("strong", True), ("gated_norm", False)):
        shares = []
        found = measure_regime(REQUEST, name, shares.append)
        assert shares == sorted(shares)
        assert 0 < shares[0] < 0.5
        assert shares[-1] == 1
        assert (found.regime, found.request) == (name, REQUEST)
        assert (found.size is not None) == sheets


def test_a_replay_is_one_model_layer_by_layer():
    frames = replay(regime_layers(REQUEST, "gated_both", 2), 13)
    assert frames.values.shape == (4, 13, 13, 3)
    assert frames.gaussian.shape == frames.gaussian_error.shape == (4, 13, 13)
    assert frames.bound_kind == "rigorous"
    for depth in (1, 4):
        alone = measure_surface(
            model_of(REQUEST, "gated_both", 2, depth), square_grid(13), bound="rigorous"
        )
        assert np.array_equal(frames.values[depth - 1], alone.values[0])
        assert np.array_equal(frames.gaussian[depth - 1], alone.gaussian[0])
    sheets = replay(regime_layers(REQUEST, "aligned", 0))
    assert sheets.values.shape == (4, 31, 31, 3)


def test_fields_after_a_layer_are_those_of_a_model_that_ends_there():
    found = replay_fields(regime_layers(REQUEST, "gated_both", 2), 3, 13)
    surface, fields = measure_fields(model_of(REQUEST, "gated_both", 2, 3), 13)
    assert surface.resolved.all()
    assert set(found) == set(fields) > {"|H|", "gate 1", "weight 1 of head 1"}
    for name, field in fields.items():
        np.testing.assert_allclose(found[name], field, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("layer", [1, 3])
def test_after_gates_on_a_sheet_mean_curvature_and_gate_are_those_of_their_formula(layer):
    found = replay_fields(regime_layers(REQUEST, "strong", 1), layer, 9)
    eps = float(REGIMES["strong"].build(REQUEST).eps[1])

    def sheet(m, u, v):
        y = [u, v, 1]
        for _ in range(layer):
            gate = 1 - eps * (y[0] ** 2 + y[1] ** 2)
            y = [gate * x for x in y]
        return [*y, gate]

    axis = np.linspace(-1, 1, 9)
    for row, column in [(4, 4), (1, 6), (8, 0)]:
        parts = exact.jet(sheet, axis[column], axis[row])
        mean = exact.geometry([part[:3] for part in parts])["mean"]
        wanted = float(mpmath.sqrt(exact.dot(mean, mean)))
        assert found["|H|"][row, column] == pytest.approx(wanted, rel=1e-9)
        assert found["gate 1"][row, column] == pytest.approx(float(parts[0][3]), rel=1e-12)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (dict(depth=17), "depth is 17"),
        (dict(grid=14), "grid is 14; it must be odd"),
        (dict(grid=3), "grid is 3"),
        (dict(seed_count=0), "seed_count is 0"),
        (dict(norm="none"), "norm is 'none'"),
        (dict(gate=None), "gate is None"),
        (dict(heads=2), "heads is 2"),
    ],
)
def test_requests_that_cannot_be(wrong, match):
    for kind in (DepthRequest, TrainedRequest):
        if "depth" in wrong and kind is TrainedRequest:
            wrong = dict(depths=(17,))
            match = "depths is 17"
        with pytest.raises(ValueError, match=match):
            kind(**wrong)


def test_names_that_do_not_exist():
    with pytest.raises(ValueError, match="regime is 'deep'"):
        measure_regime(REQUEST, "deep")
    with pytest.raises(ValueError, match="member is 3"):
        regime_layers(REQUEST, "aligned", 3)
    with pytest.raises(ValueError, match="depths is"):
        TrainedRequest(depths=(2, 1))
    assert DepthRequest(gate=GateConfig("silu")).gate.kind == "silu"
