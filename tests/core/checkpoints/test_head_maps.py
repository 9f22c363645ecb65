"""A head as a map of two numbers: against the whole layer, closed forms, and the class itself."""

from dataclasses import replace

import pytest
import torch

from gating_core import curvature, measure, second_order_jet, square_grid
from gating_core.checkpoints import (
    DrawnGate,
    Plane,
    head_map,
    measure_head,
    principal_plane,
    read_layer,
    token_plane,
    weight_plane,
)
from gating_core.checkpoints.head_map import TRIANGLE
from gating_core.checkpoints.layer import by_head
from gating_core.lm.shipped import model_path
from tests.core.checkpoints.tiny import LAYERS, attend, drawn_layer, drawn_states

POINTS = square_grid(5).points


def outputs_on(layer, states, head, plane, points, keys=slice(None)):
    """(N, d): the head's outputs one point at a time."""
    whole = attend(layer, states, strength=0)
    part = slice(head, head + 1)
    outputs = []
    for u, v in points:
        state = (plane.state[0] + u * plane.state[1] + v * plane.state[2])[None]
        bias = None if layer.query_bias is None else layer.query_bias[part]
        query = by_head(state, layer.query[part], bias)
        scores = (query[0] @ whole.keys[head].mT) * layer.channels**-0.5
        seen = torch.zeros_like(scores, dtype=torch.bool)
        seen[:, keys] = True
        seen &= layer.visible(len(states) - 1, len(states))
        powers = scores.masked_fill(~seen, -torch.inf).exp()
        total = powers.sum(-1, keepdim=True)
        output = powers / total @ whole.values[head]
        if layer.gate is not None:
            bias = None if layer.gate_bias is None else layer.gate_bias[part]
            output = output * layer.sigma(by_head(state, layer.gate[part], bias)[0])
        outputs.append(output[0])
    return torch.stack(outputs)


@pytest.mark.parametrize("case", LAYERS)
def test_a_head_on_a_plane_is_the_layer_point_by_point(case):
    layer = drawn_layer(**LAYERS[case])
    states = drawn_states(9, 32)
    plane = principal_plane(states)
    for head in range(4):
        ours = head_map(layer, states, head, plane)
        torch.testing.assert_close(
            ours(POINTS), outputs_on(layer, states, head, plane, POINTS), rtol=1e-12, atol=1e-12
        )
        kept = [2, 7, 8]
        ours = head_map(layer, states, head, plane, keys=kept)
        torch.testing.assert_close(
            ours(POINTS),
            outputs_on(layer, states, head, plane, POINTS, kept),
            rtol=1e-12,
            atol=1e-12,
        )
        window = layer.window or 9
        assert ours.tokens.tolist() == [token for token in kept if token > 8 - window]
        mask = [token in kept for token in range(9)]
        assert torch.equal(head_map(layer, states, head, plane, keys=mask).tokens, ours.tokens)
    field = curvature(second_order_jet(ours, POINTS, "rigorous"))
    assert field.bound_kind == "rigorous"


@pytest.mark.parametrize("name", ["g1_channel", "g1_head", "g2"])
def test_lambda_takes_the_gate_from_nothing_to_the_trained_one(name):
    layer = read_layer(model_path(name, 0), 1)
    states = drawn_states(8, 96)
    plane = principal_plane(states)
    whole, none = attend(layer, states), attend(layer, states, strength=0)
    half = attend(layer, states, strength=0.5)
    middle = head_map(layer, states, 2, Plane(torch.cat([states[-1:], plane.state[1:]])))
    at = torch.zeros(1, 2, dtype=torch.float64)
    for strength, record in ((1.0, whole), (0.5, half), (0.0, none)):
        torch.testing.assert_close(middle.with_strength(strength)(at)[0], record.mixed[2, -1])
    assert not middle.with_strength(0).gated
    assert middle.gated == (name != "g2")


def test_a_drawn_gate_has_the_mean_and_the_spread_that_it_says():
    layer = read_layer(model_path("none", 0), 1)
    states = drawn_states(20, 96)
    plane = Plane(torch.eye(3, 96, dtype=torch.float64))
    for per, channels in (("channel", 24), ("head", 1)):
        gate = DrawnGate(per, seed=3, spread=2.0, mean=-0.5)
        slopes = gate.logits(layer, states, 0, plane)
        assert slopes.shape == (3, channels)
        on_states = torch.stack(
            [gate.logits(layer, states, 0, Plane(torch.stack([x] * 3)))[0] for x in states]
        )
        torch.testing.assert_close(on_states.mean(0), torch.full((channels,), -0.5).double())
        deviations = (on_states - on_states.mean(0)).square().mean().sqrt()
        torch.testing.assert_close(float(deviations), 2.0)
        gated = head_map(layer, states, 0, principal_plane(states), gate=gate)
        plain = head_map(layer, states, 0, principal_plane(states))
        factors = gated.gate_values(POINTS)
        assert factors.shape == (25, channels)
        torch.testing.assert_close(gated(POINTS), plain(POINTS) * factors)
        assert torch.equal(gated.with_strength(0)(POINTS), plain(POINTS))
    other = head_map(layer, states, 0, principal_plane(states), gate=replace(gate, seed=4))
    assert not torch.equal(other(POINTS), gated(POINTS))


# --- Planes ---------------------------------------------------------------------------------------


def test_the_principal_plane_is_that_of_the_singular_values():
    for states in (drawn_states(9, 40), drawn_states(50, 6)):
        plane = principal_plane(states, width=1.5)
        centred = states - states.mean(0)
        _, lengths, right = torch.linalg.svd(centred, full_matrices=False)
        torch.testing.assert_close(plane.state[0], states.mean(0))
        for axis in (0, 1):
            ours = plane.state[1 + axis]
            torch.testing.assert_close(
                float(ours.norm()), float(lengths[axis]) / len(states) ** 0.5 * 1.5
            )
            torch.testing.assert_close(abs(float(ours @ right[axis])), float(ours.norm()))
        torch.testing.assert_close(
            plane.project(states).square().mean(0).sqrt(), torch.full((2,), 1 / 1.5).double()
        )


def test_tokens_stand_at_the_corners_that_a_plane_says():
    states = drawn_states(9, 40)
    plane = token_plane(states, 4, 1, 7)
    torch.testing.assert_close(plane.project(states[[4, 1, 7]]), torch.tensor(TRIANGLE).double())
    chart = weight_plane(states, 4, 1, 7)
    torch.testing.assert_close(chart.project(states[[4, 1, 7]]), chart.corners)
    square = torch.tensor([[1.0, 1], [1, -1], [-1, 1], [-1, -1], [0, 0]]).double()
    weights = square @ chart.weights[1:] + chart.weights[0]
    torch.testing.assert_close(weights.sum(1), torch.ones(5).double())
    torch.testing.assert_close(float(weights.min()), 0.02)
    torch.testing.assert_close(
        weights @ states[[4, 1, 7]], square @ chart.state[1:] + chart.state[0]
    )


def test_states_that_span_no_plane_are_refused():
    line = torch.arange(5.0).double()[:, None] * torch.ones(4).double()
    for refused in (
        lambda: principal_plane(line),
        lambda: principal_plane(line[:2]),
        lambda: token_plane(line, 0, 1, 2),
        lambda: weight_plane(line, 0, 0, 2),
    ):
        with pytest.raises(ValueError, match="span no plane"):
            refused()


# --- Curvature ------------------------------------------------------------------------------------


def test_on_the_weight_chart_a_head_is_flat_and_a_gate_curves_it():
    states = drawn_states(8, 96)
    layer = read_layer(model_path("none", 0), 1)
    plane = weight_plane(states, 1, 3, 6)
    flat = measure(head_map(layer, states, 0, plane), POINTS)
    assert (flat.word, flat.knowledge) == ("flat", "proved")
    for gated in (
        head_map(layer, states, 0, plane, gate=DrawnGate()),
        head_map(read_layer(model_path("g1_channel", 0), 1), states, 0, plane),
    ):
        assert measure(gated, POINTS).word == "curved"
        assert measure(gated, POINTS).field.bound_kind == "rigorous"
        assert measure(gated.with_strength(0), POINTS).word == "flat"


# --- Measures -------------------------------------------------------------------------------------


def test_what_is_measured_of_a_head():
    layer = read_layer(model_path("none", 0), 1)
    states = drawn_states(12, 96)
    head, grid = head_map(layer, states, 0, principal_plane(states)), square_grid(9)
    found = measure_head(head, grid)
    field = curvature(second_order_jet(head, grid.points, "rigorous"))
    weights, density = grid.weights.flatten(), field.gaussian * field.area_element
    total = float((density.abs() * weights).sum())
    torch.testing.assert_close(float(found.total.value), total)
    assert 0 < found.total.error < found.total.value
    negative = -float((density * weights)[density < 0].sum()) / total
    torch.testing.assert_close(found.negative_share, negative)
    assert found.proved_share == float(field.decided.double().mean())
    outputs, attention = head(grid.points), head.weights(grid.points)
    torch.testing.assert_close(found.entropy, -float((attention * attention.log()).sum(-1).mean()))
    radius = max((outputs - outputs.mean(0)).norm(dim=1)) / max(
        (head.values - head.values.mean(0)).norm(dim=1)
    )
    torch.testing.assert_close(found.span, float(radius))


# --- Refusals -------------------------------------------------------------------------------------


def test_what_cannot_be_is_refused_in_one_sentence():
    layer = read_layer(model_path("none", 0), 1)
    states = drawn_states(8, 96)
    plane = principal_plane(states)
    weights = weight_plane(states, 1, 3, 6)
    for refused, said in [
        (lambda: head_map(layer, states, 4, plane), "head is 4"),
        (lambda: head_map(layer, states[:, :5], 0, plane), r"must be \(T, 96\)"),
        (lambda: head_map(layer, states * torch.nan, 0, plane), "NaN"),
        (lambda: head_map(layer, states, 0, plane, keys=[]), "nothing to attend to"),
        (lambda: head_map(layer, states, 0, plane, keys=[7], position=3), "nothing to attend to"),
        (lambda: head_map(layer, states, 0, plane, keys=[True]), "as a mask it must be"),
        (lambda: head_map(layer, states, 0, plane, keys=[8]), "keys is 8"),
        (lambda: head_map(layer, states, 0, plane, position=8), "position is 8"),
        (lambda: head_map(layer, states, 0, plane, strength=2.0), "strength is 2.0"),
        (lambda: head_map(layer, states, 0, weights, keys=[1, 3]), "not three keys"),
        (lambda: head_map(layer, states, 0, weights).scores(POINTS), "no scores"),
        (lambda: DrawnGate(per="row"), "per is 'row'"),
        (lambda: read_layer(model_path("none", 0), 4), "layer is 4"),
    ]:
        with pytest.raises(ValueError, match=said):
            refused()
