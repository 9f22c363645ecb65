"""Curvature: closed forms, laws, and wrong inputs beside right ones."""

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from gating_core.geometry.classics import SURFACES, gnomonic_sphere
from gating_core.geometry.curvature import curvature, second_fundamental_form, whitening
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import total_absolute_curvature
from gating_core.jets.second_order import second_order_jet

GRID = square_grid(21)


def field_of(function, points=GRID.points, covariance=None):
    return curvature(second_order_jet(function, points), covariance)


@pytest.mark.parametrize("name", sorted(SURFACES))
def test_closed_forms(name):
    surface = SURFACES[name]
    field = field_of(surface.chart)
    exact = surface.gaussian(GRID.points)
    assert field.resolved.all()
    scale = exact.abs().max().clamp(min=1.0)
    assert ((field.gaussian - exact).abs() <= 1e-9 * scale).all()
    # The error estimate holds; closed forms are themselves rounded to 1e-15 of the scale.
    assert ((field.gaussian - exact).abs() <= field.gaussian_error + 1e-14 * scale).all()
    assert field.bound_kind == "estimate"


@pytest.mark.parametrize("name", ["plane", "warped plane"])
def test_flat_surfaces_neither_curve_nor_bend(name):
    field = field_of(SURFACES[name].chart)
    assert field.flat.all()
    assert field.mean_norm.max() < 1e-12
    assert not field.bends.any()


@pytest.mark.parametrize(("name", "bend"), [("cylinder", 0.5), ("cone", None)])
def test_developable_surfaces_bend_without_curving(name, bend):
    field = field_of(SURFACES[name].chart)
    assert field.flat.all()
    assert field.mean_norm.min() > 0.05
    assert field.bends.all()
    if bend:
        torch.testing.assert_close(field.mean_norm, torch.full_like(field.mean_norm, bend))


def test_mean_curvature_of_sphere_and_minimal_surfaces():
    sphere = field_of(gnomonic_sphere)
    torch.testing.assert_close(sphere.mean_norm, torch.full_like(sphere.mean_norm, 1 / 0.7))
    for name in ("catenoid", "helicoid", "graph of z^2 in C2"):
        assert field_of(SURFACES[name].chart).mean_norm.max() < 1e-13


def test_a_curved_surface_is_not_called_flat():
    assert not field_of(SURFACES["saddle"].chart).flat.any()
    barely = field_of(lambda p: torch.cat([p, 1e-5 * (p * p).sum(-1, keepdim=True)], -1))
    assert not barely.flat.any()


def random_surface(seed: int, dim: int):
    rng = torch.Generator().manual_seed(seed)
    a, b = (torch.randn(2, dim, generator=rng, dtype=torch.float64) for _ in range(2))
    c = torch.randn(dim, dim, generator=rng, dtype=torch.float64)
    return lambda p: torch.sin(p @ a) @ c + p @ b


def rotation(seed: int, dim: int) -> torch.Tensor:
    rng = torch.Generator().manual_seed(seed + 1)
    return torch.linalg.qr(torch.randn(dim, dim, generator=rng, dtype=torch.float64)).Q


seeds, dims = st.integers(0, 10**6), st.integers(3, 8)


def assert_same(a, b, factor=1.0):
    """Equal K and |II|^2 within both errors, those of ``b`` scaled by ``factor``."""
    both = a.resolved & b.resolved
    assert both.any()
    for name in ("gaussian", "bending"):
        gap = (getattr(a, name) - factor * getattr(b, name))[both].abs()
        error = getattr(a, f"{name}_error") + factor * getattr(b, f"{name}_error")
        assert (gap <= error[both]).all(), name


@given(seed=seeds, dim=dims)
def test_rigid_motions_change_neither(seed, dim):
    f, q = random_surface(seed, dim), rotation(seed, dim)
    assert_same(field_of(f), field_of(lambda p: f(p) @ q + 3))


@given(seed=seeds, dim=dims, scale=st.floats(0.01, 100))
def test_both_scale_by_the_inverse_square(seed, dim, scale):
    f = random_surface(seed, dim)
    assert_same(field_of(lambda p: scale * f(p)), field_of(f), scale**-2)


@given(seed=seeds, dim=dims)
def test_neither_depends_on_the_chart(seed, dim):
    f = random_surface(seed, dim)

    def warp(p):
        u, v = p.unbind(-1)
        return torch.stack([u + 0.3 * torch.sin(2 * v), v + 0.2 * u * u], -1)

    assert_same(field_of(lambda p: f(warp(p))), field_of(f, warp(GRID.points)))


@given(seed=seeds, dim=dims)
@example(seed=44761, dim=6)  # an entry is all but zero: its mirror differs by much of itself
def test_full_covariance_is_a_linear_map_of_the_output(seed, dim):
    f, q = random_surface(seed, dim), rotation(seed, dim)
    spread = torch.linspace(0.5, 2, dim, dtype=torch.float64)
    covariance = q @ torch.diag(spread) @ q.T
    whitened = field_of(lambda p: f(p) @ q @ torch.diag(spread**-0.5))
    assert_same(field_of(f, covariance=covariance), whitened)


def test_covariance_of_every_form_agrees():
    f = random_surface(1, 3)
    for covariance in (4.0, [4.0] * 3, torch.eye(3) * 4):
        assert_same(field_of(f, covariance=covariance), field_of(f), 4.0)


@pytest.mark.parametrize(
    "covariance",
    [0.0, -1.0, float("nan"), [1.0, 1.0], [1.0, -1.0, 1.0], torch.zeros(3, 3),
     [[1.0, 2.0, 0], [2.0, 1.0, 0], [0, 0, 1]], [[1.0, 0.5, 0], [0.0, 1.0, 0], [0, 0, 1]]],
)  # fmt: skip
def test_anything_else_is_no_covariance(covariance):
    with pytest.raises(ValueError, match="covariance"):
        whitening(covariance, 3)


def test_three_coordinates_are_refused():
    jet = second_order_jet(lambda p: p * p, torch.zeros(4, 3))
    with pytest.raises(ValueError, match="k = 3"):
        curvature(jet)


def test_a_collapsed_tangent_plane_is_unresolved_not_flat():
    line = field_of(lambda p: torch.cat([p[:, :1], p[:, :1] ** 2, 0 * p[:, :1]], -1))
    assert not line.resolved.any()

    def almost_a_line(p):
        u, v = p.unbind(-1)
        return torch.stack([u + v, (u + v) ** 2, 1e-15 * v], -1)

    nearly = field_of(almost_a_line)
    assert not nearly.resolved.any()

    # 1e-3: |K| has a kink on the torus; the reference rule itself is no better there.


def test_total_is_a_lower_estimate_where_points_are_unresolved():
    def pinched(p):
        u, v = p.unbind(-1)
        return torch.stack([u * u * u, u * u * v, u * u * (1 + v * v)], -1)  # collapses at u = 0

    total = total_absolute_curvature(field_of(pinched), GRID.weights)
    assert not total.complete


def test_weights_of_the_wrong_size_are_refused():
    field = field_of(SURFACES["plane"].chart)
    with pytest.raises(ValueError, match="441 weights"):
        total_absolute_curvature(field, torch.ones(20, 20))
    scattered = total_absolute_curvature(field, torch.ones(441))
    assert scattered.complete


@pytest.mark.parametrize("size", [3, 61, 151])
def test_trapezoid_weights_add_up_to_the_area(size):
    grid = square_grid(size)
    assert abs(float(grid.weights.sum()) - 4) < 1e-12
    assert grid.points.shape == (size * size, 2)
    assert grid.points[1, 0] > grid.points[0, 0]  # u runs along a row


@pytest.mark.parametrize("size", [0, 2, 60, 1003, 61.0, True])
def test_wrong_grids_are_refused(size):
    with pytest.raises(ValueError, match="size"):
        square_grid(size)


def test_curvature_is_unknown_where_a_value_is_not_a_number():
    def graph(p):
        u, v = p.unbind(-1)
        lost = torch.where(v < -0.9, torch.full_like(u, torch.nan), u * u + v * v)
        return torch.stack([u, v, lost], -1)

    points = square_grid(5).points
    for bound in ("estimate", "rigorous"):
        jet = second_order_jet(graph, points, bound)
        field, form = curvature(jet), second_fundamental_form(jet)
        lost = points[:, 1] < -0.9
        assert field.gaussian[lost].isnan().all()
        assert (field.gaussian_error[lost] == torch.inf).all()
        assert torch.equal(field.resolved, ~lost)
        assert form.second_form[lost].isnan().any(-1).any(-1).all()
        assert total_absolute_curvature(field, square_grid(5).weights).value.isfinite()
