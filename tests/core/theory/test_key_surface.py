"""K of keys at a point: both ways agree, the parts make the closed form, n = 4 has one sign."""

import math

import mpmath
import pytest
import torch

from gating_core.geometry import square_grid
from gating_core.jets import second_order_jet
from gating_core.theory import (
    key_fields,
    key_sign,
    keys_at,
    measure_keys,
    random_keys,
)
from tests.core import exact

KEYS = [[0.0, 3.0], [-2.75, -2.0], [2.75, -2.0], [0.0, -0.25]]
VALUES = torch.eye(4, dtype=torch.float64)


@pytest.mark.parametrize("seed", range(10))
def test_the_parts_make_up_the_closed_form_and_jets_agree(seed):
    layer = random_keys(4, seed)
    found = keys_at(layer.keys, layer.biases, layer.values, (0.3, -0.2))
    p, w = found.weights, found.barycentric
    assert math.fsum(p) == pytest.approx(1)
    assert math.fsum(w) == pytest.approx(1)
    assert [1 + p[3] * w[i] / p[i] for i in range(3)] == pytest.approx(found.m)
    below = (p[0] * p[1] * p[2]) ** 2 * found.determinant * found.quadratic**2
    assert p[3] ** 2 * math.prod(w) / below == pytest.approx(found.closed, rel=1e-9)
    assert abs(found.closed - found.jet) <= found.closed_error + found.jet_error
    assert found.jet_error < 1e-8 * abs(found.jet)
    jet = second_order_jet(layer, torch.tensor([[0.3, -0.2]]).double(), "rigorous")
    assert jet.errors is not None  # by rules, with a bound of all rounding, not by torch.func
    assert math.copysign(1, found.closed) == found.sign == key_sign(layer.keys).sign


def test_without_a_triangle_the_parts_are_unknown_but_k_is_zero():
    found = keys_at([[0, 0], [1, 1], [2, 2], [0, 1]], [0] * 4, VALUES, (0, 0))
    assert all(map(math.isnan, (*found.barycentric, *found.m, found.quadratic)))
    assert (found.sign, found.closed, found.closed_error) == (0, 0, 0)
    assert abs(found.jet) <= found.jet_error


@pytest.mark.parametrize(("keys", "values"), [([[0, 0], [1, 1], [2, 2], [3, 3]], VALUES),
                                              (KEYS, [[1.0, 2.0, 3.0]] * 4)])  # fmt: skip
def test_without_a_surface_k_has_no_value(keys, values):
    found = keys_at(keys, [0.0] * 4, values, (0, 0))
    assert found.sign is None
    assert math.isnan(found.closed)
    assert math.isnan(found.jet)


@pytest.mark.parametrize("seed", range(6))
def test_four_keys_have_one_sign_on_a_grid_and_eight_mostly_both(seed):
    four, eight = random_keys(4, seed), random_keys(8, seed)
    shares = measure_keys(four.keys, four.biases, four.values, square_grid(21)).shares
    assert (shares.positive > 0) == (key_sign(four.keys).sign == 1)
    assert (shares.negative > 0) == (key_sign(four.keys).sign == -1)
    both = measure_keys(eight.keys, eight.biases, eight.values, square_grid(21)).shares
    assert both.positive > 0
    assert both.negative > 0


def test_fields_of_keys_are_their_softmax_and_the_mean_curvature_of_their_outputs():
    keys, biases, values = KEYS, [0.0, 0.0, 0.0, 0.6], [[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0] * 3]
    fields = key_fields(keys, biases, values, square_grid(5))
    assert [*fields] == ["|H|", *(f"weight {i}" for i in (1, 2, 3, 4))]

    def outputs(m, u, v):
        powers = [m.exp(k[0] * u + k[1] * v + b) for k, b in zip(keys, biases, strict=True)]
        return [power / sum(powers) for power in powers]

    axis = square_grid(5).axis.tolist()
    for row, column in [(2, 2), (0, 3)]:
        parts = exact.jet(outputs, axis[column], axis[row])
        found = [fields[f"weight {i}"][row, column] for i in (1, 2, 3, 4)]
        assert found == pytest.approx([float(x) for x in parts[0]], rel=1e-12)
        mean = exact.geometry([part[:3] for part in parts])["mean"]
        wanted = float(mpmath.sqrt(exact.dot(mean, mean)))
        assert fields["|H|"][row, column] == pytest.approx(wanted, rel=1e-9)
