"""The closed form of softmax averages against jets, 50-digit differences and a second formula."""

import mpmath
import pytest
import torch

from gating_core.geometry.adaptive import adaptive_integrals
from gating_core.geometry.averages import SoftmaxAverage
from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import square_grid
from gating_core.jets.second_order import second_order_jet

POINTS = torch.tensor([[0.3, -0.7], [-0.9, 0.2], [0.0, 0.0], [0.95, 0.9]], dtype=torch.float64)


def average(count, steepness=1.0, seed=0, dim=8):
    draw = torch.Generator().manual_seed(seed)
    slopes, offsets, vectors = (
        torch.randn(*shape, generator=draw, dtype=torch.float64)
        for shape in ((2, count), (count,), (count, dim))
    )
    return SoftmaxAverage(steepness * slopes, offsets, vectors)


@pytest.mark.parametrize("count", [4, 5, 8])
@pytest.mark.parametrize("dim", [3, 4, 8])
def test_the_density_is_that_of_jets(count, dim):
    surface = average(count, seed=count, dim=dim)
    field = curvature(second_order_jet(surface, POINTS, "rigorous"))
    expected = (field.gaussian * field.area_element).flatten()
    assert surface.curvature_density(POINTS).tolist() == pytest.approx(expected.tolist(), rel=1e-8)


def exact_density(surface, point):
    """K sqrt(det g) from differences with 60 digits."""
    slopes, offsets, vectors = (
        mpmath.matrix(x.tolist()) for x in (surface.slopes, surface.offsets, surface.vectors)
    )
    count, dim = vectors.rows, vectors.cols
    step = mpmath.mpf(10) ** -20

    def at(a, b):
        u, v = point[0] + a * step, point[1] + b * step
        terms = [mpmath.exp(u * slopes[0, i] + v * slopes[1, i] + offsets[i]) for i in range(count)]
        return [
            sum(t * vectors[i, k] for i, t in enumerate(terms)) / sum(terms) for k in range(dim)
        ]

    grid = {(a, b): at(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)}

    def combined(weights, order):
        return [
            sum(w * grid[place][k] for place, w in weights.items()) / step**order
            for k in range(dim)
        ]

    half, quarter = mpmath.mpf(1) / 2, mpmath.mpf(1) / 4
    u = combined({(1, 0): half, (-1, 0): -half}, 1)
    v = combined({(0, 1): half, (0, -1): -half}, 1)
    uu = combined({(1, 0): 1, (0, 0): -2, (-1, 0): 1}, 2)
    vv = combined({(0, 1): 1, (0, 0): -2, (0, -1): 1}, 2)
    uv = combined({(1, 1): quarter, (-1, -1): quarter, (1, -1): -quarter, (-1, 1): -quarter}, 2)

    def gram(*rows):
        return [[mpmath.fdot(a, b) for b in rows] for a in rows]

    def bordered(a, b):
        """det of the inner products of (u, v, a) with (u, v, b)."""
        return mpmath.det(
            mpmath.matrix([[mpmath.fdot(x, y) for y in (u, v, b)] for x in (u, v, a)])
        )

    area = mpmath.det(mpmath.matrix(gram(u, v)))
    return (bordered(uu, vv) - bordered(uv, uv)) / area ** (mpmath.mpf(3) / 2)


@pytest.mark.parametrize("count", [4, 8])
def test_a_saturated_softmax_loses_no_digits(count):
    """Where jets in float64 resolve no tangent plane."""
    surface, points = average(count, steepness=60.0, seed=count), square_grid(17).points
    resolved = curvature(second_order_jet(surface, points, "rigorous")).resolved.flatten()
    lost = points[~resolved][:4]
    assert len(lost) == 4
    with mpmath.workdps(100):
        expected = [float(exact_density(surface, point)) for point in lost.tolist()]
    assert surface.curvature_density(lost).tolist() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("count", [4, 6])
def test_totals_are_those_of_adaptive_cells(count):
    surface = average(count, steepness=1.5, seed=2)
    total = surface.total_absolute_curvature()
    other = adaptive_integrals(surface, None, 1e-3).absolute
    assert bool(other.complete)
    assert float(total.value) == pytest.approx(
        float(other.value), abs=float(total.error + other.error)
    )
    assert float(total.error) <= 1e-3 * float(total.value)


def test_with_four_vectors_the_total_is_the_solid_angle_of_a_second_surface():
    """The normal is along m = Σ exp(−lᵢ) dᵢ nᵢ over the four faces, and K has one sign."""
    surface = average(4, steepness=2.0, seed=3, dim=3)
    offsets, slopes, v = surface.offsets, surface.slopes, surface.vectors
    ones = torch.cat([torch.ones(1, 4, dtype=torch.float64), slopes])
    faces = [[j for j in range(4) if j != i] for i in range(4)]
    signs = torch.stack([torch.linalg.det(ones[:, face]) for face in faces])
    normals = torch.stack([torch.linalg.cross(v[b] - v[a], v[c] - v[a]) for a, b, c in faces])
    terms = (-(POINTS @ slopes + offsets)).exp() * signs
    m, mu, mv = terms @ normals, -(terms * slopes[0]) @ normals, -(terms * slopes[1]) @ normals
    angle = torch.linalg.det(torch.stack([m, mu, mv], 1)) / torch.linalg.vector_norm(m, dim=1) ** 3
    density = surface.curvature_density(POINTS)
    assert density.abs().tolist() == pytest.approx(angle.abs().tolist(), rel=1e-9)
    assert len(set(density.sign().tolist())) == 1
