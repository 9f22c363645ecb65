"""A boundary runs where the two likeliest classes are equal, and is drawn once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.drawing.lines import class_boundary

AXIS = np.linspace(-1, 1, 13)
SQUARE = np.stack(np.meshgrid(AXIS, AXIS), -1)
numbers = st.floats(-2, 2).map(lambda x: round(x, 2))


def planes(rows):
    """Logits that are linear in the chart, (13, 13, K), so that contours are exact."""
    a, b, c = np.array(rows).T
    return SQUARE[..., :1] * a + SQUARE[..., 1:] * b + c


def length(curve):
    return np.nansum(np.linalg.norm(np.diff(curve, axis=0), axis=1))


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=2, max_size=4, unique=True))
def test_at_every_point_the_two_likeliest_are_equal(rows):
    curve = class_boundary(planes(rows), AXIS)
    x, y = curve[~np.isnan(curve[:, 0])].T
    a, b, c = np.array(rows).T
    logits = np.sort(np.outer(x, a) + np.outer(y, b) + c, axis=1)
    assert (logits[:, -1] - logits[:, -2] <= 1e-9).all()


@given(st.tuples(numbers, numbers, numbers), st.tuples(numbers, numbers, numbers))
def test_a_class_that_is_nowhere_likely_changes_nothing(one, other):
    pair = class_boundary(planes([one, other]), AXIS)
    for rows in ([one, other, (0, 0, -50)], [(0, 0, -50), one, other]):
        np.testing.assert_allclose(class_boundary(planes(rows), AXIS), pair, atol=1e-12)


@pytest.mark.parametrize("turn", [0.3, 1.1, 2.0])
def test_three_sectors_have_three_boundaries_that_meet(turn):
    """Of three planes that fall away alike from one point, each boundary is half a line."""
    around = turn + np.arange(3) * 2 * np.pi / 3
    rows = np.stack([np.cos(around), np.sin(around), np.zeros(3)], 1)
    curve = class_boundary(planes(rows), AXIS)
    rays = around + np.pi / 3
    reach = [1 / max(abs(np.cos(ray)), abs(np.sin(ray))) for ray in rays]  # to the square's edge
    assert length(curve) == pytest.approx(sum(reach), abs=1e-9)
