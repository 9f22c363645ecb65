"""Taylor models hold all values on a cell, and what they lose falls with its width."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.jets.bounded import Bounded
from gating_core.jets.elementary import join, sigmoids, where
from gating_core.jets.jet import filled
from gating_core.jets.polynomials import monomials
from gating_core.jets.second_order import second_order_jet, taylor_jet
from gating_core.jets.taylor import TaylorModel

POINTS = torch.cartesian_prod(*[torch.linspace(-1, 1, 21, dtype=torch.float64)] * 2)
ROUNDING = 1e-14  # relative, of torch's own functions at the points
FUNCTIONS = {  # of a model, at points, where its steepest points are, where it is defined
    "exp": (lambda m: m.exp(), torch.exp),
    "log": (lambda m: m.log(), torch.log),
    "sqrt": (lambda m: m.sqrt(), torch.sqrt),
    "reciprocal": (lambda m: m.reciprocal(), torch.reciprocal),
    "square": (lambda m: m.square(), torch.square),
    "product": (lambda m: m * (m - 1), lambda x: x * (x - 1)),
    "quotient": (lambda m: (m + 1) / m, lambda x: (x + 1) / x),
    "sin": (lambda m: m.sin(), torch.sin),
    "cos": (lambda m: m.cos(), torch.cos),
    "sinh": (lambda m: m.sinh(), torch.sinh),
    "cosh": (lambda m: m.cosh(), torch.cosh),
    "tanh": (lambda m: m.tanh(), torch.tanh),
    "atan": (lambda m: m.atan(), torch.atan),
    "erfc": (lambda m: m.erfc(), torch.special.erfc),
    "softplus": (lambda m: m.softplus(), lambda x: torch.logaddexp(x, 0 * x)),
    "sigmoid": (lambda m: sigmoids(m)[0], torch.sigmoid),
    "sigmoid of minus": (lambda m: sigmoids(m)[1], lambda x: torch.sigmoid(-x)),
    "absolute value": (lambda m: m.absolute(), torch.abs),
}
# Ends, inflections and extremes of the functions and of their derivatives.
CRITICAL = st.sampled_from(
    [
        -1.3169578969248166,
        -0.6584789484624084,
        0.0,
        0.5773502691896257,
        0.7071067811865476,
        1.0,
        1.5707963267948966,
    ]
)
CENTRES = st.floats(-6, 6) | CRITICAL | st.floats(-500, 500)
RADII = st.floats(1e-12, 4) | st.floats(1e-12, 1e-3)


def model(centre: float, *radii: float, degree: int, error: float = 0.0) -> TaylorModel:
    """centre + radii[0] x + radii[1] y, within ``error``."""
    terms = [torch.tensor([r], dtype=torch.float64) for r in radii]
    rest = (None,) * (len(monomials(degree)) - 1 - len(terms))
    value = torch.tensor([centre], dtype=torch.float64)
    return TaylorModel(value, torch.full_like(value, error), (*terms, *rest))


def at(x: Bounded, points: torch.Tensor) -> torch.Tensor:
    """The polynomial of a model (..., N, D) at points (N, 2) of its own cell."""
    if not isinstance(x, TaylorModel):
        return x.value
    total = torch.zeros(())
    for (a, b), part in zip(monomials(x.degree), x.parts, strict=True):
        if part is not None:
            total = total + part * (points[:, :1] ** a * points[:, 1:] ** b)
    return total


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", FUNCTIONS)
@given(
    centre=CENTRES,
    u=RADII,
    v=RADII,
    error=st.sampled_from([0.0, 1e-9, 0.1]),
    share=st.floats(-1, 1),
    degree=st.integers(1, 4),
)
def test_a_model_holds_every_value(name, centre, u, v, error, share, degree):
    of_model, of_points = FUNCTIONS[name]
    x = model(centre, u, v, degree=degree, error=error)
    result = of_model(x)
    arguments = at(x, POINTS) + share * error
    values = of_points(arguments)
    gap = (values - at(result, POINTS)).abs()
    off = 1e-15 * (arguments.abs() + abs(centre) + u + v)  # the arguments are rounded
    reach = (of_points(arguments + off) - of_points(arguments - off)).abs().nan_to_num(torch.inf)
    reach = reach + ROUNDING * (values.abs() + result.reach)
    defined = values.isfinite()
    if result.remainder.isfinite().all():
        assert (gap <= result.remainder + reach)[defined].all()
        ball = result.ball()
        assert ((values - ball.value).abs() <= ball.bound + reach)[defined].all()


@pytest.mark.sampled(15)
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"absolute value", "atan", "erfc"}))
def test_what_is_lost_falls_with_the_width(name, degree):
    lost = [
        float(FUNCTIONS[name][0](model(1.3, r, 0.5 * r, degree=degree)).remainder)
        for r in (0.2, 0.1)
    ]
    assert lost[1] <= max(lost[0] * 0.5 ** (degree + 0.8), 1e-13)


@pytest.mark.parametrize("name", ["log", "reciprocal", "quotient"])
def test_where_it_has_a_pole_nothing_is_known(name):
    for degree in (1, 4):
        assert FUNCTIONS[name][0](model(0.1, 0.2, degree=degree)).bound.isinf()


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"product", "quotient"}))
@pytest.mark.parametrize("error", [torch.inf, torch.nan])
def test_of_what_may_be_anything_nothing_is_known(name, error):
    result = FUNCTIONS[name][0](model(1.0, 0.1, degree=2, error=error))
    assert not result.bound.isfinite().any()
    assert not result.remainder.isfinite().any()


@given(seed=st.integers(0, 10**6), degree=st.integers(1, 4), width=st.floats(1e-9, 2.0))
def test_sums_products_and_matrices_of_models_hold_theirs(seed, degree, width):
    rng = torch.Generator().manual_seed(seed)

    def drawn(*shape: int) -> TaylorModel:
        parts = [torch.randn(*shape, generator=rng, dtype=torch.float64) for _ in monomials(degree)]
        terms = [None if i % 5 == 3 else width * x for i, x in enumerate(parts[1:])]
        return TaylorModel(parts[0], width * parts[0].abs() * 0.1, tuple(terms))

    a, b, c = drawn(3, 4), drawn(3, 4), drawn(4, 2)
    ball = Bounded(b.value, width * b.value.abs())
    points = torch.rand(3, 2, generator=rng, dtype=torch.float64) * 2 - 1
    for point in points:
        p = point.expand(3, 2)
        x, y = (at(m, p) + 0.9 * m.error for m in (a, b))
        z = at(c, point.expand(4, 2)) - 0.8 * c.error
        t = ball.value - ball.error
        for result, exact in (
            (a + b, x + y), (a - b, x - y), (ball - a, t - x), (a * b, x * y), (ball * a, t * x),
            (a @ c, x @ z), (ball @ c, t @ z), (c.transpose(0, 1) @ a.transpose(0, 1), z.T @ x.T),
            (a.sum(0), x.sum(0)), (a.mean(1), x.mean(1)), (2.5 * a - 1, 2.5 * x - 1),
            (join([a, b, ball], 0), torch.cat([x, y, t])),
            (where(x > 0, a, b), torch.where(x > 0, x, y)),
        ):  # fmt: skip
            here = at(result, point.expand(result.shape[-2] if result.ndim > 1 else 1, 2))
            bound = result.remainder + 1e-14 * result.upper
            assert ((exact - here.reshape(exact.shape)).abs() <= bound).all()


def smooth(p: torch.Tensor) -> torch.Tensor:
    u, v = p.unbind(-1)
    weights = torch.softmax(torch.stack([3 * u, 2 * v - u, 0 * u], -1), -1)
    gate = torch.sigmoid(torch.stack([u + v, 4 * u, v], -1))
    rest = torch.stack(
        [u.sin() / (2 + v), (1 + u * u + v * v).sqrt().log(), torch.tanh(v) ** 3], -1
    )
    return weights * gate + rest + torch.nn.functional.gelu(p.sum(-1, keepdim=True))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_derivatives_are_held_too(degree):
    rng = torch.Generator().manual_seed(degree)
    centres, x = (torch.rand(50, 2, generator=rng, dtype=torch.float64) * 2 - 1 for _ in range(2))
    for width in (0.2, 0.01, 1e-5):
        radius = torch.full_like(centres, width) * torch.tensor([1.0, 0.3], dtype=torch.float64)
        jet = taylor_jet(smooth, centres, radius, degree)
        exact = second_order_jet(smooth, centres + x * radius, "rigorous")
        parts = (jet.value[None], filled(jet, "first"), filled(jet, "second"))
        result = torch.cat([at(y, x).mT for y in parts])
        bound = torch.cat([y.remainder.mT for y in parts])
        off = ((exact.stack - result).abs() / (bound + 2 * exact.errors + 1e-13)).nan_to_num(0.0)
        assert float(off.max()) <= 1
        if width < 0.1:
            assert bound.isfinite().all()
            assert float(bound.max()) <= 300 * width ** min(degree + 1, 2)


def test_a_cell_that_straddles_a_comparison_is_unknown_there_alone():
    centres = torch.tensor([[0.5, 0.0], [0.01, 0.0], [-0.5, 0.0]], dtype=torch.float64)
    jet = taylor_jet(
        lambda p: torch.where(p > 0, p * p, p), centres, torch.full_like(centres, 0.1), 2
    )
    assert jet.value.bound[:, 0].isfinite().tolist() == [True, False, True]
