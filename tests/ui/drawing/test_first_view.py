"""What is seen of a surface from a direction, whatever hides it and however large it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.drawing.first_view import SADDLE_RISE, Place, best_eye, both_bends, seen_areas

AXIS = np.linspace(-1, 1, 31)
U, V = np.meshgrid(AXIS, AXIS)


def test_a_sheet_is_seen_from_where_it_is_broad():
    upright = np.stack([U, 0 * U, V], -1)  # its normal is along y
    azimuth, elevation = best_eye([upright])
    assert abs(np.sin(azimuth) * np.cos(elevation)) > 0.5  # within 60 degrees of it


def test_a_plane_is_moved_with_the_surface_that_it_cuts():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    place = Place(rng.normal(size=3), turn, 0.3)
    normal, offset, points = rng.normal(size=(5, 3)), rng.normal(size=5), rng.normal(size=(5, 9, 3))
    planes = place.planes(normal, offset)
    drawn = np.einsum("tpc,tc->tp", place.drawn(points), planes[:, :3]) + planes[:, 3:]
    margin = np.einsum("tpc,tc->tp", points, normal) + offset[:, None]
    steepness = np.linalg.norm(normal, axis=1)[:, None] / 0.3
    np.testing.assert_allclose(drawn * steepness, margin, atol=1e-12)


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


def test_a_saddle_is_seen_from_between_its_bends():
    """Those of x² − y² are along the axes: from above one of them it would look rolled."""
    azimuth, _ = best_eye([np.stack([U, V, (U**2 - V**2) / 2], -1)], crossing=True)
    assert abs(np.sin(2 * azimuth)) > 0.8


@given(st.integers(0, 99), st.floats(0.2, 0.99))  # at 1 both bends rise as much
def test_a_saddle_is_turned_until_its_rising_ends_stand_left_and_right(seed, falls):
    saddle = np.stack([U, V, (U**2 - falls * V**2) / 2], -1)
    turned = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    azimuth, elevation = eye = (0.4, 1.0)
    folded = saddle + np.maximum(abs(V) - 0.7, 0)[..., None] * [0, 0, 40]  # its bends are elsewhere
    turn, other = (
        turned @ both_bends(surface @ turned, eye, weights)
        for surface, weights in ((saddle, None), (folded, (abs(V) < 0.6).astype(float)))
    )
    back = np.array([np.cos(azimuth), np.sin(azimuth), 0]) * np.cos(elevation)
    back[2] = np.sin(elevation)
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0])
    assert np.linalg.det(turn) == pytest.approx(np.linalg.det(turned))  # no mirror image
    assert abs(turn[0] @ right) == pytest.approx(1)
    assert turn[2] @ back == pytest.approx(np.sin(SADDLE_RISE))
    assert turn[2] @ np.cross(back, right) == pytest.approx(np.cos(SADDLE_RISE))
    assert abs(other[2] @ back) == pytest.approx(np.sin(SADDLE_RISE))
    assert max(abs(other[:2] @ right)) == pytest.approx(1)
