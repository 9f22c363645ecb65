"""K of a real gated layer: zero on the conic of its weights, and of its sign elsewhere."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.geometry.grid import square_grid
from gating_core.theory.conic import (
    TriangleChart,
    exponents_of,
    gated_layer,
    measure_conic,
    quadratic_form,
    triangle,
    with_exponents,
)
from tests.core import exact

numbers = st.floats(-3, 3)


@given(seed=st.integers(0, 10**6), dim=st.integers(3, 8))
def test_every_sign_agrees_on_random_models(seed, dim):
    found = measure_conic(gated_layer(seed, dim), 15)
    assert found.disagreeing == 0
    assert found.agreeing + found.undetermined == len(found.weights) == 15 * 16 // 2


def test_a_wrong_conic_would_be_seen():
    """The comparison has teeth: with p and q exchanged signs differ."""
    found = [measure_conic(gated_layer(seed), 15) for seed in range(8)]
    assert not any(result.disagreeing for result in found)
    wrong = []
    for result in found:
        e = result.exponents
        form = quadratic_form((e.q, e.p, e.r), torch.tensor(result.weights)).value.numpy()
        wrong.append(replace(result, form=form).disagreeing)
    assert max(wrong) > 10


@given(seed=st.integers(0, 10**6), dim=st.integers(3, 8))
def test_the_exponents_are_those_of_the_gate(seed, dim):
    """Another way: the gate's own values at random inputs, and least squares for its exponents."""
    model = gated_layer(seed, dim)
    e = exponents_of(model)
    assert abs(e.p + e.q + e.r) <= 1e-12 * (abs(e.p) + abs(e.q) + abs(e.r)) + 3 * e.error
    layer = model.blocks[0]
    states = model.embed(square_grid(5).points)
    logs = layer.weights(states)[0, 0].log()
    logits = layer.gate.logits(states)[0, :, 0]
    design = torch.cat([logs[:, :2] - logs[:, 2:], torch.ones(25, 1).double()], -1)
    p, q, scale = torch.linalg.lstsq(design, -logits.unsqueeze(1), driver="gelsd").solution[:, 0]
    size = 1 + max(abs(e.p), abs(e.q), abs(e.log_scale))
    assert abs(float(p) - e.p) + abs(float(q) - e.q) < 1e-7 * size
    assert abs(float(scale) - e.log_scale) < 1e-7 * size


@given(p=numbers, q=numbers, scale=numbers)
def test_the_form_is_the_determinant_of_the_hessian(p, q, scale):
    """By hand from the formula: in the chart a1/a3, a2/a3 of the plane, by mpmath's differences.

    With y = a3 (s, t, 1) in the basis of the values, rho = (1 + s + t) (1 + c s^p t^q ...).
    """
    r = -p - q
    form = quadratic_form((p, q, r), torch.tensor([[0.2, 0.3, 0.5]], dtype=torch.float64))

    def rho(m, s, t):
        total = 1 + s + t
        a1, a2, a3 = s / total, t / total, 1 / total
        power = m.exp(p * m.log(a1) + q * m.log(a2) + r * m.log(a3) + scale)
        return [total * (1 + power)]

    with mpmath.workdps(exact.DIGITS):
        _, _, _, (ss,), (st_,), (tt,) = exact.jet(rho, 0.2 / 0.5, 0.3 / 0.5)
        hessian = ss * tt - st_ * st_
        decided = abs(float(form.value)) > 1e-12
        if decided:
            assert mpmath.sign(hessian) == np.sign(float(form.value))


def test_the_chart_shows_the_model_itself():
    """Weights and outputs at a chart point are those of the input behind it."""
    model = gated_layer(5, 4)
    chart, points = TriangleChart(model), triangle(7)[:, :2]
    inputs = chart.inputs(points)
    weights = model.blocks[0].weights(model.embed(inputs))[0]
    torch.testing.assert_close(weights, chart.weights(points), rtol=0, atol=1e-12)
    torch.testing.assert_close(chart(points), model(inputs), rtol=1e-11, atol=1e-12)


@given(p=numbers, q=numbers, scale=numbers, dim=st.integers(3, 6))
def test_exponents_can_be_chosen(p, q, scale, dim):
    e = exponents_of(with_exponents(gated_layer(1, dim), p, q, scale))
    assert max(abs(e.p - p), abs(e.q - q), abs(e.r + p + q), abs(e.log_scale - scale)) < 1e-11


def test_the_model_that_is_given_is_left_alone():
    model = gated_layer(0)
    before = model.blocks[0].gate.weight.clone()
    moved = with_exponents(model, 1.0, -2.0, 0.25)
    assert torch.equal(model.blocks[0].gate.weight, before)
    assert not torch.equal(moved.blocks[0].gate.weight, before)
    assert torch.equal(moved.blocks[0].keys, model.blocks[0].keys)
    assert measure_conic(moved, 11).disagreeing == 0


def test_without_a_varying_gate_nothing_curves_and_nothing_is_decided():
    found = measure_conic(with_exponents(gated_layer(0), 0.0, 0.0, -0.4), 11)
    assert found.undetermined == len(found.weights)
    assert (np.abs(found.gaussian) <= found.gaussian_error).all()


def test_a_plane_through_the_origin_is_not_curved_by_any_headwise_gate():
    model = gated_layer(3)
    values = model.blocks[0].values
    values.data = values.data * torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)
    found = measure_conic(model, 11)
    assert (np.abs(found.gaussian) <= found.gaussian_error).all()
    assert found.agreeing == 0


WRONG = [
    AttentionConfig(),
    AttentionConfig(gate=GateConfig()),
    AttentionConfig(value_count=4, gate=GateConfig(granularity="headwise")),
    AttentionConfig(gate=GateConfig(granularity="headwise", strength=0.5)),
    AttentionConfig(gate=GateConfig("tanh", "headwise")),
    AttentionConfig(depth=2, gate=GateConfig(granularity="headwise")),
    AttentionConfig(residual=True, gate=GateConfig(granularity="headwise")),
]


@pytest.mark.parametrize("config", WRONG)
def test_other_models_are_refused(config):
    with pytest.raises(ValueError, match="the conic is about one member of one layer"):
        measure_conic(build_attention(config))


def test_wrong_numbers_are_refused():
    model = gated_layer(0)
    with pytest.raises(ValueError, match="exponent is 1000"):
        with_exponents(model, 1000, 0)
    with pytest.raises(ValueError, match="model_dim is 2"):
        gated_layer(0, 2)
    with pytest.raises(ValueError, match="size is 2"):
        triangle(2)
    flat = gated_layer(0)
    flat.blocks[0].keys.data[:, 1] = flat.blocks[0].keys.data[:, 0]
    with pytest.raises(ValueError, match="the logits span fewer than 2"):
        measure_conic(flat)
