"""Integrals converge as they should, and Gauss-Bonnet holds."""

import math

import numpy as np
import pytest
import torch

from gating_core.geometry.adaptive import adaptive_integrals
from gating_core.geometry.classics import SURFACES, gnomonic_sphere
from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import grid_integrals, loop_holonomy
from gating_core.jets.second_order import second_order_jet

NODES, WEIGHTS = (torch.from_numpy(x) for x in np.polynomial.legendre.leggauss(80))


def exact_integral(chart, density) -> float:
    """Gauss-Legendre with 80 x 80 nodes: exact to rounding for the smooth densities used here."""
    points = torch.cartesian_prod(NODES, NODES)
    field = curvature(second_order_jet(chart, points))
    values = density(field.gaussian) * field.area_element
    return float((values * torch.outer(WEIGHTS, WEIGHTS).flatten()).sum())


def bumpy(p):
    """A surface in R^3 with K of both signs, nothing special about its chart."""
    u, v = p.unbind(-1)
    return torch.stack(
        [u + 0.2 * v * v, v + 0.1 * torch.sin(3 * u), torch.sin(2 * u) * v + u * v], -1
    )


def geodesic_curvature(chart, start, end, nodes) -> tuple[float, torch.Tensor, torch.Tensor]:
    """The integral of k_g along the image of a straight chart segment, and its end directions.

    k_g |c'| = <c'', n x t>, with n the unit normal of the surface in R^3 and t = c' / |c'|.
    """
    start, end = (torch.tensor(x, dtype=torch.float64) for x in (start, end))
    direction = (end - start) / 2

    def along(t):
        jet = second_order_jet(chart, start + (t[:, None] + 1) * direction)
        velocity = jet.first @ direction
        bend = torch.einsum("nduv,u,v->nd", jet.second, direction, direction)
        normal = torch.linalg.cross(jet.first[..., 0], jet.first[..., 1])
        normal = normal / normal.norm(dim=-1, keepdim=True)
        tangent = velocity / velocity.norm(dim=-1, keepdim=True)
        side = torch.linalg.cross(normal, tangent)
        return (bend * side).sum(-1) / velocity.norm(dim=-1), tangent

    values, _ = along(nodes)
    _, ends = along(torch.tensor([-1.0, 1.0], dtype=torch.float64))
    return float((values * WEIGHTS).sum()), ends[0], ends[1]


@pytest.mark.parametrize("name", ["bumpy", "sphere by gating", "torus", "catenoid"])
def test_gauss_bonnet_on_a_patch(name):
    """Curvature inside, geodesic curvature round the rim, exterior angles: 2 pi in all."""
    chart = bumpy if name == "bumpy" else SURFACES[name].chart
    corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
    sides = [
        geodesic_curvature(chart, a, b, NODES)
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True)
    ]
    angles = [
        math.acos(max(-1.0, min(1.0, float(arriving @ leaving))))
        for (_, _, arriving), (_, leaving, _) in zip(sides, sides[1:] + sides[:1], strict=True)
    ]
    inside = exact_integral(chart, lambda k: k)
    assert abs(inside + sum(k for k, _, _ in sides) + sum(angles) - 2 * math.pi) < 1e-9


@pytest.mark.parametrize("name", ["area", "gaussian", "holonomy"])
def test_smooth_integrals_converge_with_the_square_of_the_step(name):
    density = (lambda k: torch.ones_like(k)) if name == "area" else (lambda k: k)
    exact = exact_integral(bumpy, density)
    errors = []
    for size in (21, 41, 81):
        grid = square_grid(size)
        found = grid_integrals(second_order_jet(bumpy, grid.points), grid.weights)
        value = getattr(found, name)
        errors.append(float(value.value) - exact)
        assert abs(errors[-1]) <= float(value.error)
    orders = np.log2(np.abs(errors[:-1]) / np.abs(errors[1:]))
    np.testing.assert_allclose(orders, 2, atol=0.15)


def test_holonomy_is_exact_on_the_sphere_whatever_the_grid():
    """Solid angle of a face of the cube: 2 pi / 3. Nothing is lost between the points."""
    for size in (3, 5, 21):
        grid = square_grid(size)
        found = grid_integrals(second_order_jet(gnomonic_sphere, grid.points), grid.weights)
        assert abs(float(found.holonomy.value) - 2 * math.pi / 3) < 1e-13


def test_holonomy_has_the_sign_of_the_curvature_and_no_gauge():
    """Turning the frames at will changes nothing."""
    points = torch.tensor([[0.0, 0.0], [0.4, 0.0], [0.4, 0.4], [0.0, 0.4]], dtype=torch.float64)

    def loop(chart, turns):
        first = torch.linalg.qr(second_order_jet(chart, points).first).Q
        flip = torch.sign(
            torch.linalg.qr(second_order_jet(chart, points).first).R.diagonal(dim1=-2, dim2=-1)
        )
        first = first * flip.unsqueeze(-2)
        c, s = torch.cos(turns), torch.sin(turns)
        spin = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
        return float(loop_holonomy(list(first @ spin)))

    zero = torch.zeros(4, dtype=torch.float64)
    spun = torch.tensor([0.3, -2.0, 1.1, 3.0], dtype=torch.float64)
    for name, sign in (("sphere by gating", 1), ("saddle", -1)):
        chart = SURFACES[name].chart
        assert loop(chart, zero) * sign > 0.05
        assert abs(loop(chart, zero) - loop(chart, spun)) < 1e-12
    assert abs(loop(SURFACES["warped plane"].chart, spun)) < 1e-12


@pytest.mark.parametrize("name", ["plane", "cone", "sphere by gating", "saddle", "torus"])
def test_adaptive_and_grid_agree_within_their_errors(name):
    chart = SURFACES[name].chart
    grid = square_grid(61)
    a = adaptive_integrals(chart, relative_tolerance=1e-3)
    b = grid_integrals(second_order_jet(chart, grid.points), grid.weights)
    for part in ("area", "gaussian", "absolute", "positive", "holonomy"):
        x, y = getattr(a, part), getattr(b, part)
        assert abs(float(x.value - y.value)) <= float(x.error + y.error) + 1e-12, part


def test_total_curvature_does_not_depend_on_scale_or_chart():
    """Unchanged by isotropic scaling and by reparametrising the same region."""
    chart = SURFACES["torus"].chart

    def elsewhere(p):
        u, v = p.unbind(-1)
        return 7 * chart(torch.stack([u + 0.3 * torch.sin(torch.pi * u) / torch.pi, v], -1))

    a = adaptive_integrals(chart, relative_tolerance=1e-3).absolute
    b = adaptive_integrals(elsewhere, relative_tolerance=1e-3).absolute
    assert abs(float(a.value - b.value)) <= float(a.error + b.error)


@pytest.mark.parametrize(("stretch", "total"), [(1, 2.09), (2, 3.71), (5, 5.17)])
def test_anisotropic_covariance_changes_the_total(stretch, total):
    """A paraboloid patch measured with one variance made smaller: the theory notes' figures."""

    def paraboloid(p):
        return torch.cat([p, (p * p).sum(-1, keepdim=True) / 2], -1)

    found = adaptive_integrals(paraboloid, covariance=[1.0, 1.0, stretch**-2.0]).absolute
    assert abs(float(found.value) - total) <= float(found.error) + 0.01


def test_several_surfaces_at_once_are_refused():
    with pytest.raises(ValueError, match="it must be one"):
        adaptive_integrals(lambda p: torch.stack([SURFACES["plane"].chart(p)] * 2))
