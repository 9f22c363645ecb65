"""The camera stands where most is seen, and sees a plane as a line when asked to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.drawing.camera import ENOUGH, best_camera, seen_areas

AXIS = np.linspace(-1, 1, 31)
U, V = np.meshgrid(AXIS, AXIS)


def eye_of(camera):
    eye = np.array([camera["eye"][axis] for axis in "xyz"])
    return eye / np.linalg.norm(eye)


def test_a_sheet_is_seen_from_where_it_is_broad():
    sheet = np.stack([U, 0 * U, V], -1)  # normal along y
    assert abs(eye_of(best_camera([sheet]))[1]) > 0.9


def test_a_cap_is_seen_from_the_side_it_is_on():
    """A dome over a plain: its two parts are both seen from its own side only."""
    dome = np.stack([U, 2 * np.exp(-6 * (U**2 + V**2)), V], -1)
    parts = (U**2 + V**2 < 0.3).astype(int)
    assert eye_of(best_camera([dome], [parts]))[1] > 0


def test_a_loop_is_seen_as_one():
    """A cylinder looks alike from all around; a loop on top of it is open to those above."""
    around = np.stack([np.cos(np.pi * U), np.sin(np.pi * U), V], -1)
    turn = np.linspace(0, 2 * np.pi, 50)
    rim = np.stack([np.cos(turn), np.sin(turn), np.ones(50)], -1)
    assert abs(eye_of(best_camera([around], loops=[rim]))[2]) >= ENOUGH


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(0, 6.28), st.floats(-1.1, 1.1))
def test_what_is_hidden_does_not_count(a, b, turn, rise):
    """Pixels of all parts are those of the whole, and a part alone covers at least as many."""
    surface = np.stack([U, V, a * U * V + b * U**2], -1)
    parts = (U + 2 * V > 0.3).astype(int)
    eye = np.array([np.cos(rise) * np.cos(turn), np.cos(rise) * np.sin(turn), np.sin(rise)])
    found = seen_areas(surface, parts, eye[None])
    assert found.sum() == seen_areas(surface, 0 * parts, eye[None]).sum()


def test_of_two_sheets_the_nearer_hides_the_farther():
    both = np.concatenate([np.stack([U, 0 * U - 1, V], -1), np.stack([U, 0 * U + 1, V], -1)])
    parts = np.repeat([0, 1], 31)[:, None] * np.ones((1, 31), int)
    from_both_sides = seen_areas(both, parts, np.array([[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]))
    assert (from_both_sides > 0).tolist() == [[False, True], [True, False]]


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e150])
def test_what_is_seen_is_the_same_at_every_scale(scale):
    u, v = np.meshgrid(np.linspace(-1, 1, 31), np.linspace(-1, 1, 31))
    surface, parts = np.stack([u, v, u * u - v], -1), (u > 0).astype(int)
    eyes = np.array([[0.6, 0.0, 0.8], [0.0, 0.8, 0.6]])
    found = seen_areas(scale * surface, parts, eyes)
    assert (found > 0).all()
    np.testing.assert_array_equal(found, seen_areas(surface, parts, eyes))
