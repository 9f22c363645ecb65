"""Curves, planes and lines of a drawn surface lie where the numbers say."""

import itertools

import numpy as np
import pytest
import torch

from tests.pairs import small_pair
from ui.drawing.first_view import segments_on
from ui.drawing.lines import (
    barycentric,
    grid_lines,
    lifted,
    plane_lines,
    segments,
    zero_curve,
)

AXIS = np.linspace(-1, 1, 21)


@pytest.fixture(scope="module")
def pair():
    return small_pair()


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


def test_a_line_that_is_straight_on_a_folded_sheet_is_one_segment():
    """It has the points of all cells that the line crosses, and no others."""
    u, v = np.meshgrid(AXIS, AXIS)
    shares = np.stack([u * u - 0.4 * v, v * v + 0.3 * u * v], -1)  # covers parts four times
    sheet = shares @ np.random.default_rng(0).normal(size=(2, 3)) + 1
    chart = plane_lines(sheet, AXIS)
    cells, joined = segments(lifted(chart, AXIS, sheet[None])[0]), segments_on(chart, AXIS, sheet)
    assert len(joined) == np.isnan(chart[:, 0]).sum() < len(cells) / 10
    assert {*map(tuple, joined.reshape(-1, 3))} < {*map(tuple, cells.reshape(-1, 3))}
    starts, ways = joined[:, 0], joined[:, 1] - joined[:, 0]
    along = np.einsum("nsd,sd->ns", cells.reshape(-1, 1, 3) - starts, ways) / (ways**2).sum(-1)
    nearest = starts + along.clip(0, 1)[..., None] * ways
    apart = np.linalg.norm(cells.reshape(-1, 1, 3) - nearest, axis=-1).min(1)
    np.testing.assert_allclose(apart, 0, atol=1e-9)


def test_barycentric_shares_add_up_to_one_and_rebuild_the_point():
    rng = np.random.default_rng(3)
    corners, shares = rng.normal(size=(3, 4)), rng.dirichlet(np.ones(3), 20)
    np.testing.assert_allclose(barycentric(shares @ corners, corners), shares, atol=1e-12)


def test_grid_lines_are_rows_and_columns_of_the_surface():
    values = torch.rand(2, 13, 13, 3).numpy()
    lines = grid_lines(values)
    assert lines.shape == (2, 6 * 14, 3)
    np.testing.assert_array_equal(lines[:, :13], values[:, 0])
    assert np.isnan(lines[:, 13]).all()
    np.testing.assert_array_equal(lines[:, -14:-1], values[:, :, 12])
