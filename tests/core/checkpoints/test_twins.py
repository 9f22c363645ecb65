"""Twins of heads: of the same entropy and values, and of what else they say, nothing learned."""

import numpy as np
import pytest
import torch

from gating_core import square_grid
from gating_core.checkpoints import (
    dealt_twin,
    entropies,
    head_map,
    offset_twin,
    principal_plane,
    read_layer,
    sharp_twin,
    weight_plane,
)
from gating_core.checkpoints.twins import ENTROPY_TOLERANCE, _as_sharp
from gating_core.lm.shipped import model_path
from tests.core.checkpoints.tiny import LAYERS, drawn_layer, drawn_states

POINTS = square_grid(7).points


def sharpness(head):
    return float(entropies(head.weights(POINTS)).mean())


@pytest.mark.parametrize("case", ["plain", "a window", "a gate a channel"])
def test_a_random_twin_is_as_sharp_and_has_the_same_values(case):
    layer = drawn_layer(**LAYERS[case])
    states = 3 * drawn_states(9, 32)
    plane = principal_plane(states)
    for head in (0, 3):
        own = head_map(layer, states, head, plane, keys=range(1, 9))
        twins = [
            sharp_twin(layer, states, head, plane, seed, points=POINTS, keys=range(1, 9))
            for seed in (0, 1)
        ]
        for twin in twins:
            assert sharpness(twin) == pytest.approx(sharpness(own), abs=ENTROPY_TOLERANCE)
            assert torch.equal(twin.values, own.values)
            assert torch.equal(twin.tokens, own.tokens)
            assert not torch.allclose(twin.weights(POINTS), own.weights(POINTS), atol=0.01)
            if own.gate_logits is not None:
                assert torch.equal(twin.gate_values(POINTS), own.gate_values(POINTS))
        assert not torch.equal(twins[0](POINTS), twins[1](POINTS))
        again = sharp_twin(layer, states, head, plane, 1, points=POINTS, keys=range(1, 9))
        assert torch.equal(again(POINTS), twins[1](POINTS))


def affine(head):
    """Offsets (n,) and slopes (2, n) of the scores."""
    corners = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    scores = head.scores(corners)
    scores = scores.numpy()
    return scores[0], scores[1:] - scores[0]


@pytest.mark.parametrize("keys", [range(1, 9), (7, 8), (8,)])
@pytest.mark.parametrize("case", ["plain", "a window", "a gate a channel"])
def test_a_twin_keeps_the_offsets_and_has_random_slopes_of_the_same_size(case, keys):
    layer = drawn_layer(**LAYERS[case])
    states = 3 * drawn_states(9, 32)
    plane = principal_plane(states)
    own = head_map(layer, states, 3, plane, keys=keys)
    other = sharp_twin(layer, states, 3, plane, 7, points=POINTS, keys=keys)
    twin = offset_twin(own, other, points=POINTS)
    assert sharpness(twin) == pytest.approx(sharpness(own), abs=ENTROPY_TOLERANCE)
    assert torch.equal(twin.values, own.values)
    # The definition, with its factor t: softmax(t (c + u a + v b)), (a, b) less their means.
    (offsets, slopes), (_, drawn) = affine(own), affine(other)
    means = slopes.mean(1, keepdims=True)
    slopes, drawn = slopes - means, drawn - drawn.mean(1, keepdims=True)
    if len(keys) > 1:
        drawn = drawn / drawn.std(1, keepdims=True) * slopes.std(1, keepdims=True)
        assert np.abs(drawn - slopes).max() > 0.1 * np.abs(slopes).max() or len(keys) == 2
    factor = twin.sharpness / own.sharpness
    kept, turned = affine(twin)
    np.testing.assert_allclose(kept, factor * offsets, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(turned, factor * (means + drawn), rtol=1e-9, atol=1e-11)
    scores = factor * (offsets + POINTS.numpy() @ (means + drawn))
    weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    np.testing.assert_allclose(twin.weights(POINTS), weights, atol=1e-12)
    assert torch.equal(offset_twin(own, other, points=POINTS)(POINTS), twin(POINTS))


def test_an_entropy_that_no_factor_gives_is_refused():
    layer = read_layer(model_path("none", 0), 1)
    states = drawn_states(6, 96)
    own = head_map(layer, states, 1, principal_plane(states))
    for goal in (1.8, -0.1, float("nan")):  # of six keys at most 1.79 nats
        with pytest.raises(ValueError, match="no factor of the scores gives a mean entropy of"):
            _as_sharp(own, goal, POINTS)


def test_a_twin_of_dealt_values_keeps_the_scores():
    layer = read_layer(model_path("g2", 0), 1)
    states = drawn_states(9, 96)
    own = head_map(layer, states, 2, principal_plane(states))
    twin = dealt_twin(own, 4)
    assert torch.equal(twin.weights(POINTS), own.weights(POINTS))
    assert not torch.equal(twin.values, own.values)
    rows = {tuple(row) for row in own.values.tolist()}
    assert {tuple(row) for row in twin.values.tolist()} == rows


def test_there_is_no_random_twin_where_weights_are_prescribed():
    layer = read_layer(model_path("none", 0), 1)
    states = drawn_states(9, 96)
    with pytest.raises(ValueError, match="weights are prescribed"):
        sharp_twin(layer, states, 0, weight_plane(states, 0, 1, 2), points=POINTS)
    own = head_map(layer, states, 0, weight_plane(states, 0, 1, 2))
    with pytest.raises(ValueError, match="weights are prescribed"):
        offset_twin(own, own, points=POINTS)
