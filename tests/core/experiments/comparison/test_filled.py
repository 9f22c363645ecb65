"""Is the part of its triangle that a sheet fills what closed forms say, folded or not?"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.experiments.comparison.coverage import covered_area, covered_shares
from gating_core.experiments.comparison.frames import ClassifierFrames

AXIS = np.linspace(-1, 1, 31)
GRID = np.stack(np.meshgrid(AXIS, AXIS), -1)
numbers = st.floats(-2, 2)


def frames_of(values: np.ndarray, averaged: np.ndarray | None) -> ClassifierFrames:
    nothing = np.zeros((1, 0, 0))
    return ClassifierFrames(values, nothing, nothing, nothing, nothing, averaged=averaged)


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


@given(size=st.floats(0.01, 1), dim=st.integers(2, 6), seed=st.integers(0, 99))
def test_a_smaller_triangle_within_fills_its_square_whatever_the_space(size, dim, seed):
    """The square, pressed onto a triangle, then shrunk towards a corner, in any dimension."""
    corners = np.random.default_rng(seed).normal(size=(3, dim))
    u, v = (GRID + 1).transpose(2, 0, 1) / 2
    shares = np.stack([1 - u, u * (1 - v), u * v], -1)
    values = corners[0] + size * (shares @ corners - corners[0])
    found = covered_shares(frames_of(values[None], corners[None]))
    assert found == pytest.approx([size**2], rel=1e-6)


def test_a_needle_has_nothing_to_fill_and_what_is_no_average_of_three_has_no_triangle():
    line = np.array([[[0.0, 0, 0], [1, 1, 1], [2, 2, 2]]])
    values = np.zeros((1, 31, 31, 3))
    frames = frames_of(values, line)
    assert np.isnan(covered_shares(frames)).all()
    assert covered_shares(replace(frames, averaged=None)) is None
    assert covered_shares(replace(frames, averaged=np.zeros((1, 4, 3)))) is None
