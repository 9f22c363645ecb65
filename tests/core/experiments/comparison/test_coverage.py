"""Coverage and breadth of a sheet: closed forms, and the values of the first examples."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.experiments.comparison.presets import PRESETS, load_preset, load_sweep
from gating_core.experiments.comparison.run import train_setting
from gating_core.experiments.comparison.setting import FIRST_SETTING, first_setting
from gating_core.experiments.comparison.sweep import (
    breadth,
    covered_area,
    covered_share,
    select_member,
    shows_surface,
    surface_visible,
)

# --- Coverage -------------------------------------------------------------------------------------

AXIS = np.linspace(-1, 1, 31)
GRID = np.stack(np.meshgrid(AXIS, AXIS), -1)
numbers = st.floats(-2, 2)


@given(a=numbers, b=numbers, c=numbers, d=numbers, fold=st.floats(-0.9, 0.9))
def test_an_affine_image_covers_its_determinant_and_a_fold_what_its_larger_side_does(
    a, b, c, d, fold
):
    matrix = np.array([[a, b], [c, d]])
    whole = abs(np.linalg.det(matrix))
    assert covered_area(GRID @ matrix) == pytest.approx(4 * whole, abs=1e-9)
    folded = np.stack([np.abs(GRID[..., 0] - AXIS[np.abs(AXIS - fold).argmin()]), GRID[..., 1]], -1)
    wide = np.ptp(folded[..., 0])
    assert covered_area(folded @ matrix) == pytest.approx(2 * wide * whole, rel=0.01, abs=1e-9)


def test_a_face_along_a_line_adds_nothing_and_what_is_not_finite_has_no_area():
    """Folded at x = 1; of 256 lines, the first lies at y = 0.5, along a row of faces."""
    x, y = np.meshgrid([0.0, 1.0, 0.0], [0.0, 0.5, 0.5, 256.0])
    assert covered_area(np.stack([x, y], -1)) == pytest.approx(256, rel=0.01)
    for number in (np.nan, np.inf):
        with np.errstate(invalid="ignore"):
            assert np.isnan(covered_area(np.stack([x, np.where(y == 256, number, y)], -1)))


@given(size=st.floats(0.01, 1), dim=st.integers(2, 6), seed=st.integers(0, 99))
def test_a_smaller_triangle_within_fills_its_square_whatever_the_space(size, dim, seed):
    """The square, pressed onto a triangle, then shrunk towards a corner, in any dimension."""
    corners = np.random.default_rng(seed).normal(size=(3, dim))
    u, v = (GRID + 1).transpose(2, 0, 1) / 2
    shares = np.stack([1 - u, u * (1 - v), u * v], -1)
    values = corners[0] + size * (shares @ corners - corners[0])
    assert covered_share(values, corners) == pytest.approx(size**2, rel=1e-6)


def test_a_line_has_nothing_to_fill():
    line = np.array([[0.0, 0, 0], [1, 1, 1], [2, 2, 2]])
    assert np.isnan(covered_share(np.zeros((31, 31, 3)), line))


# --- Breadth --------------------------------------------------------------------------------------

U, V = np.meshgrid(AXIS, AXIS)
CORNERS = np.array([[-1.0, -1, 0], [3, -1, 0], [-1, 3, 0]])  # twice the square


def rotation(seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]


@given(st.floats(0.001, 1), st.floats(0.01, 100), st.integers(0, 99))
def test_the_breadth_of_a_strip_is_its_width_by_its_length_wherever_it_lies(width, size, seed):
    strip = size * np.stack([U, width * V, 0 * U], -1) @ rotation(seed) + 3.0
    assert breadth(strip) == pytest.approx(width / (1 + width**2), rel=1e-6)


@given(st.floats(0.1, 6), st.integers(0, 99))
def test_a_curve_has_no_breadth_however_it_winds_and_however_often_it_is_walked(turns, seed):
    angle = turns * (U + V)
    helix = np.stack([np.cos(angle), np.sin(angle), 0.1 * angle], -1) @ rotation(seed)
    assert breadth(helix) < 0.01


def test_folds_count_once_and_a_point_has_no_breadth():
    folded = np.stack([np.abs(U), 2 * V, 0 * U], -1)
    assert breadth(folded) == pytest.approx(4 / 17, rel=0.02)
    assert breadth(np.ones((31, 31, 3))) == 0
    assert breadth(np.stack([U], -1)) == 0


@pytest.mark.parametrize(
    ("flat", "gated", "seen"),
    [
        ((1, 1), (1, 1), True),
        ((1, 1), (1, 0.02), False),  # the gate squeezes it
        ((1, 0.02), (1, 1), False),  # it was a string before
        ((0.1, 0.1), (1, 1), False),  # a speck in its triangle
        ((1, 0.1), (1, 0.1), True),
    ],
)
def test_a_surface_is_seen_where_both_sheets_are_broad_and_one_covers_its_triangle(
    flat, gated, seen
):
    sheets = [np.stack([a * U, b * V, 0 * U], -1) for a, b in (flat, gated)]
    assert surface_visible(*sheets, CORNERS) == seen
    assert not surface_visible(*sheets, CORNERS[[0, 1, 1]])  # no triangle at all


@pytest.mark.parametrize("task", PRESETS)
def test_what_is_shipped_shows_a_surface(task):
    run, found = load_preset(task), load_sweep(task)
    assert shows_surface(run, found.member)


def test_one_layer_is_trained_as_ever_and_several_are_asked_for_more():
    assert first_setting() == first_setting(1) == FIRST_SETTING
    assert (FIRST_SETTING.spread_bonus, FIRST_SETTING.every_layer) == (0, False)
    for depth in (2, 3, 4):
        deep = first_setting(depth)
        assert deep.depth == depth
        recipe = deep.recipe(512)
        assert recipe.every_layer
        assert recipe.spread_bonus == deep.spread_bonus > 0


def selected_of(depth, gate, task):
    """The run of 16 models that the first page trains there, and its selected member."""
    *_, run = train_setting(replace(first_setting(depth), task=task, variants=("ungated", gate)), 2)
    # The larger class has six tenths of the points at most.
    assert run.variants[gate].ensemble.test_accuracy[-1].mean() > 0.82
    return run, select_member(run)


@pytest.mark.soak  # trains 32 deep models
def test_a_deep_example_has_a_surface():
    """There are several members to select from, so that rounding decides nothing."""
    assert shows_surface(*selected_of(2, "sigmoid", "xor"))
