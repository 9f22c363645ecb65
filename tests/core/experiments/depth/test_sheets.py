"""Scalar gates on a flat sheet: exact cases, and a second way to compute them."""

import numpy as np
import pytest
import torch

from gating_core.experiments.depth import (
    GROWS,
    MOST_CURVATURE,
    SATURATES,
    STRUCTURED_LIMIT,
    DepthRequest,
    cap_curvature,
    measure_regime,
)
from gating_core.experiments.depth.request import (
    MILD,
    STRONG,
    aligned_sheets,
    random_sheets,
)
from gating_core.geometry import curvature
from gating_core.jets import second_order_jet
from tests.core import exact

REQUEST = DepthRequest()  # 16 seeds, 16 layers
DEPTHS = np.arange(1, 17)


@pytest.fixture(scope="module")
def aligned():
    return measure_regime(REQUEST, "aligned")


@pytest.fixture(scope="module")
def strong():
    return measure_regime(REQUEST, "strong")


@pytest.fixture(scope="module")
def random():
    return measure_regime(REQUEST, "random")


# --- Aligned gates --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["aligned", "strong"])
def test_at_the_centre_k_is_four_l_squared_eps_squared(name, request):
    """Exactly: within the bound on rounding, which is small."""
    found = request.getfixturevalue(name)
    curve = found.curves["centre"]
    expected = 4 * DEPTHS**2 * found.eps[:, None] ** 2
    assert curve.known.all()
    assert (np.abs(curve.values - expected) <= curve.errors + 4e-16 * expected).all()
    assert (curve.errors < 1e-6 * expected).all()
    wrong = 4 * DEPTHS * found.eps[:, None] ** 2  # as random gates would have it
    assert (np.abs(curve.values - wrong)[:, 1:] > curve.errors[:, 1:]).all()


def sheet(eps: float, layers: int, current: bool = True):
    """The sheet number by number: gates read the current y, or, wrongly, always the first one."""

    def at(m, u, v):
        y = [u, v, 1]
        for _ in range(layers):
            a, b = (y[0], y[1]) if current else (u, v)
            gate = 1 - eps * (a * a + b * b)
            y = [x * gate for x in y]
        return y

    return at


@pytest.mark.parametrize("place", [(0.0, 0.0), (0.6, -0.9), (1.0, 1.0)])
def test_everywhere_it_is_what_two_hundred_digits_say(place):
    """And not what gates would make that read the first sheet instead of the current one."""
    layers = aligned_sheets((3,), 5, STRONG)
    eps = float(layers.eps)
    point = torch.tensor([place], dtype=torch.float64)
    field = curvature(second_order_jet(layers, point, "rigorous"))
    for depth in (1, 5):
        here = float(field.gaussian[depth - 1, 0, 0])
        error = float(field.gaussian_error[depth - 1, 0, 0])
        found = exact.geometry(exact.jet(sheet(eps, depth), *place))["gaussian"]
        assert abs(here - float(found)) <= error < 1e-9 * abs(here)
        other = exact.geometry(exact.jet(sheet(eps, depth, current=False), *place))["gaussian"]
        assert (abs(here - float(other)) > error) == (depth > 1 and place != (0.0, 0.0))


def test_exponents_are_two_and_one_on_sixteen_seeds(aligned):
    """While L eps max(u^2 + v^2) is small, which it is for all seeds and layers."""
    assert aligned.size.max() <= STRUCTURED_LIMIT
    for name, wanted, off in (("total", 2, 0.02), ("centre", 2, 1e-9), ("mean", 2, 0.02),
                              ("proxy", 1, 0.05)):  # fmt: skip
        curve = aligned.curves[name]
        assert curve.fitted.all()
        found = curve.exponent.over_seeds
        assert found.count == 16
        assert curve.exponent.depths == (1, 16)
        assert max(abs(found.low - wanted), abs(found.high - wanted)) <= off, name
        assert curve.course.word == GROWS


def test_the_total_is_that_of_an_ellipsoids_cap(aligned):
    """A layer is an Euler step, off by less than 4 eps (twice r^2 = 2) in a, and so 8 in a^2."""
    total = aligned.curves["total"]
    cap = cap_curvature(2 * DEPTHS * aligned.eps[:, None])
    assert (total.values + total.errors >= cap).all()
    assert (total.values - total.errors <= cap * (1 + 8 * aligned.eps[:, None])).all()
    assert (total.errors < 0.03 * cap).all()


def test_where_it_ends_is_half_a_sphere(strong):
    """Gates so strong stop adding: the total stays below 2 pi; no exponent is fitted there."""
    total = strong.curves["total"]
    assert total.course.word == SATURATES
    assert (total.values - total.errors < MOST_CURVATURE).all()
    assert (total.values[:, -1] > 0.6 * MOST_CURVATURE).all()
    assert strong.curves["centre"].course.word == GROWS  # K(0) alone goes on
    assert strong.size.min() > STRUCTURED_LIMIT
    assert total.exponent.depths is None


def test_a_cap_is_a_square_on_the_sphere():
    """The formula against the integral it stands for, and at both ends."""
    from scipy.integrate import dblquad

    for a in (0.01, 0.7, 5.0):
        value, _ = dblquad(lambda y, x: (1 + x * x + y * y) ** -1.5, -a, a, -a, a)
        assert cap_curvature(a) == pytest.approx(value, rel=1e-7)
    assert cap_curvature(1e-4) == pytest.approx(4e-8, rel=1e-7)
    assert cap_curvature(1e9) == pytest.approx(MOST_CURVATURE, rel=1e-8)


# --- Random gates ---------------------------------------------------------------------------------


def test_random_gates_give_one_and_a_half_within_their_intervals(random):
    for name, wanted, wrong in (("total", 1, 2), ("centre", 1, 2), ("mean", 1, 2),
                                ("proxy", 0.5, 1)):  # fmt: skip
        found = random.curves[name].exponent.over_seeds
        assert found.low <= wanted <= found.high, name
        assert found.high < wrong, name
        assert found.count == 16


def hessians(seeds: tuple[int, ...], depth: int) -> torch.Tensor:
    """(L, S, 3): the forms' coefficients, added up from the first layer on."""
    return random_sheets(seeds, depth, MILD).forms.cumsum(0)


def test_at_the_centre_their_hessians_add_up(random):
    """K(0) = eps^2 det of the summed Hessians [[2 a, b], [b, 2 c]]."""
    a, b, c = hessians(REQUEST.seeds, 16).unbind(-1)
    expected = (random.eps**2 * (4 * a * c - b * b).abs().numpy()).T
    curve = random.curves["centre"]
    assert (np.abs(curve.values - expected) <= curve.errors + 1e-14 * expected).all()


def test_forms_prefer_no_direction_and_have_mean_zero():
    """3,200 draws: five standard errors."""
    forms = random_sheets(tuple(range(200)), 16, MILD).forms.reshape(-1, 3)
    error = 5 / np.sqrt(len(forms))
    assert np.allclose(forms.mean(0), 0, atol=error * np.sqrt(2))
    covariance = np.cov(forms.T.numpy())
    assert np.allclose(covariance, np.diag([1, 2, 1]), atol=3 * error)


# --- Seeds ----------------------------------------------------------------------------------------
