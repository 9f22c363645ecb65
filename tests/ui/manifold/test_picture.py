"""Flat looks flat, strength by strength, in boxes that hold what is drawn."""

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.experiments.budget import cost
from gating_core.experiments.instance.measured import measure_instance
from gating_core.experiments.instance.model import NEAR_DEGENERATE, elongation
from tests.ui.payload import names_in
from ui.drawing.lines import lies_in_a_plane, lifted, plane_lines
from ui.drawing.palette import ACCENT
from ui.drawing.panels import UNSHADED, in_camera_units
from ui.limits import DIAL_COST, GRID_POINTS
from ui.manifold.model import ManifoldRequest, at_strength, resolve
from ui.manifold.picture import ManifoldView, manifold_picture
from ui.manifold.shared import LEAST_COST, STEP_COUNTS, strengths

SIZE = 31
STRENGTHS = (0.0, 0.5, 1.0)


@cache
def pictured(**change):
    """The picture of a request at three strengths, and what it was made of."""
    resolved = resolve(ManifoldRequest(grid=SIZE, **change))
    ungated, gated = resolved.variants
    frames = [measure_instance(at_strength(gated, strength), SIZE) for strength in STRENGTHS]
    sides = [[measure_instance(ungated, SIZE)], frames]
    return sides, resolved.axes, manifold_picture(sides, resolved.axes, ManifoldView())


def points(picture, prefix, frame=None):
    found = np.stack([picture.view.arrays[f"{prefix}_{x}"] for x in "xyz"], -1)
    return found if frame is None else found[frame]


def straightness(line):
    """The second singular value of a line's points by the first: 0 where it is straight."""
    spread = np.linalg.svd(line - line.mean(0), compute_uv=False)
    return spread[1] / spread[0]


def pieces(lines):
    """Those of more than a few points."""
    gap = np.full((1, lines.shape[-1]), np.nan)
    lines = np.concatenate([gap, lines, gap])
    ends = np.flatnonzero(np.isnan(lines[:, 0]))
    return [lines[a + 1 : b] for a, b in itertools.pairwise(ends) if b - a > 6]


@pytest.mark.parametrize("change", [{}, dict(output_projection=True), dict(model_dim=8)], ids=str)
def test_lines_are_straight_on_the_flat_side_and_the_same_bend_on_the_curved_one(change):
    _, _, picture = pictured(**change)
    flat, bent = pieces(points(picture, "left_grid")), pieces(points(picture, "right_grid", -1))
    assert len(flat) == len(bent) >= 5
    # The mesh cuts corners: within a cell the sheet is not the mesh, to second order.
    assert max(map(straightness, flat)) < 3e-2
    assert max(map(straightness, bent)) > 6e-2
    np.testing.assert_array_equal(points(picture, "right_grid", 0), points(picture, "left_grid"))
    assert len(picture.view.edge_on) == 1  # one plane serves both


def test_a_side_that_curves_has_the_charts_grid_and_no_edge():
    _, _, picture = pictured(value_count=8)
    rows = pieces(points(picture, "left_grid"))
    assert len(rows) == 2 * len(range(0, SIZE, 6))
    assert picture.view.edge_on == ()


@pytest.mark.parametrize(("change", "flat"), [({}, True), ({"value_count": 8}, False)])
def test_only_a_sheet_that_is_flat_is_drawn_without_shades(change, flat):
    """It is dark from one of its sides, and looked like a sail."""
    _, _, picture = pictured(**change)
    shades = [panels[0].traces[0]["lighting"] for panels in picture.view.columns]
    assert (shades[0] == UNSHADED) == flat
    assert shades[1]["diffuse"] > 0


@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans())
def test_lines_of_any_plane_are_straight(seed, dim, triangle):
    rng = np.random.default_rng(seed)
    axis = np.linspace(-1, 1, 21)
    u, v = np.meshgrid(axis, axis)
    corners = rng.normal(size=(3, dim))
    weights = np.exp(np.stack([u + 0.2 * v**2, v - 0.3 * u * v, 0 * u], -1))
    values = weights / weights.sum(-1, keepdims=True) @ corners
    assert lies_in_a_plane(values)
    lines = plane_lines(values, axis, corners if triangle else None)
    found = pieces(lifted(lines, axis, values[None])[0])
    assert found
    extent = np.linalg.norm(np.ptp(values.reshape(-1, dim), axis=0))
    for line in found:
        spread = np.linalg.svd(line - line.mean(0), compute_uv=False)
        assert spread[1] / np.sqrt(len(line)) < 5e-3 * extent


def test_a_dome_and_a_rolled_sheet_lie_in_no_plane():
    u, v = np.meshgrid(*[np.linspace(-1, 1, 9)] * 2)
    assert not lies_in_a_plane(np.stack([u, v, u**2 + v**2], -1))
    assert not lies_in_a_plane(np.stack([np.cos(u), np.sin(u), v], -1))
    assert lies_in_a_plane(np.stack([u, v, u - v + 1], -1))


def test_the_triangle_is_whole_with_its_names_where_the_sheet_is_a_good_part_of_it():
    sides, axes, picture = pictured()
    (left,), (right, _) = picture.view.columns
    assert [note.text for note in left.notes] == [f"U<sub>{i}</sub>" for i in (1, 2, 3)]
    assert right.notes == ()
    np.testing.assert_allclose(points(picture, "left_ring")[:3], axes.project(sides[0][0].values))
    _, _, small = pictured(depth=3, seed=72)
    assert small.view.columns[0][0].notes == ()


@pytest.mark.parametrize("change", [{}, dict(depth=2), dict(depth=4), dict(model_dim=8)], ids=str)
def test_every_point_lies_in_the_box_of_its_frame_and_no_surface_is_lost_in_it(change):
    _, _, picture = pictured(**change)
    for prefix, (scene, *_) in zip(("left", "right"), picture.view.columns, strict=True):
        values = points(picture, prefix)
        frames = values[None] if values.ndim == 3 else values
        layouts = scene.layouts or [scene.layout]
        for frame, surface in enumerate(frames):
            layout = layouts[min(frame, len(layouts) - 1)]
            low, high = np.array([layout[f"{x}axis"]["range"] for x in "xyz"]).T
            assert (low <= surface).all()
            assert (surface <= high).all()
            reach = np.linalg.norm(np.ptp(surface.reshape(-1, 3), axis=0))
            assert reach > 0.3 * np.linalg.norm(high - low)
    assert picture.boxes_vary == ("depth" in change)


def elongation_of(picture, prefix, frame=None):
    """How many times as long as broad a surface is as it is seen, in the units of the camera."""
    scene = picture.view.columns[prefix == "right"][0]
    values = points(picture, prefix, frame).reshape(-1, 3)
    return elongation(in_camera_units(values, (scene.layouts or [scene.layout])[-1]))


def test_a_near_degenerate_surface_is_drawn_broader_along_its_own_axes_and_others_are_not():
    sides, _, picture = pictured(depth=4, seed=72)
    left, right = (side[-1].surface.values[0] for side in sides)
    assert elongation(left) > NEAR_DEGENERATE
    assert elongation(right) > NEAR_DEGENERATE
    for prefix, frame, true, times in zip(
        ("left", "right"), (None, -1), (left, right), picture.stretches, strict=True
    ):
        assert times == pytest.approx(elongation(true) / 2, rel=0.1)
        assert elongation_of(picture, prefix, frame) == pytest.approx(2, rel=0.1)
        # What is drawn is the surface in its true size: only the box is not.
        drawn = points(picture, prefix, frame).reshape(-1, 3)
        true = true.reshape(-1, 3)
        for place in (0, 480):
            far = np.linalg.norm(drawn - drawn[place], axis=1)
            np.testing.assert_allclose(far, np.linalg.norm(true - true[place], axis=1), atol=1e-12)
    scenes = [column[0] for column in picture.view.columns]
    assert all(x.layout["xaxis"]["title"]["text"] == "along" for x in scenes)
    _, _, broad = pictured()
    assert broad.stretches == [1.0, 1.0]
    layout = broad.view.columns[1][0].layout
    ranges = np.array([np.ptp(layout[f"{x}axis"]["range"]) for x in "xyz"])
    aspect = np.array([layout["aspectratio"][x] for x in "xyz"])
    np.testing.assert_allclose(aspect / ranges, aspect[0] / ranges[0])


def test_the_same_things_are_drawn_of_both_sides_at_any_strength():
    """No faint copy of the other side, which nobody could name."""
    for change in ({}, dict(depth=4), dict(depth=4, seed=72), dict(position="G4")):
        sides, axes, picture = pictured(**change)
        alone = manifold_picture([sides[0], sides[1][-1:]], axes, ManifoldView())
        for some in (picture, alone):
            for side, column in zip(("left", "right"), some.view.columns, strict=True):
                names = names_in(column[0].traces)
                assert {x.split("_")[0] for x in names} == {side, "cells"}
                pink = [x for x in column[0].traces if x.get("color") == ACCENT]
                assert bool(pink) == bool(column[0].notes)  # named wherever it is drawn


@pytest.mark.parametrize("change", [{}, dict(depth=4, seed=72), dict(position="G2")], ids=str)
def test_edge_on_every_flat_sheet_is_a_line(change):
    _, _, picture = pictured(**change)
    edges = picture.view.edge_on
    assert len(edges) == (1 if change == {} else 2)
    for place, edge in enumerate(edges):
        scene = picture.view.columns[place][0]
        # On the right the sheet without its gate; of G2, whose values move, the gated one.
        frame = (-1 if change.get("position") else 0) if place else None
        sheet = points(picture, ("left", "right")[place], frame).reshape(-1, 3)
        seen = in_camera_units(sheet, (scene.layouts or [scene.layout])[-1])
        normal = np.linalg.svd(seen - seen.mean(0), full_matrices=False)[2][2]
        eye = np.array([edge.camera["eye"][x] for x in "xyz"])
        assert abs(eye @ normal) < 1e-3 * np.linalg.norm(eye)


def test_ridges_are_drawn_where_one_percent_of_the_area_has_much_of_the_curvature():
    _, _, smooth = pictured(seed=392)
    assert np.isnan(smooth.view.arrays["right_ridge_u"]).all()
    _, _, picture = pictured(depth=2, seed=72)
    u = picture.view.arrays["right_ridge_u"][-1]
    assert np.isfinite(u).sum() > 10
    assert np.isnan(picture.view.arrays["left_ridge_u"]).all()


@given(st.integers(1, 8), st.integers(2, 16), st.integers(2, 12), st.sampled_from(GRID_POINTS))
def test_there_are_as_many_strengths_as_are_affordable(depth, dim, count, grid):
    for source in ("memory", "tokens"):
        request = ManifoldRequest(
            depth=depth, model_dim=dim, value_count=count, grid=grid, source=source
        )
        resolved = resolve(request)
        instance = resolved.variants[-1]
        found = strengths(instance, resolved.grid)
        assert found[0] == 0
        assert found[-1] == 1
        assert list(found) == sorted(set(found))
        work = max(cost(instance.config), LEAST_COST) * resolved.grid**2
        assert len(found) * work <= DIAL_COST or len(found) == 2
        more = next((n for n in reversed(STEP_COUNTS) if n >= len(found)), None)
        assert more is None or (more + 1) * work > DIAL_COST


def test_in_the_plane_the_grid_lies_on_the_dots_and_an_axis_has_two_or_three_numbers():
    _, _, picture = pictured(model_dim=2)
    for name, (panel, *_) in zip(("left", "right"), picture.view.columns, strict=True):
        assert [trace["mode"] for trace in panel.traces] == ["markers", "lines"]
        frames = [picture.view.arrays[f"{name}_{letter}"] for letter in "xy"]
        for frame, layout in enumerate(panel.layouts or [panel.layout]):
            for values, letter in zip(frames, "xy", strict=True):
                shown = values[frame] if panel.layouts else values
                numbers = layout[f"{letter}axis"]["tickvals"]
                assert 2 <= len(numbers) <= 3
                assert shown.min() < min(numbers) < max(numbers) < shown.max()
        assert panel.layout == (panel.layouts or [panel.layout])[-1]
