"""The figures draw what was measured, where it was measured."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core.attention.stack import restore
from gating_core.experiments.comparison.frames import cut_of, strengths_model
from gating_core.experiments.comparison.run import train_setting
from gating_core.experiments.comparison.setting import FIRST_SETTING
from gating_core.experiments.comparison.sweep import StrengthSweep
from gating_core.geometry import Integral
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import crease_levels, measure_surface
from tests.ui.payload import names_in
from ui.drawing import palette
from ui.drawing.axes import coordinate_axes
from ui.drawing.lines import barycentric, grid_lines, lifted, plane_lines, zero_curve
from ui.drawing.panels import FAINT, UNDER
from ui.drawing.sheet import boundaries, drawn_planes, plane_patch
from ui.landing.pair import MeasuredPair, measure_model
from ui.landing.picture import curvature_colours, curvature_maps, learning_curves, pair_view
from ui.landing.words import captions

AXIS = np.linspace(-1, 1, 21)


@pytest.fixture(scope="module")
def pair():
    *_, run = train_setting(replace(FIRST_SETTING, task="xor", steps=60, seed_count=3))
    grid = square_grid(21)
    gated = run.variants["sigmoid"].ensemble
    models = (strengths_model(gated, gated.best, x) for x in ([0.0], [0.0, 0.5, 1.0]))
    left, right = (measure_model(model, run, gated.best, grid) for model in models)
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


def test_the_drawn_plane_is_the_zero_set_of_the_margin_and_holds_the_cut(pair):
    for side in pair[1:]:
        normal, offset = side.frames.normal[-1], side.frames.offset[-1]
        surface = side.surface.values[-1]
        _, cut = zero_curve(side.frames.margin[-1], side.data.axis, surface)
        cut = cut[~np.isnan(cut[:, 0])]
        assert len(cut) > 5
        corners = plane_patch(normal, offset, cut, surface)
        assert corners.shape == (4, 3)
        np.testing.assert_allclose(corners @ normal + offset, 0, atol=1e-9)
        sides = np.diff(np.concatenate([corners, corners[:1]]), axis=0)
        np.testing.assert_allclose(sides[:-1] @ sides[1], [0, sides[1] @ sides[1], 0], atol=1e-9)
        within = (cut - corners[0]) @ np.stack([sides[0], sides[1]]).T
        lengths = (sides[:2] ** 2).sum(1)
        assert (within > 0).all()
        assert (within < lengths).all()


def test_a_plane_that_misses_its_surface_is_not_drawn(pair):
    frames = pair[2].frames
    far = replace(frames, bias=frames.bias + np.array([0.0, 1e3]))
    cuts = boundaries(far.logits, AXIS, far.values)
    np.testing.assert_array_equal(drawn_planes(far, coordinate_axes(3), cuts[..., 2:] * np.nan),
                                  np.full((3, 4, 3), np.nan))  # fmt: skip


def test_lines_of_the_plane_are_straight_where_the_gate_is_out_and_bend_where_it_is_not(pair):
    """Each line lies on one side of the triangle's strips: all its points have one share."""
    _, left, right = pair
    lines = plane_lines(left.frames.values[0], AXIS, left.value_vectors)
    flat, bent = lifted(lines, AXIS, right.frames.values)[[0, -1]]
    ends = np.flatnonzero(np.isnan(lines[:, 0]))
    pieces = [slice(a + 1, b) for a, b in itertools.pairwise(ends) if b - a > 6]
    assert len(pieces) > 5

    def bend(points):
        spread = np.linalg.svd(points - points.mean(0), compute_uv=False)
        return spread[1] / spread[0]

    # The mesh cuts corners: within a cell the sheet is not the mesh, to second order.
    assert max(bend(flat[piece]) for piece in pieces) < 2e-2
    assert max(bend(bent[piece]) for piece in pieces) > 5e-2


def test_barycentric_shares_add_up_to_one_and_rebuild_the_point():
    rng = np.random.default_rng(3)
    corners, shares = rng.normal(size=(3, 4)), rng.dirichlet(np.ones(3), 20)
    np.testing.assert_allclose(barycentric(shares @ corners, corners), shares, atol=1e-12)


def test_margins_and_accuracies_belong_to_the_classifier(pair):
    run, *sides = pair
    for side in sides:
        frames = side.frames
        plane = np.einsum("trcd,td->trc", frames.values, frames.normal)
        plane = plane + frames.offset[:, None, None]
        np.testing.assert_allclose(frames.margin, plane, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(frames.values, side.surface.values, rtol=1e-12, atol=1e-14)
    # float32 while training against float64 here: a point on the boundary may flip.
    gated, right = run.variants["sigmoid"].ensemble, sides[1]
    assert abs(right.test_accuracy[-1] - gated.test_accuracy[-1, gated.best]) <= 2e-3
    assert sides[0].test_accuracy[0] == right.test_accuracy[0]


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
    ("margin", "loops", "lines", "bend"),
    [(lambda u, v: u * u + v * v - 0.5, 1, 0, 0), (lambda u, v: u - 0.3 * v - 0.1, 0, 1, 0),
     (lambda u, v: u * u - 0.25, 0, 2, 0), (lambda u, v: 1 + 0 * u, 0, 0, 0),
     (lambda u, v: v - u * u / 2, 0, 1, 0.5)],
)  # fmt: skip
def test_loops_and_open_lines_are_counted_and_their_sagitta_is_measured(margin, loops, lines, bend):
    found = cut_of(margin(*np.meshgrid(AXIS, AXIS)), AXIS)
    assert (found.loops, found.lines) == (loops, lines)
    assert found.bend == pytest.approx(bend, abs=1e-3)


def test_the_last_frame_is_the_trained_model_and_the_first_has_no_gate(pair):
    _, _, right = pair
    assert right.surface.flat[0]
    assert not right.surface.flat[-1]
    shares = right.surface.shares
    curved = shares.positive + shares.negative
    np.testing.assert_allclose(curved + shares.flat + shares.undecided, 1, atol=1e-12)
    assert (curved[0], shares.flat[0], shares.undecided[0]) == (0, 1, 0)


def test_the_triangle_of_values_says_what_the_classifier_says_where_the_sheet_lies_in_it(pair):
    """By class, and on the side whose outputs are averages of the three values."""
    _, left, right = pair
    for colouring in ("class", "curvature"):
        view = pair_view(MeasuredPair(left, right, True), colouring)
        (flat, *_), (curved, *_) = view.columns
        grounds = [[t for t in panel.traces if t.get("meta") == UNDER] for panel in (flat, curved)]
        assert list(map(len, grounds)) == [colouring == "class", 0]
        faint = [[t for t in panel.traces if t.get("opacity") == FAINT["opacity"]]
                 for panel in (flat, curved)]  # fmt: skip
        assert list(map(len, faint)) == [colouring != "class", 1]
    alone = pair_view(MeasuredPair(right.frame(0), right, True))  # as the page has it
    assert "left_ground_class" in alone.arrays
    view = pair_view(MeasuredPair(left, right, True))
    vertices = np.stack([view.arrays[f"left_ground_{x}"] for x in "xyz"], -1)
    corners = np.stack([view.arrays[f"left_ground_{x}"] for x in "ijk"], -1)
    middles = vertices[corners].mean(1)
    margin = middles @ left.frames.normal[0] + left.frames.offset[0]
    classes = view.arrays["left_ground_class"]
    assert (classes == (margin > 0)).all()
    assert set(classes) == {0, 1}
    split = np.stack([view.arrays[f"left_split_{x}"] for x in "xyz"], -1)
    split = split[~np.isnan(split[:, 0])]
    np.testing.assert_allclose(split @ left.frames.normal[0] + left.frames.offset[0], 0, atol=1e-9)
    assert (np.abs(barycentric(split, left.value_vectors)).min(1) < 1e-9).all()  # to its sides


@pytest.mark.parametrize("colouring", ["class", "curvature"])
def test_the_view_names_every_array_it_uses(pair, colouring):
    view = pair_view(MeasuredPair(*pair[1:], True), colouring)
    panels = [panel for column in view.columns for panel in column]
    used = names_in([p.traces for p in panels]).union(*(p.pick.values() for p in panels))
    used |= {f"{note.prefix}_{x}" for p in panels for note in p.notes for x in "xyz"}
    assert used == set(view.arrays)
    assert all(len(view.arrays[name]) == view.frames == 3 for name in view.framed)
    assert sum(panel.kind == "scene" for panel in panels) == 2


def test_colours_of_k_are_symmetric_shared_and_say_what_they_cut_off(pair):
    _, left, right = pair
    view = pair_view(MeasuredPair(left, right, True), "curvature")
    low, high = view.colour_range
    assert low == -high
    drawn = {
        (p.traces[0].get("cmin", p.traces[0].get("zmin")),
         p.traces[0].get("cmax", p.traces[0].get("zmax")))
        for column in view.columns for p in column
    }  # fmt: skip
    ends = curvature_colours(right.surface)
    assert drawn == {(ends.low, ends.high)}
    np.testing.assert_allclose(ends.apply(np.array([low, 0, high])), [ends.low, 0, ends.high])
    known = right.surface.known[-1]
    assert view.beyond == (np.abs(known[~np.isnan(known)]) > high * (1 + 1e-9)).mean()
    assert 0 < view.beyond < 0.03


def test_a_flat_surface_is_not_drawn_in_amplified_rounding():
    flat = measure_surface(SURFACES["plane"].chart, square_grid(21))
    scale = curvature_colours(flat)
    assert scale.ends[1] == pytest.approx(palette.COLOUR_RANGE_FLOOR)
    assert scale.beyond == 0.0


def test_a_constant_sphere_is_not_blank():
    sphere = measure_surface(SURFACES["sphere by gating"].chart, square_grid(21))
    scale = curvature_colours(sphere)
    assert abs(scale.ends[1] - 1 / 0.49) < 1e-9
    figure = curvature_maps({"sphere": sphere}, scale)
    axis = figure.layout.coloraxis
    assert (axis.cmin, axis.cmax) == (scale.low, scale.high) == (-scale.high, scale.high)
    assert figure.data[0].z.min() == pytest.approx(scale.high)


def test_the_zero_line_is_drawn_only_where_the_sign_means_something():
    grid = square_grid(21)
    torus = measure_surface(lambda p: SURFACES["torus"].chart(p), grid)
    flat = measure_surface(SURFACES["warped plane"].chart, grid)
    figure = curvature_maps({"a": torus, "b": flat}, curvature_colours(torus))
    lines = [trace for trace in figure.data if trace.type == "scatter"]
    assert len(lines) == 1
    v = lines[0].y[~np.isnan(np.array(lines[0].y, dtype=float))]
    np.testing.assert_allclose(np.abs(v), np.pi / 4, atol=5e-3)  # cos 2v = 0


def test_creases_are_where_the_curvature_is_and_on_the_picture_of_curvature_only(pair):
    _, left, right = pair
    view = pair_view(MeasuredPair(left, right, True), "curvature")
    levels = crease_levels(right.surface)
    assert np.isfinite(levels).any()  # else nothing is tested
    for frame, level in enumerate(levels):
        curve = np.stack([view.arrays[f"right_crease_{x}"][frame] for x in "uvxyz"], -1)
        curve = curve[~np.isnan(curve[:, 0])]
        assert bool(len(curve)) == np.isfinite(level)
        size = np.where(right.surface.decided, np.abs(right.surface.gaussian), 0.0)[frame]
        found = lifted(curve[:, :2], AXIS, np.stack([size] * 2, -1)[None])[0, :, 0]
        np.testing.assert_allclose(found, level, rtol=0.3)  # contours cut cells another way
        on_surface = lifted(curve[:, :2], AXIS, right.frames.values[frame][None])[0]
        np.testing.assert_allclose(curve[:, 2:], on_surface, atol=1e-12)
    assert np.isnan(view.arrays["left_crease_x"]).all()
    assert not any("crease" in name for name in pair_view(MeasuredPair(left, right, True)).arrays)


def test_grid_lines_are_rows_and_columns_of_the_surface():
    values = torch.rand(2, 13, 13, 3).numpy()
    lines = grid_lines(values)
    assert lines.shape == (2, 6 * 14, 3)
    np.testing.assert_array_equal(lines[:, :13], values[:, 0])
    assert np.isnan(lines[:, 13]).all()
    np.testing.assert_array_equal(lines[:, -14:-1], values[:, :, 12])


def test_learning_curves_show_every_seed(pair):
    ungated, gated = (variant.ensemble for variant in pair[0].variants.values())
    figure = learning_curves({"a": ungated, "b": gated}, {"a": "#000000", "b": "#ffffff"})
    assert len(figure.data) == 4
    steps = len(ungated.steps)
    assert len(figure.data[0].x) == 2 * (steps + 1)  # two other seeds, a gap after each
    np.testing.assert_array_equal(figure.data[1].y, ungated.train_loss[:, ungated.best])


def test_a_caption_says_what_is_known_of_a_total(pair):
    right, nan = pair[2], float("nan")
    parts = torch.tensor([[nan, 7.0, 7.0], [nan, 0.5, 3.0]], dtype=torch.float64)
    total = Integral(*parts, torch.tensor([True] * 3))
    nothing = np.zeros(0)
    sweep = StrengthSweep(0, nothing, nothing, total, np.array([True, False, True]))
    flat, waits, doubtful = captions(right, sweep, True, "a fair line")
    assert all(line.startswith("a fair line\nShown: ") for line in (flat, waits, doubtful))
    assert flat.endswith("%, classifier refitted · total curvature **0**: flat")
    assert waits.endswith("· total curvature is being measured …")
    assert " · total curvature **7 ± 3, only roughly known**, " in doubtful
    assert doubtful.endswith("of it on 1\u00a0% of the area")
    unseen = captions(right, sweep, False, "a fair line")
    assert unseen == [re.sub(" · .*", "", line) for line in (flat, waits, doubtful)]
