"""Do the figures draw what was measured, where it was measured?"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core.attention.classifier import restore
from gating_core.experiments.comparison.frames import cut_of
from gating_core.experiments.comparison.run import train_setting
from gating_core.experiments.comparison.setting import FIRST_LOOK
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import measure_surface
from tests.ui.payload import names_in
from ui.drawing import palette
from ui.drawing.camera import best_camera
from ui.drawing.classified import plane_in_box
from ui.drawing.lines import grid_lines, zero_curve
from ui.landing.figures import curvature_maps, learning_curves
from ui.landing.measured import measured_side
from ui.landing.picture import curvature_colours, pair_view

AXIS = np.linspace(-1, 1, 21)


@pytest.fixture(scope="module")
def pair():
    *_, run = train_setting(replace(FIRST_LOOK, task="xor", steps=60, seed_count=3))
    grid = square_grid(21)
    left = measured_side(run, "ungated", grid=grid)
    right = measured_side(run, "sigmoid", [0.0, 0.5, 1.0], grid)
    return run, left, right


def test_the_zero_curve_lies_on_the_zero_set_and_on_the_surface():
    u, v = np.meshgrid(AXIS, AXIS)
    surface = np.stack([u, v, 2 * u - v + 0.3], -1)
    chart, lifted = zero_curve(u * u + v * v - 0.5, AXIS, surface)
    keep = ~np.isnan(chart[:, 0])
    assert keep.sum() > 20
    # Linear interpolation on cells of width 0.1: h^2 / 8 times the second derivative 2.
    assert np.abs((chart[keep] ** 2).sum(-1) - 0.5).max() < 0.1**2 / 8 * 4
    np.testing.assert_allclose(lifted[keep, :2], chart[keep], atol=1e-12)
    np.testing.assert_allclose(
        lifted[keep, 2], 2 * chart[keep, 0] - chart[keep, 1] + 0.3, atol=1e-12
    )
    assert np.isnan(lifted[~keep]).all()


def test_a_field_without_sign_change_has_no_curve():
    chart, lifted = zero_curve(np.ones((21, 21)), AXIS, np.zeros((21, 21, 3)))
    assert np.isnan(chart).all()
    assert np.isnan(lifted).all()


def test_the_classifiers_plane_is_the_zero_set_of_the_margin(pair):
    for side in pair[1:]:
        normal, offset = side.frames.normal[-1], side.frames.offset[-1]
        low, high = side.surface.values.min((0, 1, 2)), side.surface.values.max((0, 1, 2))
        corners = plane_in_box(normal, offset, low - 1, high + 1)
        assert 3 <= len(corners) <= 6
        np.testing.assert_allclose(corners @ normal + offset, 0, atol=1e-9)
        assert (corners >= low - 1 - 1e-9).all()
        assert (corners <= high + 1 + 1e-9).all()
        along = np.diff(np.concatenate([corners, corners[:2]]), axis=0)
        turns = np.cross(along[:-1], along[1:]) @ normal
        assert (turns > 0).all() or (turns < 0).all()  # in order round the polygon


def test_a_plane_that_misses_the_box_has_no_corners():
    assert plane_in_box(np.array([0, 0, 1.0]), -5.0, -np.ones(3), np.ones(3)).shape == (0, 3)


def test_margins_and_accuracies_belong_to_the_classifier(pair):
    run, *sides = pair
    for side, variant in zip(sides, run.variants.values(), strict=True):
        frames, ensemble = side.frames, variant.ensemble
        plane = np.einsum("trcd,td->trc", frames.values, frames.normal)
        plane = plane + frames.offset[:, None, None]
        np.testing.assert_allclose(frames.margin, plane, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(frames.values, side.surface.values, rtol=1e-12, atol=1e-14)
        # float32 while training against float64 here: a point on the boundary may flip.
        assert abs(side.test_accuracy[-1] - ensemble.test_accuracy[-1, ensemble.best]) <= 2e-3


def test_frames_of_a_strength_share_the_weights_and_the_first_has_no_gate(pair):
    run, _, right = pair
    ensemble = run.variants["sigmoid"].ensemble
    state = {name: x for name, x in ensemble.state.items() if ".gate." not in name}
    bare = restore(run.setting.base, ensemble.seeds, state)
    values = bare.attention(square_grid(21).points)[ensemble.best].unflatten(0, (21, 21))
    np.testing.assert_array_equal(right.frames.values[0], values.numpy())
    for part in ("weight", "bias"):
        whole = getattr(right.frames, part)
        assert len(whole) == 3
        assert (whole == ensemble.state[part][ensemble.best]).all()


@pytest.mark.parametrize(
    ("margin", "loops", "lines"),
    [(lambda u, v: u * u + v * v - 0.5, 1, 0), (lambda u, v: u - 0.1, 0, 1),
     (lambda u, v: u * u - 0.25, 0, 2), (lambda u, v: 1 + 0 * u, 0, 0)],
)  # fmt: skip
def test_loops_and_open_lines_are_counted(margin, loops, lines):
    found = cut_of(margin(*np.meshgrid(AXIS, AXIS)), AXIS)
    assert (found.loops, found.lines) == (loops, lines)


def test_the_last_frame_is_the_trained_model_and_the_first_has_no_gate(pair):
    _, _, right = pair
    assert right.surface.flat[0]
    assert not right.surface.flat[-1]
    shares = right.surface.shares
    np.testing.assert_allclose(shares.positive + shares.negative + shares.undecided, 1, atol=1e-12)
    assert shares.undecided[0] == 1


@pytest.mark.parametrize("colouring", ["class", "curvature"])
def test_the_view_names_every_array_it_uses(pair, colouring):
    view = pair_view(*pair[1:], colouring)
    panels = [panel for column in view.columns for panel in column]
    used = names_in([p.traces for p in panels]).union(*(p.pick.values() for p in panels))
    assert used == set(view.arrays)
    assert all(len(view.arrays[name]) == view.frames == 3 for name in view.framed)
    assert sum(panel.kind == "scene" for panel in panels) == 2


def test_colours_of_k_are_symmetric_shared_and_say_what_they_cut_off(pair):
    _, left, right = pair
    view = pair_view(left, right, "curvature")
    low, high = view.colour_range
    assert low == -high
    limits = {
        (p.traces[0].get("cmin", p.traces[0].get("zmin")),
         p.traces[0].get("cmax", p.traces[0].get("zmax")))
        for column in view.columns for p in column
    }  # fmt: skip
    assert limits == {(low, high)}
    sizes = np.abs(right.surface.gaussian[-1][right.surface.resolved[-1]])
    assert view.beyond == (sizes > high).mean()
    assert 0 < view.beyond < 0.11


def test_a_flat_surface_is_not_drawn_in_amplified_rounding():
    flat = measure_surface(SURFACES["plane"].chart, square_grid(21))
    scale = curvature_colours(flat)
    assert (scale.high, scale.beyond) == (palette.COLOUR_RANGE_FLOOR, 0.0)


def test_a_constant_sphere_is_not_blank():
    sphere = measure_surface(SURFACES["sphere by gating"].chart, square_grid(21))
    end = curvature_colours(sphere).high
    assert abs(end - 1 / 0.49) < 1e-9
    figure = curvature_maps({"sphere": sphere}, {"sphere": 0}, end)
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (-end, end)


def test_the_zero_line_is_drawn_only_where_the_sign_means_something():
    grid = square_grid(21)
    torus = measure_surface(lambda p: SURFACES["torus"].chart(p), grid)
    flat = measure_surface(SURFACES["warped plane"].chart, grid)
    figure = curvature_maps({"a": torus, "b": flat}, {"a": 0, "b": 0}, 1.0)
    lines = [trace for trace in figure.data if trace.type == "scatter"]
    assert len(lines) == 1
    v = lines[0].y[~np.isnan(np.array(lines[0].y, dtype=float))]
    np.testing.assert_allclose(np.abs(v), np.pi / 4, atol=5e-3)  # cos 2v = 0


def test_grid_lines_are_rows_and_columns_of_the_surface():
    values = torch.rand(2, 13, 13, 3).numpy()
    lines = grid_lines(values)
    assert lines.shape == (2, 6 * 14, 3)
    np.testing.assert_array_equal(lines[:, :13], values[:, 0])
    assert np.isnan(lines[:, 13]).all()
    np.testing.assert_array_equal(lines[:, -14:-1], values[:, :, 12])


def test_the_camera_faces_a_sheet_that_faces_one_way():
    u, v = np.meshgrid(AXIS, AXIS)
    sheet = np.stack([u, 0 * u, v], -1)  # normal along y
    eye = best_camera([sheet], np.array([0.0, 1.0, 0.0]))["eye"]
    assert eye["y"] > 0.9 * np.linalg.norm(list(eye.values()))


def test_learning_curves_show_every_seed(pair):
    ungated, gated = (variant.ensemble for variant in pair[0].variants.values())
    figure = learning_curves({"a": ungated, "b": gated}, {"a": "#000000", "b": "#ffffff"})
    assert len(figure.data) == 4
    steps = len(ungated.steps)
    assert len(figure.data[0].x) == 2 * (steps + 1)  # two other seeds, a gap after each
    np.testing.assert_array_equal(figure.data[1].y, ungated.train_loss[:, ungated.best])


def test_wrong_colourings_are_refused(pair):
    with pytest.raises(ValueError, match="colouring"):
        pair_view(*pair[1:], "rainbow")
