"""The view of the landing page draws what was measured, and its captions say it."""

import re

import numpy as np
import pytest
import torch

from gating_core.experiments.comparison import MeasuredPair, StrengthSweep
from gating_core.geometry import Integral, measure_surface, square_grid
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.surface import ridge_levels
from tests.pairs import small_pair
from tests.ui.payload import names_in
from ui.drawing import palette
from ui.drawing.lines import barycentric, lifted
from ui.drawing.panels import FAINT, UNDER
from ui.landing.details import curvature_maps, learning_curves
from ui.landing.pair import captions, curvature_colours, pair_view

AXIS = np.linspace(-1, 1, 21)


@pytest.fixture(scope="module")
def pair():
    return small_pair()


def test_the_triangle_of_values_says_what_the_classifier_says_where_the_sheet_lies_in_it(pair):
    """By class, and on the side whose outputs are averages of the three values."""
    _, left, right = pair
    for colouring in ("class", "curvature"):
        view = pair_view(MeasuredPair(left, right, True), colouring)
        (flat, *_), (curved, *_) = view.columns
        grounds = [[t for t in panel.traces if t.get("meta") == UNDER] for panel in (flat, curved)]
        assert list(map(len, grounds)) == [colouring == "class", 0]
        faint = [
            [t for t in panel.traces if t.get("opacity") == FAINT["opacity"]]
            for panel in (flat, curved)
        ]
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


def test_ridges_are_where_the_curvature_is_and_on_the_picture_of_curvature_only(pair):
    _, left, right = pair
    view = pair_view(MeasuredPair(left, right, True), "curvature")
    levels = ridge_levels(right.surface)
    assert np.isfinite(levels).any()  # else nothing is tested
    for frame, level in enumerate(levels):
        curve = np.stack([view.arrays[f"right_ridge_{x}"][frame] for x in "uvxyz"], -1)
        curve = curve[~np.isnan(curve[:, 0])]
        assert bool(len(curve)) == np.isfinite(level)
        size = np.where(right.surface.decided, np.abs(right.surface.gaussian), 0.0)[frame]
        found = lifted(curve[:, :2], AXIS, np.stack([size] * 2, -1)[None])[0, :, 0]
        np.testing.assert_allclose(found, level, rtol=0.3)  # contours cut cells another way
        on_surface = lifted(curve[:, :2], AXIS, right.frames.values[frame][None])[0]
        np.testing.assert_allclose(curve[:, 2:], on_surface, atol=1e-12)
    assert np.isnan(view.arrays["left_ridge_x"]).all()
    assert not any("ridge" in name for name in pair_view(MeasuredPair(left, right, True)).arrays)


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
    assert all(line.startswith("a fair line\nShown, seed ") for line in (flat, waits, doubtful))
    assert flat.endswith("%, classifier refitted · total curvature **0**: flat")
    assert waits.endswith("· total curvature is being measured …")
    assert " · total curvature **7 ± 3, not converged to 10\u00a0%**, " in doubtful
    assert doubtful.endswith("of it on 1\u00a0% of the area")
    unseen = captions(right, sweep, False, "a fair line")
    assert unseen == [re.sub(" · .*", "", line) for line in (flat, waits, doubtful)]
