"""Integrals converge as they should, and Gauss-Bonnet holds."""

import math

import numpy as np
import pytest
import torch

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.geometry.adaptive import adaptive_integrals
from gating_core.geometry.classics import SURFACES, gnomonic_sphere
from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import grid_integrals, loop_holonomy
from gating_core.geometry.verdict import BENT
from gating_core.jets.second_order import second_order_jet
from gating_core.measurement import measure

NODES, WEIGHTS = (torch.from_numpy(x) for x in np.polynomial.legendre.leggauss(80))


def exact_integral(chart, density) -> float:
    """Gauss-Legendre with 80 x 80 nodes: exact to rounding for the smooth densities used here."""
    points = torch.cartesian_prod(NODES, NODES)
    field = curvature(second_order_jet(chart, points))
    values = density(field) * field.area_element
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
    inside = exact_integral(chart, lambda x: x.gaussian)
    assert abs(inside + sum(k for k, _, _ in sides) + sum(angles) - 2 * math.pi) < 1e-9


@pytest.mark.parametrize("name", ["area", "gaussian", "bending", "holonomy"])
def test_smooth_integrals_converge_with_the_square_of_the_step(name):
    exact = exact_integral(bumpy, lambda x: {"area": 1, "bending": x.bending}.get(name, x.gaussian))
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
    for part in ("area", "gaussian", "absolute", "positive", "bending", "holonomy"):
        x, y = getattr(a, part), getattr(b, part)
        assert abs(float(x.value - y.value)) <= float(x.error + y.error) + 1e-12, part


@pytest.mark.parametrize("width", [0.03, 0.05])
def test_a_developable_ridge_is_refined_for_its_bending_alone(width):
    """z = f(u): |II|^2 dA = f''^2 / (1 + f'^2)^(5/2) du dv, and K = 0 chooses no cells."""
    place, height = 0.31, 0.3 * width

    def ridge(p):
        bump = height * torch.exp(-(p[:, :1] - place).square() / (2 * width**2))
        return torch.cat([p, bump], -1)

    u = torch.linspace(-1, 1, 200_001, dtype=torch.float64)
    x = (u - place) / width
    bump = height * torch.exp(-x.square() / 2)
    slope, bend = -x * bump / width, (x.square() - 1) * bump / width**2
    exact = 2 * float(torch.trapezoid(bend.square() / (1 + slope.square()) ** 2.5, u))
    plain = adaptive_integrals(ridge).bending
    refined = adaptive_integrals(ridge, of="bending").bending
    for found in (plain, refined):
        assert abs(float(found.value) - exact) <= float(found.error)
    assert float(plain.error) > 0.1 * exact > 5 * float(refined.error)
    told = measure(ridge)  # at 60,000 points, which the narrower ridge does not end with
    assert told.word == BENT
    assert abs(float(told.bending.value) - exact) <= float(told.bending.error)
    assert float(told.bending.error) < 0.6 * float(plain.error)
    with pytest.raises(ValueError, match="of is 'area'; it must be one of"):
        adaptive_integrals(ridge, of="area")


def flat_torus(p, a=1.0, b=2.0):
    u, v = (torch.pi * p).unbind(-1)
    return torch.stack([a * u.cos(), a * u.sin(), b * v.cos(), b * v.sin()], -1)


@pytest.mark.parametrize(("chart", "bending"), [
    (gnomonic_sphere, 4 * math.pi / 3),  # a sixth of the sphere
    (SURFACES["cylinder"].chart, 4.0),  # 1 / r^2 over 2 r * 2 with r = 1
    (flat_torus, 4 * math.pi**2 * (2 + 1 / 2)),  # (1 / a^2 + 1 / b^2) over 4 pi^2 a b
    (lambda p: 5 * flat_torus(p[:, [1, 0]]), 4 * math.pi**2 * (2 + 1 / 2)),
    (SURFACES["warped plane"].chart, 0.0),
])  # fmt: skip
def test_total_bending_in_closed_form(chart, bending):
    assert abs(exact_integral(chart, lambda x: x.bending) - bending) < 1e-9 * (1 + bending)
    found = adaptive_integrals(chart, relative_tolerance=1e-3).bending
    assert abs(float(found.value) - bending) <= float(found.error)
    assert float(found.error) < 0.01 * bending + 1e-20


def test_total_curvature_and_bending_depend_on_neither_scale_nor_chart():
    """Unchanged by isotropic scaling and by reparametrising the same region."""
    chart = SURFACES["torus"].chart

    def elsewhere(p):
        u, v = p.unbind(-1)
        return 7 * chart(torch.stack([u + 0.3 * torch.sin(torch.pi * u) / torch.pi, v], -1))

    one, other = (adaptive_integrals(x, relative_tolerance=1e-3) for x in (chart, elsewhere))
    for a, b in ((one.absolute, other.absolute), (one.bending, other.bending)):
        assert abs(float(a.value - b.value)) <= float(a.error + b.error)


@pytest.mark.parametrize(("stretch", "total"), [(1, 2.09), (2, 3.71), (5, 5.17)])
def test_anisotropic_covariance_changes_the_total(stretch, total):
    """A paraboloid patch measured with one variance made smaller: the theory notes' figures."""

    def paraboloid(p):
        return torch.cat([p, (p * p).sum(-1, keepdim=True) / 2], -1)

    found = adaptive_integrals(paraboloid, covariance=[1.0, 1.0, stretch**-2.0]).absolute
    assert abs(float(found.value) - total) <= float(found.error) + 0.01


def graph(height):
    return lambda p: torch.cat([p, height(p[:, :1], p[:, 1:])], -1)


def wave(period, low, width):
    """1 - cos in a Gaussian window: value, slope and second derivative, in closed form."""
    w = 2 * math.pi / period

    def parts(x):
        a = torch.stack([1 - torch.cos(w * x), w * torch.sin(w * x), w * w * torch.cos(w * x)])
        if width is None:
            return a
        y = (x - low) / width
        g = torch.exp(-y.square())
        g1, g2 = -2 * y * g / width, (4 * y.square() - 2) * g / width**2
        return torch.stack([a[0] * g, a[1] * g + a[0] * g1, a[2] * g + 2 * a[1] * g1 + a[0] * g2])

    return parts


def dense_sums(across, along, height, count=2500) -> tuple[float, ...]:
    """Total |K|, area and bending of z = h A(u) B(v), in closed form at the middles of cells.

    The shape operator S is Hess f / size^1/2 with one index raised: |II|^2 = (tr S)^2 - 2 det S.
    """
    x = (torch.arange(count, dtype=torch.float64) + 0.5) / count * 2 - 1
    a, b = across(x), height * along(x)
    total = area = bending = 0.0
    for rows in b.split(250, 1):
        f_u, f_v = torch.outer(rows[0], a[1]), torch.outer(rows[1], a[0])
        f_uu, f_uv, f_vv = (torch.outer(rows[i], a[2 - i]) for i in range(3))
        hessian = f_uu * f_vv - f_uv.square()
        size = 1 + f_u.square() + f_v.square()
        trace = f_uu * (1 + f_v.square()) - 2 * f_uv * f_u * f_v + f_vv * (1 + f_u.square())
        total += float((hessian.abs() / size**1.5).sum())
        area += float(size.sqrt().sum())
        bending += float((trace.square() / size**2.5 - 2 * hessian / size**1.5).sum())
    return total * 4 / count**2, area * 4 / count**2, bending * 4 / count**2


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("period", "other", "height", "low", "width"), [
    (1 / 32, 1 / 32, 0.001, 0, None),
    (1 / 32, 1 / 32, 1e-5, 0.9, 0.2),
    (1 / 15, 1 / 15, 0.003, 0, None),
    (1 / 3, 1 / 5, 0.02, 0, None),
    (1 / 64, 1 / 24, 1e-4, 0, None),
    ((5**0.5 - 1) / 20, 2**0.5 / 30, 0.003, -0.9, 0.1),
    (1 / 12, 1e9, 0.01, 0, None),
])  # fmt: skip
def test_no_period_hides_from_the_cells(period, other, height, low, width):
    """Waves along one axis or both, on the whole chart or in a corner of it."""
    across, along = wave(period, low, width), wave(other, low, width)
    exact = dense_sums(across, along, height)
    found = adaptive_integrals(
        graph(lambda u, v: height * across(u)[0] * along(v)[0]), None, 0.01, "rigorous", 60_000
    )
    for sum_, integral in zip(exact, (found.absolute, found.area, found.bending), strict=True):
        assert abs(float(integral.value) - sum_) <= float(integral.error) + 1e-4 * sum_
    assert found.area.points <= 60_000
    assert bool(found.absolute.complete) == (float(found.absolute.error) < 0.02 * exact[0] + 1e-20)


def test_frequencies_that_double_are_seen():
    """Positional encodings through a tanh, against sums at as many random points as it takes."""
    random = torch.Generator().manual_seed(0)
    frequencies = 2.0 ** torch.arange(7, dtype=torch.float64) * torch.pi
    first, last = (
        torch.randn(n, d, generator=random).double() / n**0.5 for n, d in ((28, 32), (32, 3))
    )

    def encoded(p):
        angles = p[:, :, None] * frequencies
        return torch.tanh(torch.cat([angles.sin(), angles.cos()], -1).flatten(1) @ first) @ last

    field = curvature(
        second_order_jet(encoded, 2 * torch.rand(100_000, 2, generator=random).double() - 1)
    )
    total, area = (
        4 * float(x.mean()) for x in (field.gaussian.abs() * field.area_element, field.area_element)
    )
    found = adaptive_integrals(encoded, largest_sample=16_000)
    assert not found.absolute.complete
    assert abs(float(found.absolute.value) - total) <= float(found.absolute.error)
    assert abs(float(found.area.value) - area) <= float(found.area.error)
    assert 0.5 * total < float(found.absolute.value) < 2 * total


def peak(height, width, centre):
    return graph(
        lambda u, v: (
            height * torch.exp(-((u - centre[0]) ** 2 + (v - centre[1]) ** 2) / (2 * width**2))
        )
    )


def total_of_peak(height, width) -> float:
    """4 pi (1 - cos of the steepest slope's angle): the Gauss map covers a cap twice."""
    slope = height / width / math.sqrt(math.e)
    return 4 * math.pi * (1 - 1 / math.hypot(1, slope))


@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.soak)])
def test_random_peaks_are_within_their_errors(count):
    """Widths from .002 to .015, heights from .01 to 1, at random places; 1 % may be outside."""
    random, outside, finished = np.random.default_rng(7), 0, 0
    for _ in range(count):
        width, height = (
            np.exp(random.uniform(np.log(0.002), np.log(0.015))),
            random.choice([1.0, 0.3, 0.05, 0.01]),
        )
        chart = peak(height, width, random.uniform(-0.88, 0.88, 2))
        found = adaptive_integrals(chart, bound="rigorous", largest_sample=60_000).absolute
        gap = abs(float(found.value) - total_of_peak(height, width))
        outside += gap > float(found.error)
        finished += bool(found.complete)
    assert outside <= count // 100
    assert finished > 0.75 * count


@pytest.mark.parametrize("budget", [14_000, 20_000])
def test_where_the_points_run_out_the_error_says_so(budget):
    found = adaptive_integrals(peak(1.0, 0.004, (0.1, 0.2)), largest_sample=budget).absolute
    assert found.resolved
    assert not found.finished
    assert not found.complete
    assert found.points <= budget
    assert abs(float(found.value) - total_of_peak(1.0, 0.004)) <= float(found.error)
    enough = adaptive_integrals(peak(1.0, 0.004, (0.1, 0.2))).absolute
    assert enough.complete
    assert float(enough.error) < 0.02 * float(enough.value)


def test_a_peak_on_a_curved_surface_shows_in_its_tails():
    for place in np.random.default_rng(11).uniform(-0.8, 0.8, (3, 2)):
        narrow = peak(0.3, 0.004, place)

        def both(p, narrow=narrow):
            base = 0.3 * torch.sin(2 * p[:, :1]) * torch.cos(1.5 * p[:, 1:])
            return narrow(p) + torch.cat([0 * p, base], -1)

        total = adaptive_integrals(both, bound="rigorous", largest_sample=60_000).absolute
        assert (
            abs(float(total.value) - total_of_peak(0.3, 0.004) - 1.198) <= float(total.error) + 0.1
        )


@torch.no_grad()
def test_nets_and_attentions_are_within_their_errors():
    """Against Gauss-Legendre sums with 4 x 4 nodes on each of 60 x 60 cells."""
    few, weight = (torch.from_numpy(x) for x in np.polynomial.legendre.leggauss(4))
    middles = (torch.arange(60, dtype=torch.float64) + 0.5) / 30 - 1
    nodes, weights = (middles[:, None] + few / 60).flatten(), (weight / 60).repeat(60)
    outside = 0
    for seed in range(2):
        torch.manual_seed(seed)
        net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
        attention = build_attention(
            AttentionConfig(model_dim=4, value_count=6, gate=GateConfig()), (seed,)
        )
        for chart in (net.double(), attention):
            total = area = bending = 0.0
            for rows, weight in zip(nodes.split(40), weights.split(40), strict=True):
                points = torch.cartesian_prod(rows, nodes)
                field = curvature(second_order_jet(chart, points))
                parts = torch.outer(weight, weights).flatten() * field.area_element
                total += float((parts * field.gaussian.abs()).sum())
                area += float(parts.sum())
                bending += float((parts * field.bending).sum())
            found = adaptive_integrals(chart, bound="rigorous", largest_sample=60_000)
            for exact, integral in (
                (total, found.absolute), (area, found.area), (bending, found.bending)
            ):  # fmt: skip
                outside += abs(float(integral.value) - exact) > float(integral.error)
    assert outside == 0


def test_several_surfaces_at_once_are_refused():
    with pytest.raises(ValueError, match="it must be one"):
        adaptive_integrals(lambda p: torch.stack([SURFACES["plane"].chart(p)] * 2))
