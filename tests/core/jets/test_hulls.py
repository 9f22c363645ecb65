"""Balls over wide errors hold all values of a function, and little more."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.jets.bounded import Bounded
from gating_core.jets.elementary import sigmoids

SHARES = torch.linspace(-1, 1, 201, dtype=torch.float64)
ROUNDING = 1e-14  # relative, of torch's own functions at the points
FUNCTIONS = {  # by balls and by points, and whether the argument must be positive
    "exp": (lambda b: b.exp(), torch.exp, False),
    "log": (lambda b: b.log(), torch.log, True),
    "sqrt": (lambda b: b.sqrt(), torch.sqrt, True),
    "rsqrt": (lambda b: b.rsqrt(), torch.rsqrt, True),
    "reciprocal": (lambda b: b.reciprocal(), torch.reciprocal, False),
    "square": (lambda b: b.square(), torch.square, False),
    "sin": (lambda b: b.sin(), torch.sin, False),
    "cos": (lambda b: b.cos(), torch.cos, False),
    "sinh": (lambda b: b.sinh(), torch.sinh, False),
    "cosh": (lambda b: b.cosh(), torch.cosh, False),
    "tanh": (lambda b: b.tanh(), torch.tanh, False),
    "atan": (lambda b: b.atan(), torch.atan, False),
    "erfc": (lambda b: b.erfc(), torch.special.erfc, False),
    "softplus": (lambda b: b.softplus(), lambda x: torch.logaddexp(x, 0 * x), False),
    "sigmoid": (lambda b: sigmoids(b)[0], torch.sigmoid, False),
    "sigmoid of minus": (lambda b: sigmoids(b)[1], lambda x: torch.sigmoid(-x), False),
}


def ends(ball):
    return ball.value - ball.bound, ball.value + ball.bound


@pytest.mark.parametrize("name", FUNCTIONS)
@given(centre=st.floats(-6, 6), radius=st.floats(1e-9, 4))
def test_a_ball_holds_every_value(name, centre, radius):
    by_ball, at, positive = FUNCTIONS[name]
    ball = Bounded(torch.tensor([centre]).double(), torch.tensor([radius]).double())
    low, high = ends(by_ball(ball))
    points = ball.value + SHARES * ball.error
    if positive:
        points = points[points > 0]
    values = at(points)
    if torch.isfinite(high - low):
        slack = ROUNDING * values.abs().max() if len(values) else 0.0
        assert (values >= low - slack).all()
        assert (values <= high + slack).all()


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"erfc"}))  # by its steepest slope alone
def test_a_ball_is_not_much_wider_than_its_values(name):
    by_ball, at, _ = FUNCTIONS[name]
    for centre, radius in ((1.3, 0.4), (2.5, 0.05), (3.0, 1.5)):
        ball = Bounded(torch.tensor([centre]).double(), torch.tensor([radius]).double())
        low, high = ends(by_ball(ball))
        values = at(ball.value + SHARES * ball.error)
        assert float(high - low) <= 4.5 * float(values.max() - values.min())


@pytest.mark.parametrize("name", ["log", "reciprocal", "rsqrt"])
def test_where_it_has_a_pole_nothing_is_known(name):
    ball = Bounded(torch.tensor([0.1]).double(), torch.tensor([0.2]).double())
    assert FUNCTIONS[name][0](ball).bound.isinf()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("radius", [torch.inf, torch.nan])
def test_of_what_may_be_anything_nothing_is_known(name, radius):
    """Not even that a sigmoid of it lies between 0 and 1: it may be undefined."""
    ball = Bounded(torch.tensor([1.0]).double(), torch.tensor([radius]).double())
    assert not FUNCTIONS[name][0](ball).bound.isfinite().any()
