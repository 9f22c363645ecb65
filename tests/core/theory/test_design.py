"""Designed gates: they make the shape; how near a sigmoid comes, and a network that learns."""

from functools import cache

import mpmath
import numpy as np
import pytest
import torch

from gating_core.geometry.grid import square_grid
from gating_core.theory.curvature_formula import sheet
from gating_core.theory.design import (
    SHAPES,
    DesignedGate,
    GateNetwork,
    design,
    first_network,
    fit_gate,
)
from gating_core.theory.measure import measure_any_gate

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
    reached = designed(name, found.reachable.size)
    assert reached.highest == pytest.approx(0.75, rel=1e-14) or reached.gate == found.gate
    curvier = reached.image.surface.gaussian * reached.gate.size**2
    np.testing.assert_allclose(curvier, found.image.surface.gaussian, rtol=1e-9, atol=1e-9)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "largest"), [("sphere", 2e-3), ("saddle", 1e-2)])
def test_a_small_network_learns_the_gate(name, largest):
    gate = designed(name, 1.0).reachable
    shares = []
    first, last = fit_gate(gate, 1, steps=10), fit_gate(gate, 1, progress=shares.append)
    assert shares == [done / 300 for done in range(10, 301, 10)]
    assert first.mean_error > 3 * last.mean_error
    assert last.mean_error < last.largest_error < largest
    points = square_grid(31).points
    gap = (last.network(points) - gate(points)).abs()
    assert float(gap.max()) == pytest.approx(last.largest_error, rel=1e-12)
    assert float(gap.mean()) == pytest.approx(last.mean_error, rel=1e-12)
    surface = measure_any_gate(last.network, GRID).surface
    assert surface.bound_kind == "rigorous"
    assert (abs(surface.sign) == 1).mean() > 0.9


def test_a_fit_is_the_same_each_time_and_depends_on_its_seed():
    gate = DesignedGate("ellipsoid", 0.5)
    first, again, other = (fit_gate(gate, seed, 6, 25) for seed in (1, 1, 2))
    assert torch.equal(first.network.inner, again.network.inner)
    assert not torch.equal(first.network.inner, other.network.inner)


def test_the_slopes_are_the_derivatives():
    network, points = first_network(0, 5), GRID.points[:7]
    parts = (network.inner, network.outer, network.offset)
    jacobian = torch.autograd.functional.jacobian(
        lambda *weights: GateNetwork(*weights)(points)[:, 0], parts
    )
    flat = torch.cat([part.flatten(1) for part in jacobian], -1)
    torch.testing.assert_close(network.slopes(points), flat, rtol=1e-13, atol=1e-15)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="shape is 'cube'"):
        DesignedGate("cube")
    with pytest.raises(ValueError, match="shape is 'cube'"):
        design("cube", 1.0, GRID)
    with pytest.raises(ValueError, match="size is 0"):
        DesignedGate("sphere", 0)
    with pytest.raises(ValueError, match=r"values from 0\.866\S* to 1\.5; a sigmoid reaches"):
        fit_gate(DesignedGate("sphere", 1.5))
    with pytest.raises(ValueError, match="units is 0"):
        fit_gate(DesignedGate("sphere", 0.5), units=0)
    with pytest.raises(ValueError, match="steps is 0"):
        fit_gate(DesignedGate("sphere", 0.5), steps=0)
