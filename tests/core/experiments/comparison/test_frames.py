"""Frames of a training: every line, plane and number is what the models compute."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from scipy.special import softmax

from gating_core.attention.stack import restore
from gating_core.experiments.comparison import frames as film
from gating_core.experiments.comparison.frames import layer_maps
from gating_core.experiments.comparison.presets import load_preset
from gating_core.experiments.comparison.setting import Setting
from gating_core.geometry.grid import square_grid
from gating_core.training.trained import TrainedEnsemble
from tests.core.experiments.comparison.runs import SETTINGS, SMALL, run_of
from tests.ui.payload import arrays_in, names_in
from ui.components.view3d import pack
from ui.decision_boundary.inside import inside_figure, span
from ui.decision_boundary.model import PAINTS
from ui.decision_boundary.picture import RunCurve, training_picture
from ui.drawing import palette
from ui.drawing.axes import frame_axes
from ui.drawing.camera import ENOUGH
from ui.drawing.colours import scale_of
from ui.drawing.lines import barycentric
from ui.drawing.sheet import PLANE_TOLERANCE, boundaries, classifier_planes

LARGEST_PAYLOAD_MB = 8
MEMBER = 1


@cache
def both(run, member=MEMBER):
    """The frames of both variants, as the page requests them."""
    names = zip(("left", "right"), run.setting.variants, strict=True)
    return {side: film.training_frames(run, name, member) for side, name in names}


def steps_of(run):
    return run.steps[film.drawn_frames(run)]


def curves_of(run, member=MEMBER):
    frames = film.drawn_frames(run)
    names = dict(zip(("left", "right"), run.setting.variants, strict=True))
    accuracy = {s: run.variants[n].ensemble.test_accuracy[frames] for s, n in names.items()}
    return [RunCurve("test accuracy", accuracy, member)]


def fields_of(sides):
    """Some K for every point, with holes in some frames."""
    rng = np.random.default_rng(0)
    fields = {name: rng.normal(size=side.logits.shape[:3]) for name, side in sides.items()}
    for field in fields.values():
        field[1::3, 4:9, 2] = np.nan
    return fields


@cache
def picture(run, member=MEMBER, **look):
    sides = both(run, member)
    return sides, training_picture(
        sides,
        film.training_data(run, member),
        steps_of(run),
        frame_axes(sides),
        curves_of(run, member),
        gaussian=fields_of(sides),
        **look,
    )


@pytest.mark.parametrize(
    ("name", "member"),
    [("xor", 5), *(pytest.param(*each, marks=pytest.mark.soak) for each in (
        ("circle", 1), ("circle", 5), ("linear", 0), ("linear", 5), ("xor", 6), ("moons", 5),
    ))],
)  # fmt: skip
def test_no_surface_triangle_or_plane_of_the_last_frame_is_seen_edge_on(name, member):
    _, view = picture(load_preset(name), member)
    eye = np.array([view.camera["eye"][axis] for axis in "xyz"])
    eye /= np.linalg.norm(eye)
    for part in ("left_plane", "right_plane", "left_ring"):
        corners = np.stack([view.arrays[f"{part}_{axis}"][-1] for axis in "xyz"], -1)
        sides = corners[:2] - corners[1:3]
        normal = np.cross(*sides)
        # Seen as broadly as from 65 degrees above it, times the camera's share that is enough.
        assert abs(normal @ eye) / np.linalg.norm(normal) > ENOUGH * np.sin(np.radians(65)), part


# --- Frames ---------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("frame", [0, 7, -1])
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_frame_is_the_model_at_its_step(run, side, frame):
    """Each snapshot is restored by itself, with all seeds, and evaluated without derivatives."""
    name = run.setting.variants[side == "right"]
    side = both(run)[side]
    config = run.variants[name].ensemble.config
    model = restore(config, run.task.seeds, run.frames[frame].snapshots[name].state)
    points = square_grid(film.FRAME_GRID).points

    values = model.attention(points)[MEMBER].numpy().reshape(side.values.shape[1:])
    np.testing.assert_allclose(side.values[frame], values, rtol=0, atol=1e-12)
    logits = model(points)[MEMBER].numpy().reshape(side.logits.shape[1:])
    np.testing.assert_allclose(side.logits[frame], logits, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(side.weight[frame], model.weight[MEMBER].numpy())
    np.testing.assert_array_equal(side.bias[frame], model.bias[MEMBER].numpy())
    data = torch.from_numpy(film.training_data(run, MEMBER).points)
    on_surface = model.attention(data)[MEMBER].numpy()
    np.testing.assert_allclose(side.data_values[frame], on_surface, rtol=0, atol=1e-12)


def test_every_frame_is_there_and_rows_are_the_second_coordinate(run):
    side = both(run)["right"]
    data = film.training_data(run, MEMBER)
    assert len(side.values) == len(run.frames)
    assert steps_of(run).tolist() == run.steps.tolist()
    name = run.setting.variants[1]
    ensemble = run.variants[name].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state)
    spot = torch.tensor([[data.axis[5], data.axis[20]]])  # (x1, x2)
    found = side.values[-1, 20, 5]
    np.testing.assert_allclose(found, model.attention(spot)[MEMBER, 0].numpy(), atol=1e-12)


def test_the_ungated_film_with_three_values_stays_flat(circle):
    """Weights of three values fill a plane: the flatness theorem, at every step."""
    side = both(circle, 0)["left"]
    spread = side.values.reshape(len(side.values), -1, 3)
    for cloud in spread:
        singular = np.linalg.svd(cloud - cloud.mean(0), compute_uv=False)
        assert singular[2] <= 1e-12 * singular[0]


# --- Data -----------------------------------------------------------------------------------------


def test_where_values_are_averages_the_film_says_of_what(run):
    """Their shares are not negative, and sum to one."""
    for side, name in zip(both(run).values(), run.setting.variants, strict=True):
        config = run.variants[name].ensemble.config
        plain = config.layer.fixed_values and config.heads == 1 and not config.output_projection
        gate = config.gate
        acts = gate is not None and gate.position not in ("G2", "G3", "G4")
        if not plain or acts or config.residual or config.norm == "post":
            assert side.averaged is None
            continue
        for values, vectors in zip(side.values, side.averaged, strict=True):
            if len(vectors) == 3 and len(vectors[0]) == 3:
                shares = barycentric(values, vectors)
                np.testing.assert_allclose(shares @ vectors, values, atol=1e-9)
                assert shares.min() > -1e-9


def test_flat_sheets_are_drawn_in_their_triangle_and_no_others(circle):
    _, view = picture(circle)
    drawn = [
        names_in(column[0].traces) & {"left_ring_x", "right_ring_x"} for column in view.columns
    ]
    assert drawn == [{"left_ring_x"}, set(), set()]
    ring = np.stack([view.arrays[f"left_ring_{x}"] for x in "xyz"], -1)
    np.testing.assert_array_equal(ring[:, :3], both(circle)["left"].averaged)
    assert [note.text for note in view.columns[0][0].notes][2:] == [
        f"U<sub>{i}</sub>" for i in (1, 2, 3)
    ]


def test_the_points_are_those_of_the_seed(run):
    data, task = film.training_data(run, MEMBER), run.task
    train = min(film.DRAWN_POINTS, task.train_points.shape[1])
    test = min(film.DRAWN_POINTS, task.test_points.shape[1])
    assert data.tested.tolist() == [False] * train + [True] * test
    for mine, points, labels in (
        (~data.tested, task.train_points, task.train_labels),
        (data.tested, task.test_points, task.test_labels),
    ):
        known = dict(zip(map(tuple, points[MEMBER]), labels[MEMBER], strict=True))
        drawn = [tuple(point) for point in data.points[mine]]
        assert len(set(drawn)) == len(drawn)
        assert [known[point] for point in drawn] == data.labels[mine].tolist()
    assert data.colours == tuple(range(data.class_count))
    assert data.class_count == run.setting.class_count


def of_accuracies(accuracy, loss):
    count = len(accuracy)
    history = np.zeros((1, count))
    return TrainedEnsemble(
        config=SMALL.base,
        seeds=tuple(range(count)),
        steps=np.array([0]),
        train_loss=np.array([loss]),
        train_accuracy=np.array([accuracy]),
        test_accuracy=history,
        state={},
    )


@pytest.mark.parametrize(
    ("accuracy", "loss", "best", "median", "worst"),
    [
        ([0.5, 0.9, 0.7], [1, 1, 1], 1, 2, 0),
        ([0.9, 0.9, 0.9], [0.3, 0.1, 0.2], 1, 2, 0),  # among equals the loss decides
        ([0.9, 0.9, 0.8, 0.7], [0.2, 0.1, 0.0, 0.3], 1, 0, 3),  # of two in the middle the better
        ([0.4], [1], 0, 0, 0),
    ],
)
def test_best_median_worst(accuracy, loss, best, median, worst):
    ensemble = of_accuracies(accuracy, loss)
    assert [film.shown_member(ensemble, which) for which in film.SEED_CHOICES] == [
        best,
        median,
        worst,
    ]
    assert ensemble.best == best


def test_nobody_looks_at_the_test_points(circle):
    ensemble = circle.variants["sigmoid"].ensemble
    blind = replace(ensemble, test_accuracy=1 - ensemble.test_accuracy)
    for which in film.SEED_CHOICES:
        assert film.shown_member(ensemble, which) == film.shown_member(blind, which)


@pytest.mark.parametrize("count", [1, 2, film.MOST_FRAMES, film.MOST_FRAMES + 1, 61, 500])
def test_long_runs_are_thinned(circle, count):
    frames = film.drawn_frames(replace(circle, frames=(circle.frames * 100)[:count]))
    assert len(frames) == min(count, film.MOST_FRAMES)
    assert frames[0] == 0
    assert frames[-1] == count - 1
    gaps = np.diff(frames)
    assert (gaps >= 1).all()
    assert np.ptp(gaps) <= 1 if count > 1 else True


def test_a_large_model_has_fewer_frames_the_ends_among_them(circle):
    large = replace(
        SMALL,
        source="tokens",
        model_dim=16,
        value_count=8,
        depth=4,
        seed_count=2,
        steps=20,
        points=64,
        batch_size=16,
    )
    run = run_of(large)
    frames = film.drawn_frames(run)
    assert len(frames) == film.FEWEST_FRAMES < len(run.frames)
    assert (frames[0], frames[-1]) == (0, len(run.frames) - 1)


def test_a_thinned_film_keeps_step_and_state_together(circle):
    longer = replace(
        circle,
        frames=tuple(
            replace(frame, step=10 * place) for place, frame in enumerate(circle.frames * 3)
        ),
    )
    frames = film.drawn_frames(longer)
    assert len(frames) < len(longer.frames)
    side = film.training_frames(longer, "sigmoid", 0)
    assert steps_of(longer).tolist() == (10 * frames).tolist()
    whole = both(circle, 0)["right"]
    again = whole.values[frames % len(circle.frames)]
    np.testing.assert_allclose(side.values, again, rtol=0, atol=1e-14)


# --- Lines and planes -----------------------------------------------------------------------------


def margin_at(logits, axis, spots):
    """The largest logit minus the second largest, bilinear between grid points; (M,)."""
    position = (spots - axis[0]) / (axis[1] - axis[0])
    cell = np.clip(position.astype(int), 0, len(axis) - 2)
    (a, b), (i, j) = (position - cell).T[:, :, None], cell.T
    mixed = (1 - b) * ((1 - a) * logits[j, i] + a * logits[j, i + 1]) + b * (
        (1 - a) * logits[j + 1, i] + a * logits[j + 1, i + 1]
    )
    first, second = np.sort(mixed, -1)[:, :-3:-1].T
    return first - second


@pytest.mark.sampled(1)
def test_boundaries_are_where_two_classes_are_equally_likely(run):
    sides, view = picture(run)
    axes = frame_axes(sides)
    axis = film.training_data(run, MEMBER).axis
    found = 0
    fine_axis = view.arrays["fine_axis"]
    assert len(fine_axis) == 91
    for (name, side), variant in zip(sides.items(), run.setting.variants, strict=True):
        chart = np.stack([view.arrays[f"{name}_curve_{u}"] for u in "uv"], -1)
        for frame in (1, -1):
            known = np.isfinite(chart[frame, :, 0])
            if not known.any():
                continue
            found += 1
            logits = side.fine_logits[frame].astype(float)
            size = np.abs(logits - logits.mean(-1, keepdims=True)).max()
            margin = margin_at(logits, fine_axis, chart[frame, known])
            # Exact along an edge; where three classes meet, inside a cell.
            assert np.median(margin) <= 1e-9 * size
            in_a_cell = max(np.abs(np.diff(logits, axis=i)).max() for i in (0, 1))
            assert margin.max() <= (1e-9 * size if logits.shape[-1] == 2 else in_a_cell)
        cuts = boundaries(side.logits, axis, axes[name].project(side.values))
        chart, lifted = cuts[..., :2], cuts[..., 2:]
        drawn = np.stack([view.arrays[f"{name}_curve_{x}"] for x in "xyz"], -1)
        np.testing.assert_array_equal(drawn, lifted)
        known = np.isfinite(chart[-1, :, 0])
        if known.any():
            ensemble = run.variants[variant].ensemble
            model = restore(ensemble.config, ensemble.seeds, ensemble.state)
            exact = model.attention(torch.from_numpy(chart[-1, known]))[MEMBER].numpy()
            away = np.abs(axes[name].project(exact) - lifted[-1, known])
            extent = np.ptp(axes[name].project(side.values[-1]).reshape(-1, 3), 0).max()
            assert away.max() <= 0.05 * extent  # the mesh is flat between grid points
    assert found


def test_boundaries_separate_the_classes(run):
    """Between two neighbours of the grid that differ in class there is a point of the curve."""
    sides, view = picture(run)
    axis = view.arrays["fine_axis"]
    step = axis[1] - axis[0]
    for name, side in sides.items():
        chart = np.stack([view.arrays[f"{name}_curve_{u}"][-1] for u in "uv"], -1)
        chart = chart[np.isfinite(chart[:, 0])]
        likeliest = side.fine_logits[-1].argmax(-1)
        for row, column in np.argwhere(likeliest[:, 1:] != likeliest[:, :-1]):
            middle = np.array([axis[column] + step / 2, axis[row]])
            assert np.abs(chart - middle).max(-1).min() <= step / 2 + 1e-9


def test_the_classifiers_plane_is_drawn_where_it_is_one(run):
    sides, view = picture(run)
    axes = frame_axes(sides)
    for name, side in sides.items():
        planes = classifier_planes(side, axes[name])
        assert (planes is not None) == (run.setting.class_count == 2)
        wanted = planes is not None and bool(planes[2].any())
        assert (f"{name}_plane_x" in view.arrays) == wanted
        scene = view.columns[list(sides).index(name)][0]
        assert any("plane" in str(trace.get("x")) for trace in scene.traces) == wanted
        if not wanted:
            continue
        normal, offset, honest = planes
        if side.values.shape[-1] == 3:
            assert honest.all()
        corners = np.stack([view.arrays[f"{name}_plane_{x}"] for x in "xyz"], -1)
        assert corners.shape[1] == 4
        known = np.isfinite(corners).all((1, 2))
        assert not known[~honest].any()
        height = np.einsum("tcd,td->tc", corners, normal) + offset[:, None]
        size = (np.abs(corners[known]).max() if known.any() else 0) + 1
        assert np.nanmax(np.abs(height), initial=0) <= 1e-9 * size
        # The decision curve, which lies on the mesh, lies in the plane too.
        curve = np.stack([view.arrays[f"{name}_curve_{x}"] for x in "xyz"], -1)
        away = np.einsum("tcd,td->tc", curve, normal) + offset[:, None]
        scale = np.abs(side.logits[..., 1] - side.logits[..., 0]).max((1, 2))[:, None]
        allowed = 1e-9 if side.values.shape[-1] == 3 else PLANE_TOLERANCE
        assert np.nanmax((np.abs(away) / scale)[honest], initial=0) <= allowed


def test_an_ungated_plane_is_honest_in_any_dimension_and_a_gated_one_need_not_be():
    """Three values span a plane, which principal components of the last step show whole."""
    setting = replace(SMALL, variants=("ungated", "sigmoid"), model_dim=6, value_count=3)
    run = run_of(setting)
    alone = {"left": film.training_frames(run, "ungated", MEMBER)}
    assert classifier_planes(alone["left"], frame_axes(alone)["left"])[2][-1]
    sides = both(run)
    axes = frame_axes(sides)
    for name, side in sides.items():
        normal, offset, honest = classifier_planes(side, axes[name])
        drawn = axes[name].project(side.values) @ normal[:, None, :, None]
        drawn = drawn[..., 0] + offset[:, None, None]
        margin = side.logits[..., 1] - side.logits[..., 0]
        wrong = (np.sign(drawn) != np.sign(margin)) & (
            np.abs(margin) > PLANE_TOLERANCE * np.abs(margin).max((1, 2), keepdims=True)
        )
        assert not wrong[honest].any()
        assert (~honest).any()  # six dimensions do not fit into three


@pytest.mark.soak
def test_one_basis_for_both_where_they_have_as_many_dimensions():
    alike = frame_axes(both(run_of(SETTINGS["tokens"])))
    np.testing.assert_array_equal(alike["left"].basis, alike["right"].basis)
    assert alike["left"].principal
    assert alike["left"].basis.shape == (4, 3)

    wide = both(run_of(SETTINGS["wider"]))
    different = frame_axes(wide)
    assert not different["left"].principal
    dim = wide["right"].values.shape[-1]
    assert dim > 3
    assert different["right"].basis.shape == (dim, 3)
    assert different["right"].names == ("PC 1", "PC 2", "PC 3")
    np.testing.assert_allclose(
        different["right"].basis.T @ different["right"].basis, np.eye(3), atol=1e-12
    )


# --- The view -------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("paint", "discrete"), [*((paint, False) for paint in PAINTS), ("class", True)]
)
def test_colours(run, paint, discrete):
    sides, view = picture(run, paint=paint, discrete=discrete)
    low, high = view.colour_range
    for name, side in sides.items():
        colour = view.arrays[f"{name}_colour"]
        classes = side.logits.shape[-1]
        if paint == "curvature":
            assert low == -high < 0
            field = fields_of(sides)[name]
            known = np.isfinite(field)
            scale = scale_of("curvature", [x[-1] for x in fields_of(sides).values()])
            assert (low, high) == scale.ends
            np.testing.assert_array_equal(colour[known], scale.apply(field[known].clip(low, high)))
            np.testing.assert_array_equal(view.arrays[f"{name}_field"], field)
            assert (colour[~known] == 0).all()
        elif classes > 2 or discrete:
            np.testing.assert_array_equal(colour, side.logits.argmax(-1))
        else:
            np.testing.assert_allclose(colour, softmax(side.logits, -1)[..., 1], atol=1e-12)
        if paint == "class":
            assert (low, high) == (0, classes - 1)
            assert colour.min() >= low
            assert colour.max() <= high
    if paint == "class":
        assert view.beyond == 0


def test_the_scale_of_curvature_is_the_last_steps(circle):
    sides = both(circle)
    shape = sides["left"].logits.shape[:3]
    left, right = np.zeros(shape), np.full(shape, 100.0)
    left[-1], right[-1] = 0.5, np.linspace(-1, 1, 31)[:, None]
    left[-1, 0, 0], right[-1, 0, 0], right[-1, 0, 1] = np.nan, np.inf, -7.0
    rest = film.training_data(circle, MEMBER), circle.steps, frame_axes(sides), curves_of(circle)
    view = training_picture(
        sides, *rest, paint="curvature", gaussian={"left": left, "right": right}
    )
    both_sides = np.concatenate([side[-1][np.isfinite(side[-1])] for side in (left, right)])
    end = np.quantile(np.abs(both_sides), 0.98)
    assert view.colour_range == pytest.approx((-end, end))  # in K's own unit
    known = right[-1][~np.isnan(right[-1])]  # the side of which most lies beyond
    assert view.beyond == pytest.approx((np.abs(known) > end).mean())
    assert view.beyond > 0
    curved = np.abs(both_sides)[np.abs(both_sides) > palette.COLOUR_RANGE_FLOOR]
    soft = np.median(curved)
    assert np.abs(view.arrays["right_colour"]).max() == pytest.approx(np.arcsinh(end / soft))
    tests = [t["marker"] for t in view.columns[1][1].traces if t.get("marker", {}).get("size") == 6]
    assert {"#ffffff"} == {marker["color"] for marker in tests[2:]}  # readable on any colour


def test_names_of_classes_are_no_mark_up(circle):
    sides, data = both(circle), film.training_data(circle, MEMBER)
    odd = replace(data, names=("a", "<b>%{x}</b>"))
    view = training_picture(sides, odd, circle.steps, frame_axes(sides), curves_of(circle))
    heat = view.columns[0][1].traces[0]
    assert "p(&lt;b&gt;% {x}&lt;/b&gt;) = %{z:.2f}" in heat["hovertemplate"]


def test_of_several_classes_the_mesh_is_cut_where_the_class_changes(run):
    if run.setting.class_count == 2:
        return
    sides, view = picture(run)
    side = sides["right"]
    likeliest = side.logits.reshape(len(side.logits), 31 * 31, -1).argmax(-1)
    parts = [view.arrays[f"right_part_{x}"] for x in "ijk"]
    for frame, classes in enumerate(view.arrays["right_part_class"]):
        for corner in parts:
            own = corner[frame] < 31 * 31  # the grid's points; the others were cut out of its edges
            np.testing.assert_array_equal(
                likeliest[frame][corner[frame][own]], classes[own].astype(int)
            )


def test_what_is_unresolved_is_hatched_and_nothing_else(circle):
    sides, view = picture(circle, paint="curvature")
    axis = film.training_data(circle, MEMBER).axis
    field = fields_of(sides)["right"]
    strokes = np.stack([view.arrays[f"right_hatch_{u}"] for u in "uv"], -1)
    for frame in (0, 1, 4):
        middles = strokes[frame].reshape(-1, 3, 2)[:, :2].mean(1)
        middles = middles[np.isfinite(middles[:, 0])]
        rows, columns = np.nonzero(np.isnan(field[frame]))
        wanted = np.stack([axis[columns], axis[rows]], -1)
        np.testing.assert_allclose(middles, wanted, atol=1e-12)
    assert "right_hatch_u" not in picture(circle)[1].arrays


def test_what_is_not_measured_yet_is_neutral(circle):
    sides = both(circle)
    rest = film.training_data(circle, MEMBER), circle.steps, frame_axes(sides), curves_of(circle)
    view = training_picture(sides, *rest, paint="curvature")
    assert not view.arrays["right_colour"].any()
    assert view.colour_range[0] == -view.colour_range[1] < 0
    assert view.beyond == 0
    nowhere = {name: np.full(side.logits.shape[:3], np.nan) for name, side in sides.items()}
    view = training_picture(sides, *rest, paint="curvature", gaussian=nowhere)
    assert not view.arrays["right_colour"].any()
    assert view.beyond == 0


def test_everything_the_traces_name_is_there_and_frames_agree(run):
    _, view = picture(run)
    named = set()

    def collect(tree):
        if isinstance(tree, dict):
            if "array" in tree:
                named.add(tree["array"])
            for part in tree.values():
                collect(part)
        elif isinstance(tree, list):
            for part in tree:
                collect(part)

    panels = [panel for column in view.columns for panel in column]
    for panel in panels:
        collect(panel.traces)
        named |= set(panel.pick.values())
    assert named <= set(view.arrays)
    assert view.frames == len(run.frames)
    for name in view.framed:
        assert len(view.arrays[name]) == view.frames, name
    np.testing.assert_array_equal(view.arrays["now"], np.stack([run.steps] * 2, -1))
    assert [panel.kind for panel in panels] == ["scene", "plane", "scene", "plane", "plane"]


def test_the_band_says_nothing_until_all_seeds_are_known(circle):
    sides = both(circle)
    totals = np.full((len(circle.frames), 3), np.nan)
    totals[:, MEMBER] = 1.0
    curve = RunCurve("total curvature", {"left": totals}, MEMBER)
    data, axes = film.training_data(circle, MEMBER), frame_axes(sides)
    arrays = training_picture(sides, data, circle.steps, axes, [curve]).arrays
    assert np.isnan(arrays["curve0_left_low"]).all()
    assert (arrays["curve0_left_shown"] == 1).all()
    totals = np.tile([1.0, 2.0, 3.0], (len(circle.frames), 1))
    known = replace(curve, by_side={"left": totals})
    arrays = training_picture(sides, data, circle.steps, axes, [known]).arrays
    np.testing.assert_allclose(arrays["curve0_left_low"], 1.2)
    np.testing.assert_allclose(arrays["curve0_left_high"], 2.8)


def test_a_curve_shows_its_error_and_where_it_is_a_lower_estimate(circle):
    sides = both(circle)
    frames = len(circle.frames)
    totals = {"left": np.ones((frames, 3)), "right": np.full((frames, 3), 2.0)}
    lower = {"left": np.zeros(frames, dtype=bool), "right": np.arange(frames) > 5}
    curve = RunCurve("total curvature", totals, MEMBER, {"right": np.full(frames, 0.25)}, lower)
    data, axes = film.training_data(circle, MEMBER), frame_axes(sides)
    view = training_picture(sides, data, circle.steps, axes, [curve])
    traces = view.columns[-1][0].traces
    (bars,) = [trace for trace in traces if "error_y" in trace]
    assert bars["error_y"]["array"] == {"array": "curve0_right_error"}
    assert (view.arrays["curve0_right_error"] == 0.25).all()
    (rings,) = [trace for trace in traces if trace.get("y") == {"array": "curve0_right_open"}]
    assert "open" in rings["marker"]["symbol"]
    ringed = np.isfinite(view.arrays["curve0_right_open"])
    np.testing.assert_array_equal(ringed, np.arange(frames) > 5)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("task", ["blobs4", "checkerboard"])
def test_all_frames_are_below_eight_megabytes(task):
    """All frames that a page can request, with as many points as are ever drawn."""
    run = run_of(Setting(task=task, seed_count=2, steps=100))
    run = replace(run, frames=(run.frames * 60)[:60])
    _, view = picture(run, member=0, paint="curvature")
    assert view.frames == film.MOST_FRAMES
    entries, content = pack(view.arrays, view.framed)
    assert len(content) < LARGEST_PAYLOAD_MB * 1e6
    arrays = arrays_in(entries, content)
    np.testing.assert_array_equal(arrays["right_x"], view.arrays["right_x"].astype("<f4"))


# --- A look inside --------------------------------------------------------------------------------


def test_a_look_inside_shows_every_weight_and_gate(run):
    for name in run.setting.variants:
        config = run.variants[name].ensemble.config
        fields = layer_maps(run, name, MEMBER)
        weights = {k: v for k, v in fields.items() if "α" in k}
        assert len(weights) == config.depth * config.heads * config.value_count
        for layer in range(1, config.depth + 1):
            for head in range(1, config.heads + 1):
                label = f" · head {head}" if config.heads > 1 else ""
                mine = [
                    weights[f"layer {layer} · α{slot}{label}"]
                    for slot in range(1, config.value_count + 1)
                ]
                assert np.min(mine) >= 0
                np.testing.assert_allclose(np.sum(mine, 0), 1, atol=1e-12)
        gates = len(fields) - len(weights)
        assert (gates > 0) == (config.gate is not None), name
        for field in fields.values():
            assert field.shape == (film.FRAME_GRID, film.FRAME_GRID)


def test_a_look_inside_is_that_of_its_seed(circle):
    ensemble = circle.variants["sigmoid"].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
    hidden = model.embed(square_grid(film.FRAME_GRID).points)
    gate = model.blocks[0].gate.values(hidden, hidden)
    weights = model.blocks[0].weights(hidden)
    for member in range(3):
        fields = layer_maps(circle, "sigmoid", member)
        for channel in range(3):
            wanted = gate[member, :, channel].reshape(31, 31).numpy()
            found = fields[f"layer 1 · gate {channel + 1}"]
            np.testing.assert_allclose(found, wanted, atol=1e-12)
            wanted = weights[member, 0, :, channel].reshape(31, 31).numpy()
            np.testing.assert_allclose(fields[f"layer 1 · α{channel + 1}"], wanted, atol=1e-12)


def test_a_sigmoid_gate_has_a_field_for_every_channel(circle):
    fields = layer_maps(circle, "sigmoid", 0)
    gates = [fields[f"layer 1 · gate {channel}"] for channel in (1, 2, 3)]
    assert np.min(gates) > 0
    assert np.max(gates) < 1
    assert np.ptp(gates, axis=(1, 2)).min() > 0


# --- Figures --------------------------------------------------------------------------------------


@pytest.mark.sampled(1)
def test_a_map_of_the_inside_is_clicked_by_name(run):
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
