"""Do the folded parts of the page of gates draw and say what the core measures?"""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from gating_core.geometry import square_grid
from gating_core.theory import (
    DesignedGate,
    gate_values,
    gated_layer,
    measure_conic,
    measure_counterexample,
    sheet,
    with_exponents,
)
from tests.ui.opening import open_page
from ui.common.words import short
from ui.gates import measured
from ui.gates.folded import (
    TRAINED_SEEDS,
    LayerRequest,
    ShapeRequest,
    TrainedLayer,
    fit_shape,
    measure_design,
    measure_layer,
    shape_frames,
    train_layer,
)
from ui.gates.frames import measured_frames
from ui.gates.maps import CORNERS, conic_line, nearest_points, triangle_figure
from ui.gates.panel_words import design_text, fit_text, line_text, signs_text
from ui.gates.panels import shape_figures
from ui.gates.request import GRID_SIZE, GateRequest

PAGE = "pages/3_Which_gates_curve.py"


def texts(app) -> str:
    return "\n".join(each.value for each in (*app.markdown, *app.caption))


@pytest.fixture(scope="module")
def layer():
    return measure_layer(LayerRequest(), size=21)


# --- The law for a real layer ---------------------------------------------------------------------


def test_every_coloured_point_has_the_colour_of_the_nearest_measured_one(layer):
    weights = layer.weights
    place, across, up = nearest_points(weights)
    x, y = np.meshgrid(across, up)
    corners = weights @ CORNERS
    inside = place >= 0
    assert 0.4 < inside.mean() < 0.5  # a triangle in its box
    apart = np.hypot(*(corners[place[inside]] - np.stack([x, y], -1)[inside]).T)
    least = np.array([np.hypot(*(corners - point).T).min()
                      for point in np.stack([x, y], -1)[inside]])  # fmt: skip
    cell = np.hypot(*(corners[1] - corners[0]))
    np.testing.assert_array_less(apart, least + 0.2 * cell)  # ties and edges aside, that one


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


def test_the_line_stands_where_the_colours_change(layer):
    figure = triangle_figure(layer)
    heat, line = figure.data[0], figure.data[1]
    shade = np.asarray(heat.z, float)
    x, y = np.asarray(line.x), np.asarray(line.y)
    seen = 0
    for px, py in zip(x, y, strict=True):
        if not np.isfinite(px):
            continue
        row, column = (
            np.abs(np.asarray(axis) - p).argmin() for axis, p in ((heat.y, py), (heat.x, px))
        )
        around = shade[max(row - 5, 0) : row + 6, max(column - 5, 0) : column + 6]
        seen += np.nanmin(around) < 0 < np.nanmax(around)
    assert seen > 0.9 * np.isfinite(x).sum()


def test_signs_are_counted_not_claimed(layer):
    agree, differ, undecided = (
        layer.agreeing,
        layer.disagreeing,
        layer.undecided,
    )
    assert (differ, undecided) == (0, 0)
    assert f"agree at {agree} of {agree}" in signs_text(layer)
    turned = replace(layer, form=-layer.form)
    assert f"agree at 0 of {agree}" in signs_text(turned)
    nothing = replace(layer, decided=np.zeros_like(layer.decided))
    assert "undecided at all" in signs_text(nothing)
    assert "Nothing is known" in line_text(nothing)


def test_whether_the_line_crosses_is_said_from_k(layer):
    assert "changes its sign" in line_text(layer)
    one = replace(layer, gaussian=np.abs(layer.gaussian))
    assert "K is positive at every decided point" in line_text(one)


def test_a_gate_set_by_hand_has_those_exponents():
    request = LayerRequest(by_hand=True, p=-0.7, q=1.2, log_scale=0.3)
    found = measure_layer(request, size=11)
    same = measure_conic(with_exponents(gated_layer(request.seed, 3), -0.7, 1.2, 0.3), 11)
    assert (found.exponents.p, found.exponents.q) == pytest.approx((-0.7, 1.2), abs=1e-12)
    np.testing.assert_array_equal(found.gaussian, same.gaussian)
    assert request.as_trained == LayerRequest()  # sliders that do nothing


def test_a_trained_layer_is_the_best_of_its_seeds_and_is_measured_itself():
    *shares, found = train_layer(LayerRequest("trained", 5), steps=40)
    assert all(isinstance(share, float) for share in shares)
    assert shares == sorted(shares)
    assert isinstance(found, TrainedLayer)
    assert found.seeds == tuple(range(5, 5 + TRAINED_SEEDS))
    assert 0.5 < found.train_accuracy <= 1
    trained = measure_layer(LayerRequest("trained", 5), found, 11)
    other = measure_layer(
        LayerRequest("trained", 5), replace(found, best=(found.best + 1) % TRAINED_SEEDS), 11
    )
    assert trained.exponents.p != other.exponents.p


def test_a_layer_is_trained_in_a_job_and_then_shown():
    app = open_page(PAGE, real="true", layer_from="trained", layer_seed="31")
    for job, *_ in app.session_state["_jobs"].values():
        assert job.join(60)
    app.run()
    assert not app.exception
    assert re.search(r"seed (3[1-9]|4[0-6])\), after 400 steps on \*circle\*", texts(app))


# --- A gate for a shape ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    *_, found = fit_shape(ShapeRequest(units=8), steps=60, size=21)
    return found


def test_what_is_said_of_a_fit_comes_from_its_numbers(fitted):
    images = fitted.fitted.surface, fitted.exact.surface
    gap = np.nanmax(np.abs(images[0].known[-1] - images[1].known[-1]))
    assert f"by up to {short(gap)}." in fit_text(fitted)
    assert "second derivatives" in fit_text(fitted)
    same = replace(fitted, fitted=fitted.exact)
    assert "within their errors" in fit_text(same)
    assert "second derivatives" not in fit_text(same)


def test_the_maps_are_how_far_the_gate_and_k_are_off(fitted):
    gate, curvature = shape_figures(fitted)
    points = square_grid(21).points
    wanted = gate_values(DesignedGate("sphere", fitted.size), points).reshape(21, 21, 1)
    np.testing.assert_array_equal(gate.data[0].customdata[..., :1], fitted.fitted.gate - wanted)
    apart = fitted.fitted.surface.known[-1] - fitted.exact.surface.known[-1]
    np.testing.assert_array_equal(curvature.data[0].customdata[..., 0], apart)


def test_the_surfaces_of_a_shape_are_its_gates_and_the_networks(fitted):
    small, large = (measure_design(ShapeRequest(size=size), 21) for size in (0.75, 1.5))
    assert list(shape_frames(large, None)) == ["gate, size 1.5"]
    assert list(shape_frames(small, fitted)) == ["gate, size 0.75", "network"]
    frames = shape_frames(large, fitted)
    assert list(frames) == ["gate, size 1.5", "gate, size 0.75", "network"]
    far = [np.linalg.norm(frame.values, axis=-1) for frame in frames.values()]
    np.testing.assert_allclose(far[0], 1.5, rtol=1e-14)
    np.testing.assert_allclose(far[1], 0.75, rtol=1e-14)
    y = np.linalg.norm(sheet(square_grid(21).points), axis=-1).reshape(21, 21)
    off = np.abs(far[2] - 0.75) / y
    assert 0 < off.max() == pytest.approx(fitted.largest_error, rel=1e-9)


def scenes(app) -> int:
    """How many live 3-D scenes a page has, in our own views and in Plotly's charts."""
    views = [json.loads(each.proto.bytes) for each in app.get("bidi_component")
             if each.proto.bytes.startswith(b"{")]  # fmt: skip
    panels = [panel for view in views for column in view.get("columns", ())
              for panel in column["panels"]]  # fmt: skip
    charts = [json.loads(each.proto.spec) for each in app.get("plotly_chart")]
    return sum(panel["kind"] == "scene" for panel in panels) + sum(
        any(name.startswith("scene") for name in chart["layout"]) for chart in charts
    )


def test_a_gate_beyond_one_is_no_sigmoids_and_a_smaller_shape_is_fitted():
    small, large = (measure_design(ShapeRequest(size=size), 21) for size in (0.75, 1.5))
    assert "**A sigmoid reaches it**" in design_text(small, small.reachable.size)
    said = design_text(large, large.reachable.size)
    assert "**No sigmoid reaches it**" in said
    assert large.reachable.size < large.size_limit <= 1
    assert f"the shape has size {short(large.reachable.size)}" in said


# --- The page -------------------------------------------------------------------------------------


def test_all_folded_parts_show_what_is_measured_in_two_scenes():
    """Of a gate with three channels, a layer, three counterexamples, and a shape."""
    folds = dict.fromkeys(("why", "maps", "real", "premises", "shaping"), "true")
    own = dict(case="channelwise", layer_seed="4", slice_by="two heads", premise_seed="3")
    app = open_page(PAGE, **folds, **own, target="ellipsoid", fit_units="4")
    for job, *_ in app.session_state["_jobs"].values():
        assert job.join(60)
    app.run()
    assert not app.exception
    assert len(app.get("plotly_chart")) == 5 + 1 + 3 + 2
    assert scenes(app) == 2
    text = texts(app)

    (frame,) = measured_frames(GateRequest("channelwise"), (1.0,))
    assert frame.channels.shape[-1] == 3
    for number, name in enumerate(("y₁", "y₂", "y₃")):
        low, high = frame.channels[..., number].min(), frame.channels[..., number].max()
        assert f"**gate of {name}**: {short(float(low))} to {short(float(high))}" in text

    layer = measure_layer(LayerRequest(seed=4))
    assert signs_text(layer) in text
    assert f"p = {short(layer.exponents.p)}" in text

    assert text.count("Without it: **flat") == 3
    for name in ("two heads", "rms norm"):
        known = measure_counterexample(name, 3, square_grid(GRID_SIZE)).surface.known[-1]
        assert short(float(f"{np.nanmin(known):.3g}")) in text
    assert "dome-like on 0" not in text
    assert "**not within" not in text

    assert "**A sigmoid reaches it**" in text
    assert "K, fitted − exact" in text
    (fit,) = measured.SHAPED.cached([ShapeRequest("ellipsoid", units=4)]).values()
    assert fit_text(fit) in text


def test_a_gate_for_all_channels_has_one_map():
    app = open_page(PAGE, maps="true", real="true")
    assert "**gate** in use" in texts(app)
    assert "gate of y" not in texts(app)
    app.number_input(key="layer_seed").set_value(4).run()
    assert signs_text(measure_layer(LayerRequest(seed=4))) in texts(app)
    assert scenes(app) == 1
