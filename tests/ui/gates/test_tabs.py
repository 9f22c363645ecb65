"""Do the other tabs of the page of gates draw and say what the core measures?"""

import re
from dataclasses import replace

import numpy as np
import pytest

import gating_core.theory as theory
from gating_core.geometry import square_grid
from gating_core.theory import (
    gated_layer,
    measure_conic,
    measure_counterexample,
    with_exponents,
)
from tests.ui.opening import component, offered, open_settled, said
from tests.ui.payload import unpack
from ui.common.formatting import short
from ui.gates.frames import GRID_SIZE
from ui.gates.layer import (
    CORNERS,
    LayerRequest,
    conic_line,
    line_text,
    measure_layer,
    signs_text,
    triangle_figure,
)
from ui.gates.theorem import design_text

PAGE = "pages/3_Which_gates_curve.py"


@pytest.fixture(scope="module")
def layer():
    return measure_layer(LayerRequest(), size=21)


def test_every_measured_point_is_a_brick_of_its_own(layer):
    heat = triangle_figure(layer).data[0]
    x, y = np.meshgrid(heat.x, heat.y)
    there = np.isfinite(heat.customdata[..., 0])
    read = heat.customdata[there]
    assert len(read) == 2 * len(layer.weights)
    across, up = (read[:, 2:5] @ CORNERS).T
    np.testing.assert_allclose(up, y[there], atol=1e-12)
    half = heat.x[1] - heat.x[0]  # of a brick
    np.testing.assert_allclose(np.abs(across - x[there]), half / 2, rtol=1e-9)
    np.testing.assert_array_equal(np.unique(read[:, 0]), np.unique(layer.gaussian))


def test_on_the_line_the_formula_is_zero_and_no_weight_is_too_small(layer):
    e = layer.exponents
    line = conic_line((e.p, e.q, e.r), 0.02)
    line = line[np.isfinite(line).all(-1)]
    assert len(line) > 20
    places = np.vstack([line.T, np.ones(len(line))])
    weights = np.linalg.solve(np.vstack([CORNERS.T, np.ones(3)]), places)
    form = np.array([e.q * e.r, e.p * e.r, e.p * e.q]) @ weights**2 + e.p * e.q * e.r
    assert np.abs(form).max() < 1e-3 * np.abs(e.p * e.q * e.r)
    assert weights.min() >= 0.02 - 1e-9


def test_signs_are_counted_not_claimed(layer):
    agree, differ, undetermined = (
        layer.agreeing,
        layer.disagreeing,
        layer.undetermined,
    )
    assert (differ, undetermined) == (0, 0)
    assert f"agree at {agree} of {agree}" in signs_text(layer)
    turned = replace(layer, form=-layer.form)
    assert f"agree at 0 of {agree}" in signs_text(turned)
    nothing = replace(layer, decided=np.zeros_like(layer.decided))
    assert "inconclusive at all" in signs_text(nothing)
    assert "Nothing is known" in line_text(nothing)


def test_a_gate_set_by_hand_has_those_exponents():
    request = LayerRequest(by_hand=True, p=-0.7, q=1.2, log_scale=0.3)
    found = measure_layer(request, size=11)
    same = measure_conic(with_exponents(gated_layer(request.seed, 3), -0.7, 1.2, 0.3), 11)
    assert (found.exponents.p, found.exponents.q) == pytest.approx((-0.7, 1.2), abs=1e-12)
    np.testing.assert_array_equal(found.gaussian, same.gaussian)
    assert request.as_trained == LayerRequest()  # sliders that do nothing


def test_a_layer_is_trained_in_a_job_and_then_shown():
    app = open_settled(PAGE, tab_gates="Gated layer", layer_from="trained", layer_seed="31")
    assert not app.exception
    assert re.search(r"seed (3[1-9]|4[0-6])\), after 400 steps on \*circle\*", said(app))


def test_a_gate_beyond_one_is_no_sigmoids():
    small, large = (theory.design("sphere", size, square_grid(21)) for size in (0.75, 1.5))
    assert "**A sigmoid reaches it**" in design_text(small)
    assert "**No sigmoid reaches it**" in design_text(large)
    assert f"a size below {short(large.size_limit)}." in design_text(large)
    assert large.size_limit <= 1


# --- The page -------------------------------------------------------------------------------------


def opened(tab, **link):
    app = open_settled(PAGE, tab_gates=tab, **link)
    assert not app.exception
    assert not app.warning
    assert len(offered(app).charts) == 1
    charts = [chart.proto for chart in app.get("plotly_chart")]
    assert all(chart.alt for chart in charts)
    return app, len(charts)


def test_the_layer_is_the_one_of_its_seed():
    app, charts = opened("Gated layer", layer_seed="4")
    layer = measure_layer(LayerRequest(seed=4))
    assert charts == 1
    assert signs_text(layer) in said(app)
    assert f"p = {short(layer.exponents.p)}" in said(app)


def test_each_counterexample_curves_and_its_twin_is_flat():
    app, charts = opened("Theorem", slice_by="two heads", premise_seed="3")
    text = said(app)
    assert charts == 3
    assert text.count("Without it: **flat") == 3
    for name in ("two heads", "rms norm"):
        known = measure_counterexample(name, 3, square_grid(GRID_SIZE)).surface.known[-1]
        assert short(float(f"{np.nanmin(known):.3g}")) in text
    assert "**not within" not in text


def test_a_gate_is_designed():
    app = open_settled(PAGE, tab_gates="Gate design", target="ellipsoid")
    assert not app.exception
    assert "**A sigmoid reaches it**" in said(app)
    header, _ = unpack(component(app, "gates_shape_view").proto.bytes)
    assert header["findings"][0][0].startswith("Under the gate for the ellipsoid, the surface is")
