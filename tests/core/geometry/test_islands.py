"""An island needs a hill: closed forms, random surfaces, surfaces without K > 0, wrong inputs."""

import math

import pytest
import torch

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.curvature import second_fundamental_form
from gating_core.geometry.flatness import affine_space
from gating_core.geometry.grid import square_grid
from gating_core.geometry.islands import SHARE, islands
from gating_core.jets.second_order import second_order_jet

UP = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64)


def graph(height):
    """The graph of a function of u and v in three dimensions."""

    def surface(p):
        return torch.cat([p, height(*p.unbind(-1)).unsqueeze(-1)], -1)

    surface.pure = True
    return surface


def dome(u, v):
    return (4 - u * u - v * v).sqrt()


def rotated(ambient, seed=0):
    """Three orthonormal rows in R^``ambient``."""
    draw = torch.Generator().manual_seed(seed)
    return torch.linalg.qr(torch.randn(ambient, 3, generator=draw, dtype=torch.float64)).Q.mT


def planes(function, seed, count):
    """Planes below the tangent plane of random points, on the side to which the surface bends."""
    draw = torch.Generator().manual_seed(seed)
    at = torch.rand(count, 2, generator=draw, dtype=torch.float64) * 1.6 - 0.8
    jet = second_order_jet(function, at)
    value = jet.value.reshape(count, -1)
    mean = second_fundamental_form(jet).mean_vector.reshape(count, -1)
    size = value.std(0).norm()
    for y, bend in zip(value, mean, strict=True):
        if bend.norm() > 1e-9:
            normal = -bend / bend.norm()
            depth = 0.3 * size * torch.rand(1, generator=draw, dtype=torch.float64)
            yield normal, float(depth - normal @ y)


# --- Closed forms ---------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [1.75, 1.8, 1.95])
@pytest.mark.parametrize("scale", [1.0, 50.0])
@pytest.mark.parametrize("ambient", [3, 5])
def test_a_spherical_cap(level, scale, ambient):
    """Of a sphere of radius 2, at any size, in any space: R^2 = 4 H, and the sphere touches."""
    frame = scale * rotated(ambient)
    surface = graph(dome)
    offset = -float(scale**2 * level + 7 * frame[2].sum())
    (cap,) = islands(lambda p: surface(p) @ frame + 7, frame[2], offset)
    height, radius = 2 - level, 2 * math.sqrt(2 - level)
    assert (cap.height, cap.radius) == pytest.approx((scale * height, scale * radius), rel=1e-6)
    assert cap.radius_error < 1e-6 * cap.radius
    assert cap.reach == pytest.approx(cap.radius)
    assert cap.sphere_radius == pytest.approx(2 * scale / 0.99)
    assert cap.gaussian == pytest.approx(1 / (2 * scale) ** 2)
    assert cap.needed_gaussian == pytest.approx(0.99**2 * cap.gaussian)
    assert cap.mean == pytest.approx(1 / (2 * scale))
    assert cap.needed_mean == pytest.approx(0.99 * cap.mean)
    assert float(cap.positive.value) == pytest.approx(
        2 * math.pi * height / 2, abs=float(cap.positive.error)
    )
    assert float(cap.positive.error) < 1e-3 * float(cap.positive.value)
    assert cap.needed_total == pytest.approx(2 * math.pi * (1 - math.sqrt(1 - height / 4)))
    assert (cap.dimension, cap.proved, cap.immersed, cap.thin) == (3, ambient == 3, True, 0.0)


def test_a_paraboloid():
    """Over a disc of radius a: H = a^2, R^2 = a^2 + a^4, K = 4 at the top."""
    (hill,) = islands(graph(lambda u, v: -u * u - v * v), 3 * UP, 1.5)
    assert (hill.height, hill.radius) == pytest.approx((0.5, math.sqrt(0.75)))
    assert hill.gaussian == pytest.approx(4, abs=hill.gaussian_error)
    assert hill.sphere_radius == pytest.approx(0.75 / (2 * 0.99 * 0.5))
    total = 2 * math.pi * (1 - 1 / math.sqrt(1 + 4 * 0.5))
    assert float(hill.positive.value) == pytest.approx(total, abs=float(hill.positive.error))
    assert hill.boundary.norm(dim=1).tolist() == pytest.approx(
        [math.sqrt(0.5)] * len(hill.boundary)
    )


def test_a_rounded_cone_needs_all_of_its_curvature():
    """The total of a cone's tip is what the theorem asks for, and no larger bound would hold."""
    (tip,) = islands(graph(lambda u, v: -(u * u + v * v + 9e-4).sqrt()), UP, 0.7)
    steep = math.sqrt(1 - 9e-4 / 0.49)  # sine of the slope at the boundary, times sqrt(2)
    exact = 2 * math.pi * (1 - 1 / math.sqrt(1 + steep**2))
    assert float(tip.positive.value) == pytest.approx(exact, abs=float(tip.positive.error))
    assert 0.93 * exact < tip.needed_total < exact


def test_two_tops_are_two_islands_and_a_hole_is_one_of_the_other_side():
    surface = graph(lambda u, v: -((u * u - 0.25) ** 2) - v * v)
    assert [island.height for island in islands(surface, UP, 0.03)] == pytest.approx([0.03, 0.03])
    (joined,) = islands(surface, UP, 0.1)
    assert joined.height == pytest.approx(0.1)
    assert not islands(surface, -UP, -0.1)
    assert len(islands(surface, UP, 0.1)) == len(islands(lambda p: -surface(p), -UP, 0.1))


# --- The theorem ----------------------------------------------------------------------------------


def cosines(seed):
    draw = torch.Generator().manual_seed(seed)
    slopes, phases, vectors = (
        torch.randn(*shape, generator=draw, dtype=torch.float64) for shape in ((2, 6), (6,), (6, 3))
    )

    def surface(p):
        return torch.cos(2 * p @ slopes + phases) @ vectors

    surface.pure = True
    return surface


def gated(seed):
    dim, granularity = ((3, "elementwise"), (8, "headwise"))[seed % 2]
    gate = GateConfig(granularity=granularity)
    model = build_attention(AttentionConfig(model_dim=dim, gate=gate), (seed,))
    model.input_map.mul_(4)
    return model


@pytest.mark.parametrize(("draw", "count"), [
    (cosines, 60), (gated, 100),
    *(pytest.param(draw, 1000, marks=pytest.mark.soak) for draw in (cosines, gated)),
])  # fmt: skip
def test_every_island_in_three_dimensions_has_the_curvature_it_needs(draw, count):
    """At most as much is needed as is measured, at the touching point and in all."""
    found = whole = 0
    for seed in range(count):
        surface = draw(seed)
        for normal, offset in planes(surface, seed, 3 if draw is cosines else 5):
            for island in islands(surface, normal, offset):
                assert (island.dimension, island.proved, island.immersed) == (3, True, True)
                far = (island.radius + island.radius_error) ** 2 / (2 * SHARE * island.height)
                assert island.sphere_radius <= math.hypot(island.reach, far)
                assert island.gaussian + island.gaussian_error >= island.needed_gaussian
                assert island.mean + island.mean_error >= island.needed_mean
                assert island.positive.value + island.positive.error >= (island.needed_total or 0)
                found += 1
                whole += island.needed_total is not None
    assert found >= count // 25
    assert whole > found / 2


@pytest.mark.parametrize(
    "name", ["saddle", "catenoid", "helicoid", "pseudosphere", "cylinder", "cone", "warped plane"]
)
def test_no_plane_cuts_an_island_out_of_a_surface_without_positive_curvature(name):
    surface = SURFACES[name].chart
    draw = torch.Generator().manual_seed(1)
    normals = torch.randn(30, 3, generator=draw, dtype=torch.float64)
    values = surface(torch.rand(30, 2, generator=draw, dtype=torch.float64) * 2 - 1)
    offsets = (-(normals * values).sum(1)).tolist()  # each through a point of the surface
    cuts = [*zip(normals, offsets, strict=True), *planes(surface, 2, 20)]
    assert not any(islands(surface, sign * n, sign * b) for n, b in cuts for sign in (1, -1))


def test_a_flat_torus_has_an_island_and_only_bends():
    """cos u, sin u, cos v, sin v: K = 0, |H| = 1 / sqrt(2), and h = y_1 + y_3 - 1 closes."""
    surface = lambda p: torch.stack([(3 * p).cos(), (3 * p).sin()], -1).flatten(-2)  # noqa: E731
    (island,) = islands(surface, [1.0, 0.0, 1.0, 0.0], -1.0)
    assert island.height == pytest.approx(1 / math.sqrt(2))
    assert island.dimension == 4
    assert (island.needed_gaussian, island.needed_total) == (None, None)
    assert abs(island.gaussian) <= island.gaussian_error < 1e-9
    assert float(island.positive.value) <= float(island.positive.error) < 1e-9
    assert island.mean == pytest.approx(1 / math.sqrt(2))
    assert 0.69 < island.needed_mean <= island.mean


# --- Folds, and what is no island -----------------------------------------------------------------


@pytest.mark.parametrize("ambient", [2, 3])
def test_the_top_of_a_fold_proves_nothing(ambient):
    """(-u^2, -v^2) lies in a plane: K = 0 wherever there is a tangent plane."""
    frame = rotated(3)[:2] if ambient == 3 else torch.eye(2, dtype=torch.float64)
    (fold,) = islands(lambda p: -p.square() @ frame, frame.sum(0), 0.5)
    assert (fold.dimension, fold.proved, fold.immersed) == (ambient, True, False)
    assert fold.thin > 0
    assert (fold.needed_gaussian, fold.needed_mean, fold.needed_total) == (None, None, None)


def skirted(p):
    """A dome above a steep skirt, joined along a circle on which the map has rank one."""
    w = p.square().sum(-1, keepdim=True)
    beyond = 16 * (w - 0.25) ** 3  # of the squared radius, past 1/4
    depth = 0.8 * (0.25 + beyond.clamp_max(0)) + 10 / 3 * beyond.clamp_min(0)
    return torch.cat([p * (3 - 12 * w + 16 * w * w).sqrt(), -depth], -1)


def test_a_fold_within_an_island_takes_from_its_total_and_not_from_its_top():
    """Normals of the fold cover what K does not: the bound on the total does not hold."""
    skirted.pure = True
    (island,) = islands(skirted, UP, 1.0)
    assert island.immersed
    assert island.thin > 0
    assert island.gaussian > island.needed_gaussian
    assert island.needed_total is None
    bound = 2 * math.pi * (1 - math.sqrt(1 - (island.height / island.radius) ** 2))
    assert island.positive.value + island.positive.error < 0.75 * bound


HILL = graph(lambda u, v: -u * u - v * v)
# A ridge narrower than the step of the first grid, halfway between two of its lines.
BRIDGE = graph(lambda u, v: 0.3 - u * u - v * v + 1.5 * torch.exp(-(((v - 1 / 60) / 0.004) ** 2)))


@pytest.mark.parametrize(
    ("surface", "offset"),
    [
        (HILL, -0.5),  # the plane misses the surface
        (HILL, 0.0),  # it touches the top
        (HILL, 1.0),  # the loop touches the border of the chart
        (HILL, 1.2),  # it is cut by the border
        (HILL, 3.0),  # everything is above the plane
        (graph(lambda u, v: u * u + v * v), -0.5),  # a hole: the part above reaches the border
        (graph(lambda u, v: 0 * u), 0.0),  # the plane is the surface
        (graph(lambda u, v: 0 * u), 1.0),  # it is parallel to it
        (BRIDGE, 0.0),  # a bridge to the border
    ],
)
def test_what_is_no_island(surface, offset):
    assert islands(surface, UP, offset) == ()


@pytest.mark.parametrize(
    ("surface", "normal", "offset", "why"),
    [
        (HILL, [0.0, 1.0], 0.0, "normal has shape"),
        (HILL, [0.0, 0.0, 0.0], 0.0, "not all 0"),
        (HILL, [0.0, 0.0, math.nan], 0.0, "finite"),
        (HILL, UP, math.nan, "offset"),
        (HILL, UP, math.inf, "offset"),
        (lambda p: torch.stack([HILL(p), HILL(p)]), UP, 0.0, "2 surfaces"),
        (graph(lambda u, v: u.sqrt()), UP, 0.0, "NaN or infinite"),
    ],
)
def test_what_cannot_be_searched(surface, normal, offset, why):
    with pytest.raises(ValueError, match=why):
        islands(surface, normal, offset)


# --- The affine hull ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "dimension", "proved"),
    [
        ({"gate": GateConfig(granularity="headwise")}, 3, True),
        ({"gate": GateConfig(granularity="headwise", position="G5")}, 3, True),
        ({"gate": GateConfig(granularity="headwise"), "output_projection": True}, 3, True),
        ({"sink": "learned"}, 3, True),
        ({"gate": GateConfig(granularity="headwise"), "sink": "learned"}, 3, True),
        ({"source": "unnormalised"}, 3, True),
        ({}, 2, True),
        ({"value_count": 2, "gate": GateConfig(granularity="headwise")}, 2, True),
        ({"value_count": 4, "gate": GateConfig(granularity="headwise")}, 4, False),
        ({"gate": GateConfig()}, 8, False),
        ({"gate": GateConfig("additive")}, 8, False),
        ({"gate": GateConfig(granularity="headwise"), "residual": True}, 5, False),
        ({"gate": GateConfig(granularity="headwise"), "norm": "post"}, 3, False),
        ({"gate": GateConfig(granularity="headwise"), "heads": 2}, 6, False),
        ({"gate": GateConfig(granularity="headwise", strength=0.0)}, 2, True),
    ],
)
def test_three_dimensions_are_proved_for_fixed_values_under_one_gate_per_head(
    config, dimension, proved
):
    model = build_attention(AttentionConfig(model_dim=8, **config), (5,))
    space = affine_space(model, model(square_grid(9).points)[0])
    assert (space.dimension, space.proved) == (dimension, proved)
    # In orthonormal coordinates of that space the surface is the same.
    values = model(square_grid(7).points)[0]
    if space.basis is not None:
        centred = values - values.mean(0)
        assert torch.dist(centred @ space.basis.mT @ space.basis, centred) < 1e-12
