"""Functions that could make a jet, or its bound, wrong without a sign.

Every case was found by trying to break the rules; each must give torch.func's numbers, and may
call its bound rigorous only if it holds.
"""

import math

import numpy as np
import pytest
import torch

from gating_core.geometry.adaptive import adaptive_integrals
from gating_core.geometry.curvature import curvature
from gating_core.jets.second_order import nested_jet, second_order_jet

POINTS = torch.tensor([[0.81, 0.37], [0.4, 0.38], [-0.52, 0.66]], dtype=torch.float64)
MANY = torch.rand(2049, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
S = torch.tensor([[[2.0, 5.0]], [[3.0, 7.0]]], dtype=torch.float64)  # (2, 1, 2)


def stack(*columns):
    return torch.stack(columns, -1)


def in_place(p):
    h = p * 2
    g = h
    g += 1
    return h * h


def in_place_on_constants(p):
    h = torch.ones(2, dtype=torch.float64) * 2
    g = h
    g += 1
    return p * h


SAME_NUMBERS = {
    "cat of points": lambda p: torch.cat([p * 2, p * p], 0).reshape(2, len(p), 2),
    "half of a cat": lambda p: torch.cat([p * 3, p * p], 0)[len(p) :],
    "division by more axes": lambda p: p * p / S,
    "number of NumPy on the left": lambda p: np.float64(2.5) * p * p,
    "in place": in_place,
    "in place on constants": in_place_on_constants,
    "negative power": lambda p: p**-2 + p**-3,
    "large power": lambda p: p**17,
    "matmul with a vector": lambda p: stack(p @ torch.tensor([1.0, 2.0]).double(), p[:, 0] ** 2),
    "two index arrays": lambda p: (p[:, None, :].expand(-1, 2, 2) * p[:, :1, None])[
        torch.arange(len(p)), :, torch.zeros(len(p), dtype=torch.long)
    ],
    "whole numbers": lambda p: p[:, :1] * p * (torch.arange(2) * 0.1).double(),
    "sum over an axis by name": lambda p: p * (p * p).sum(axis=-1, keepdim=True),
    "modules": torch.nn.Sequential(
        torch.nn.Softplus(), torch.nn.GELU(), torch.nn.Dropout(0.5).eval(), torch.nn.Tanh()
    ),
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("bound", ["estimate", "rigorous"])
@pytest.mark.parametrize("name", sorted(SAME_NUMBERS))
def test_the_numbers_are_those_of_torch_func(name, bound):
    function = SAME_NUMBERS[name]
    jet, reference = second_order_jet(function, POINTS, bound), nested_jet(function, POINTS)
    torch.testing.assert_close(jet.stack, reference.stack, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("bound", ["estimate", "rigorous"])
@pytest.mark.parametrize("count", [1, 2049])
def test_a_block_of_one_point_is_no_exception(count, bound):
    def function(p):
        return stack(p[:, 0] ** 2, p[:, 0] * p[:, 1], p[:, 1])

    jet = second_order_jet(function, MANY[:count], bound)
    torch.testing.assert_close(jet.stack, nested_jet(function, MANY[:count]).stack)


def test_the_callers_points_are_left_alone():
    points = POINTS.clone()
    second_order_jet(lambda p: p.mul_(2) * p, points)
    assert torch.equal(points, POINTS)


WITHIN_BOUNDS = {  # column 0 of the value, exactly
    "saturated log of softmax": (
        lambda p: torch.softmax(p * torch.tensor([1000.0, -900.0]).double(), -1).log()[:, [1, 0]],
        lambda u, v: -(1000 * u + 900 * v) - math.log1p(math.exp(-(1000 * u + 900 * v))),
    ),
    "log of a tiny exp": (
        lambda p: stack((p[:, 0] - 735).exp().log(), p[:, 1]),
        lambda u, v: u - 735,
    ),
    "underflow and back": (
        lambda p: p * 1e-200 * 1e-200 * 1e200 * 1e200,
        lambda u, v: u,
    ),
    "sigmoid of noise": (
        lambda p: torch.sigmoid((p * 10 + 1e17) - 1e17),
        lambda u, v: 1 / (1 + math.exp(-10 * u)),
    ),
    "detached": (
        lambda p: stack(3 * torch.sin(p[:, 0]).detach() + 0 * p[:, 0], p[:, 1]),
        lambda u, v: 3 * math.sin(u),
    ),
}


@pytest.mark.parametrize("name", sorted(WITHIN_BOUNDS))
def test_bounds_survive_what_floating_point_loses(name):
    function, exact = WITHIN_BOUNDS[name]
    points = POINTS[:2]
    jet = second_order_jet(function, points, "rigorous", check=False)
    assert jet.bound_kind == "rigorous"
    for i, (u, v) in enumerate(points.tolist()):
        true = exact(u, v)
        assert abs(jet.stack[0, 0, i].item() - true) <= jet.errors[0, 0, i].item() + 1e-15 * abs(
            true
        )


HONEST_ESTIMATES = {
    "a branch decided by rounding": lambda p: torch.where((p + 1e17) - 1e17 > 0.5, p * p, -p),
    "a mask decided by rounding": lambda p: ((p * 0.1 + p * 0.2 - p * 0.3) > 2.77e-17) * p * p,
    "single precision on the way": lambda p: p * (torch.arange(2) * 0.1),
    "whole numbers above 2^53": lambda p: p * p * (2**53 + 1),
    "a function of whole numbers": lambda p: p * torch.exp(torch.arange(2)),
}


@pytest.mark.parametrize("name", sorted(HONEST_ESTIMATES))
def test_what_cannot_be_followed_is_not_called_rigorous(name):
    jet = second_order_jet(HONEST_ESTIMATES[name], POINTS, "rigorous", check=False)
    assert jet.bound_kind == "estimate"


def logarithm(p):
    u, v = p.unbind(-1)
    return stack(u, v, u * u + torch.log(v - 2))


def test_where_the_value_is_no_number_nothing_is_resolved():
    assert not curvature(second_order_jet(logarithm, POINTS, "rigorous")).resolved.any()
    total = adaptive_integrals(logarithm)
    assert not total.absolute.complete
    assert float(total.area.value) == 0


def test_functions_in_single_precision_are_refused():
    with pytest.raises(ValueError, match=r"torch\.float64"):
        second_order_jet(lambda p: torch.erf(p.float()), POINTS)


def test_weights_that_are_no_numbers_are_refused():
    net = torch.nn.Linear(2, 3).double()
    net.weight.data[0, 0] = math.nan
    with pytest.raises(ValueError, match="weight contains NaN"):
        second_order_jet(net, POINTS)


@pytest.mark.parametrize("columns", [0, 1])
def test_lines_and_points_are_no_surfaces(columns):
    with pytest.raises(ValueError, match="D >= 2"):
        curvature(second_order_jet(lambda p: p[:, :columns] ** 2, POINTS))
