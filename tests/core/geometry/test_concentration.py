"""Concentration of curvature: its share on the most curved part against closed forms."""

import numpy as np
import pytest

from gating_core.geometry.classics import SURFACES, gnomonic_sphere
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import concentration, measure_surface

GRID = square_grid(61)


def test_on_a_sphere_every_part_has_its_own_share():
    found = measure_surface(gnomonic_sphere, GRID)
    for part in (0.01, 0.1, 0.2, 0.5):
        assert concentration(found, part)[0] == pytest.approx(part, rel=1e-6)


def test_a_plane_has_none():
    found = measure_surface(SURFACES["plane"].chart, GRID)
    assert concentration(found)[0] == 0


def test_the_share_is_that_of_sorting_by_hand():
    torus = measure_surface(SURFACES["torus"].chart, square_grid(31))
    line = np.ones(31)
    line[[0, -1]] = 0.5
    area = (torus.area_element[0] * np.outer(line, line)).ravel()
    size = np.abs(torus.gaussian[0]).ravel()
    order = np.argsort(size)[::-1]
    summed = np.cumsum(area[order]) / area.sum()
    shares = np.cumsum((size * area)[order]) / (size * area).sum()
    for part in (0.01, 0.2, 0.7):
        wanted = np.interp(part, [0, *summed], [0, *shares])
        assert concentration(torus, part)[0] == pytest.approx(wanted, abs=1e-9)
