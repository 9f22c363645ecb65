"""Designed gates: they make the shape; how near a sigmoid comes."""

from functools import cache

import mpmath
import numpy as np
import pytest

from gating_core.geometry.grid import square_grid
from gating_core.theory.curvature_formula import sheet
from gating_core.theory.gallery import SHAPES, DesignedGate
from gating_core.theory.measure import design

GRID = square_grid(15)
designed = cache(lambda name, size: design(name, size, GRID))  # takes up to a second
ALL_SHAPES = [
    pytest.param(name, marks=pytest.mark.soak) if name == "rounded cube" else name
    for name in SHAPES
]  # of which one takes long
AGREEMENT = 1e-12  # of numbers of size one that are computed in two ways


def on_shape(name, size, values):
    """How far points (..., 3) are from the shape's own equation, which knows no direction."""
    x, y, z = np.moveaxis(values / size, -1, 0)
    length = np.sqrt(x * x + y * y + z * z)
    return {
        "sphere": length - 1,
        "ellipsoid": x**2 / 1.25**2 + y**2 / 0.75**2 + z**2 - 1,
        "bumpy sphere": length - 1 - 0.12 * np.cos(4 * x / length) * np.cos(4 * y / length),
        "rounded cube": (x**4 + y**4 + z**4) - 1,
        "saddle": x**2 - y**2 + 2.5 * z**2 - z,
    }[name]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ALL_SHAPES)
@pytest.mark.parametrize("size", [0.4, 1.0])
def test_the_image_lies_on_the_shape(name, size):
    found = designed(name, size)
    for surface in (found.image.surface, found.target):
        assert np.abs(on_shape(name, size, surface.values[0])).max() < AGREEMENT
        assert surface.bound_kind == "rigorous"
    assert np.abs(found.image.surface.values - found.target.values).max() < AGREEMENT
    assert found.agrees
    flat = sheet(GRID.points).reshape(15, 15, 3).numpy()
    np.testing.assert_allclose(
        found.image.surface.values[0], flat * found.values[..., None], rtol=1e-14
    )


@pytest.mark.soak
def test_curvature_of_a_shape_is_that_of_its_equation():
    """The rounded cube x^4 + y^4 + z^4 = 1, by Goldman's formula at 60 digits."""
    found = designed("rounded cube", 1.0).image.surface
    with mpmath.workdps(60):
        for at in ((0, 3), (7, 7), (14, 2)):
            x = [mpmath.mpf(c) for c in found.values[0][at].tolist()]
            gradient = [4 * c**3 for c in x]
            h = [12 * c**2 for c in x]
            adjugate = [h[1] * h[2], h[0] * h[2], h[0] * h[1]]
            above = sum(g * g * a for g, a in zip(gradient, adjugate, strict=True))
            true = above / sum(g * g for g in gradient) ** 2
            gap = abs(found.gaussian[0][at] - float(true))
            assert gap <= found.gaussian_error[0][at] + 1e-12


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ALL_SHAPES)
def test_whether_a_sigmoid_reaches_it_is_a_question_of_size(name):
    found = designed(name, 1.0)
    assert found.sigmoid_reaches == (found.highest < 1)
    assert found.lowest > 0
    small, large = (designed(name, f * found.size_limit) for f in (0.99, 1.01))
    assert small.sigmoid_reaches
    assert not large.sigmoid_reaches


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="shape is 'cube'"):
        DesignedGate("cube")
    with pytest.raises(ValueError, match="shape is 'cube'"):
        design("cube", 1.0, GRID)
    with pytest.raises(ValueError, match="size is 0"):
        DesignedGate("sphere", 0)
