"""The film of a run: what is drawn of a frame is what its models compute."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.special import softmax

from gating_core.experiments.comparison import (
    Setting,
    drawn_frames,
    layer_maps,
    training_data,
    training_frames,
)
from gating_core.experiments.comparison.frames import MOST_FRAMES
from tests.core.experiments.comparison.runs import SETTINGS, SMALL, run_of
from tests.ui.payload import arrays_in
from ui.components.pair import arrays_of, header_of
from ui.decision_boundary.curves import RunCurve, curve_chart
from ui.decision_boundary.frames import PLANE_TOLERANCE, film_of
from ui.decision_boundary.inside import inside_figure, span
from ui.decision_boundary.model import BoundaryView
from ui.decision_boundary.picture import picture_of
from ui.drawing import palette
from ui.drawing.lines import lifted

MEMBER = 1
LARGEST_PAYLOAD_MB = 8
NAMES = [*(x for x in SETTINGS if x != "tokens"), pytest.param("tokens", marks=pytest.mark.soak)]


@cache
def film(name, member=MEMBER):
    run = run_of(SETTINGS[name])
    return run, film_of(run, member, False)


def some_k(made):
    """Some K for every point, with holes in some frames."""
    rng = np.random.default_rng(0)
    fields = {side: rng.normal(size=own.values.shape[:3]) for side, own in made.sides.items()}
    for field in fields.values():
        field[1::3, 4:9, 2] = np.nan
    return fields


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_each_frame_is_drawn_in_one_place_with_its_points_values_and_plane(name):
    """A picture is the surface in the drawn axes, moved, turned and made larger."""
    run, made = film(name)
    for own, variant in zip(made.sides.values(), run.setting.compared, strict=True):
        frames = training_frames(run, variant, MEMBER)
        np.testing.assert_array_equal(own.frames.values, frames.values)
        if frames.values.shape[-1] == 3:
            np.testing.assert_array_equal(own.points, frames.values)
        points = np.c_[own.points.reshape(-1, 3), np.ones(own.points[..., 0].size)]
        fit = np.linalg.lstsq(points, own.values.reshape(-1, 3), rcond=None)[0]
        np.testing.assert_allclose(own.points @ fit[:3] + fit[3], own.values, atol=1e-9)
        unit = np.cbrt(np.linalg.det(fit[:3]))  # positive: no mirror image
        np.testing.assert_allclose(fit[:3] @ fit[:3].T, unit**2 * np.eye(3), atol=1e-9)
        assert np.linalg.norm(np.ptp(own.values.reshape(-1, 3), 0)) <= 2 + 1e-9
        if frames.values.shape[-1] == 3:
            there = frames.data_values @ fit[:3] + fit[3]
            np.testing.assert_allclose(own.places, there, atol=1e-9)
        known = np.isfinite(own.planes).all(1)
        assert known.all() or frames.values.shape[-1] > 3 or run.setting.class_count > 2
        away = np.einsum("trcd,td->trc", own.values, own.planes[:, :3])
        away = (away + own.planes[:, 3, None, None])[known]
        if run.setting.class_count == 2 and known.any():
            margin = frames.margin[known]
            steepness = (away * margin).sum((1, 2)) / (away**2).sum((1, 2))
            error = np.abs(margin - steepness[:, None, None] * away).max((1, 2))
            tolerance = 1e-9 if frames.values.shape[-1] == 3 else 3 * PLANE_TOLERANCE
            assert (error <= tolerance * np.abs(margin).max((1, 2))).all()


def test_a_surface_in_its_triangle_has_straight_lines_and_others_have_none():
    run, made = film("two classes")
    left, right = made.sides.values()
    assert right.corners is None
    averaged = training_frames(run, "ungated", MEMBER).averaged
    for corners, own, values, lines in zip(
        left.corners, averaged, left.values, left.lines, strict=True
    ):
        lengths = [np.linalg.norm(np.diff(x[[0, 1, 2, 0]], axis=0), axis=1) for x in (corners, own)]
        np.testing.assert_allclose(lengths[0] / lengths[0].sum(), lengths[1] / lengths[1].sum())
        normal = np.cross(*(corners[1:] - corners[0]))
        normal /= np.linalg.norm(normal)
        for part in (values, lines[np.ptp(lines, axis=1).any(1)]):
            np.testing.assert_allclose((part - corners[0]) @ normal, 0, atol=1e-6)
    np.testing.assert_allclose(left.values[-1][..., 2], left.corners[-1, 0, 2], atol=1e-6)  # level


def test_of_several_classes_boundaries_lie_between_them_on_the_map_and_on_the_surface():
    _, made = film("three classes")
    assert made.data.class_count == 3
    for own in made.sides.values():
        space, chart = own.cuts
        fine = own.frames.fine_logits[-1]
        axis = np.linspace(-1, 1, len(fine))
        ends = chart[-1].reshape(-1, 2)
        ends = ends[np.isfinite(ends[:, 0])]
        likeliest = fine.argmax(-1)
        for row, column in np.argwhere(likeliest[:, 1:] != likeliest[:, :-1]):
            middle = np.array([(axis[column] + axis[column + 1]) / 2, axis[row]])
            assert np.abs(ends - middle).max(-1).min() <= (axis[1] - axis[0]) / 2 + 1e-9
        on_surface = space[-1].reshape(-1, 3)
        on_surface = on_surface[np.isfinite(on_surface[:, 0])]
        spread = np.linspace(-1, 1, 301)
        there = np.stack(np.meshgrid(spread, spread), -1).reshape(-1, 2)
        mesh = lifted(there, made.data.axis, own.values[-1:])[0]
        far = [np.linalg.norm(mesh - point, axis=1).min() for point in on_surface[::7]]
        assert max(far) < 0.02


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("paint", ["class", "discrete", "curvature", "unmeasured"])
def test_colours(name, paint):
    run, made = film(name)
    by_class = paint in ("class", "discrete")
    view = BoundaryView("class" if by_class else "curvature", paint == "discrete")
    fields = {} if paint == "unmeasured" else some_k(made)
    picture = picture_of(made, run, MEMBER, fields, view)
    classes = made.data.class_count
    for (side, own), drawn in zip(made.sides.items(), picture.pair.sides, strict=True):
        if paint == "unmeasured":
            assert (drawn.shares == 0.5).all()
            assert np.isnan(drawn.gaussian).all()
        elif paint == "curvature":
            np.testing.assert_array_equal(drawn.gaussian, fields[side])
            np.testing.assert_array_equal(np.isnan(drawn.shares), np.isnan(fields[side]))
            inside = np.abs(fields[side]) < picture.scale.ends[1]
            shown = np.sinh((2 * drawn.shares[inside] - 1) * picture.scale.high)
            np.testing.assert_allclose(shown * picture.scale.soft, fields[side][inside], atol=1e-9)
        elif classes > 2 or paint == "discrete":
            likeliest = own.frames.logits.argmax(-1)
            np.testing.assert_array_equal(drawn.gaussian, likeliest)
            np.testing.assert_allclose(drawn.shares, likeliest / (classes - 1))
            assert picture.pair.whole
            assert [word for word, _ in picture.pair.keys] == [*made.data.names]
        else:
            np.testing.assert_allclose(
                drawn.shares, softmax(own.frames.logits, -1)[..., 1], atol=1e-12
            )
            fine = softmax(own.frames.fine_logits, -1)[..., 1]
            np.testing.assert_allclose(drawn.classified.fine_shares, fine, atol=1e-5)
            np.testing.assert_array_equal(drawn.read["K"], fields[side])
    assert picture.quantity == {
        "class": "Predicted class" if classes > 2 else "Probability of class 1",
        "discrete": "Predicted class",
        "curvature": "K over the input square",
        "unmeasured": "K is not measured yet",
    }[paint]  # fmt: skip


def test_the_scale_of_curvature_is_the_last_steps():
    run, made = film("two classes")
    shape = made.sides["left"].values.shape[:3]
    left, right = np.zeros(shape), np.full(shape, 100.0)
    left[-1], right[-1] = 0.5, np.linspace(-1, 1, 31)[:, None]
    left[-1, 0, 0], right[-1, 0, 0], right[-1, 0, 1] = np.nan, np.inf, -7.0
    fields = {"left": left, "right": right}
    scale = picture_of(made, run, MEMBER, fields, BoundaryView("curvature")).scale
    finite = np.concatenate([x[-1][np.isfinite(x[-1])] for x in fields.values()])
    end = np.quantile(np.abs(finite), 0.98)
    assert scale.ends == pytest.approx((-end, end))  # in K's own unit
    known = right[-1][~np.isnan(right[-1])]  # the side of which most lies beyond
    assert scale.beyond == pytest.approx((np.abs(known) > end).mean())
    assert scale.beyond > 0
    assert scale.soft == np.median(np.abs(finite)[np.abs(finite) > palette.COLOUR_RANGE_FLOOR])


def test_test_points_can_be_left_out():
    run, made = film("two classes")
    data = training_data(run, MEMBER)
    for tested in (True, False):
        view = BoundaryView(tested=tested)
        for side in picture_of(made, run, MEMBER, {}, view).pair.sides:
            shown = side.classified
            assert shown.tested.any() == tested
            assert len(shown.chart) == shown.places.shape[1] == (~data.tested | tested).sum()


def test_a_plane_is_drawn_where_it_is_the_classifiers():
    """Six dimensions do not fit into three, but the plane of three values does."""
    run = run_of(replace(SMALL, variants=("ungated", "sigmoid"), model_dim=6, value_count=3))
    made = film_of(run, MEMBER, False)
    left, right = made.sides.values()
    assert np.isnan(right.planes).any() or np.isnan(left.planes).any()
    assert "In these the plane of the " in made.axes
    for own in (left, right):
        known = np.isfinite(own.planes).all(1)
        away = np.einsum("trcd,td->trc", own.values, own.planes[:, :3])
        away, margin = away + own.planes[:, 3, None, None], own.frames.margin
        wrong = np.sign(away) != np.sign(margin)
        wrong &= np.abs(margin) > PLANE_TOLERANCE * np.abs(margin).max((1, 2), keepdims=True)
        assert not wrong[known].any()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("task", ["blobs4", "checkerboard"])
def test_all_frames_are_below_eight_megabytes(task):
    """All frames that a page can request, with as many points as are ever drawn."""
    run = run_of(Setting(task=task, seed_count=2, steps=100))
    run = replace(run, frames=(run.frames * 60)[:60])
    made = film_of(run, 0, False)
    pair = picture_of(made, run, 0, some_k(made), BoundaryView()).pair
    assert len(pair.places) == len(drawn_frames(run)) == MOST_FRAMES
    content = arrays_of(pair)
    assert len(content) < LARGEST_PAYLOAD_MB * 1e6
    told = [[("", "")] * MOST_FRAMES] * 2
    header = header_of(pair, scene="", frame=0, point=None, verdicts=told, names=("", ""), note="",
                       findings=told[0], quantity="")  # fmt: skip
    arrays = arrays_in(header["arrays"], content)
    np.testing.assert_array_equal(arrays["right"], pair.sides[1].values.astype("<f4"))
    assert ("leftCuts" in arrays) == (task == "blobs4")
    assert json.dumps(header, allow_nan=False)


# --- Curves, and a look inside --------------------------------------------------------------------


def test_a_curve_has_a_band_of_all_seeds_its_error_and_rings_at_lower_estimates():
    steps = np.arange(0, 80, 10)
    totals = {name: np.tile([1.0, 2.0, 3.0], (8, 1)) for name in ("ungated", "sigmoid")}
    totals["ungated"][3, 0] = np.nan  # not all seeds are measured there
    lower = {"sigmoid": np.arange(8) > 5}
    errors = {"sigmoid": np.full(8, 0.25)}
    curve = RunCurve("Total curvature", "∫|K| dA", totals, MEMBER, errors, lower)
    figure = curve_chart(curve, steps, 40)
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert [len(trace.x) for trace in bands] == [2 * 7, 2 * 8]
    np.testing.assert_allclose(bands[1].y[:8], 1.2)
    np.testing.assert_allclose(bands[1].y[8:], 2.8)
    (bars,) = [trace for trace in figure.data if trace.error_y.array is not None]
    assert (bars.name, {*bars.error_y.array}) == ("sigmoid gate", {0.25})
    (rings,) = [trace for trace in figure.data if trace.marker.symbol == "circle-open"]
    assert [*rings.x] == [60, 70]
    assert figure.layout.shapes[0].x0 == 40


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", NAMES)
def test_a_map_of_the_inside_is_clicked_by_name(name):
    run, _ = film(name)
    names = run.setting.variants
    fields = layer_maps(run, names[1], MEMBER)
    small = json.loads(inside_figure(fields).to_json())
    assert len([trace for trace in small["data"] if trace["type"] == "heatmap"]) == len(fields)
    clicked = [trace["customdata"] for trace in small["data"] if trace["type"] == "scatter"]
    assert clicked == [[name] for name in fields]
    for pictured, unseen in zip(small["data"], small["data"][len(fields) :], strict=False):
        assert pictured.get("xaxis") == unseen.get("xaxis")
    weights = {name: field for name, field in fields.items() if "α" in name}
    fewer = inside_figure(weights, span(fields), tuple(fields))
    whole = inside_figure(fields)
    assert fewer.layout.height == whole.layout.height
    for name in ("xaxis", "yaxis", "xaxis2", "yaxis2"):  # each map has its place in both
        assert fewer.layout[name].domain == whole.layout[name].domain
    one = dict(list(fields.items())[:1])
    large = json.loads(inside_figure(one, span(fields)).to_json())
    assert len(large["data"]) == 1
    for scale in (small["layout"]["coloraxis"], large["layout"]["coloraxis"]):
        assert scale["cmin"] == min(field.min() for field in fields.values())
        assert scale["cmax"] == max(field.max() for field in fields.values())
