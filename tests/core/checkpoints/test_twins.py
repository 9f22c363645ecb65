"""Twins of heads: as sharp, of the same values, and nothing else of them learned."""

import pytest
import torch

from gating_core import square_grid
from gating_core.checkpoints import (
    dealt_twin,
    entropies,
    head_map,
    principal_plane,
    read_layer,
    sharp_twin,
    weight_plane,
)
from gating_core.language.shipped import model_path
from tests.core.checkpoints.classes import CASES, random_model, saved
from tests.core.checkpoints.tiny import drawn_states

POINTS = square_grid(7).points


def sharpness(head):
    return float(entropies(head.weights(POINTS)).mean())


@pytest.mark.parametrize("case", ["BERT", "Qwen3-Next", "gpt-oss, a window"])
def test_a_random_twin_is_as_sharp_and_has_the_same_values(case, tmp_path):
    kind, options = CASES[case]
    layer = read_layer(saved(random_model(kind, **options), tmp_path), 0)
    states = 3 * drawn_states(9, 32)
    plane = principal_plane(states)
    for head in (0, 3):
        own = head_map(layer, states, head, plane, keys=range(1, 9))
        twins = [
            sharp_twin(layer, states, head, plane, seed, points=POINTS, keys=range(1, 9))
            for seed in (0, 1)
        ]
        for twin in twins:
            assert sharpness(twin) == pytest.approx(sharpness(own), abs=1e-9)
            assert torch.equal(twin.values, own.values)
            assert torch.equal(twin.tokens, own.tokens)
            assert not torch.allclose(twin.weights(POINTS), own.weights(POINTS), atol=0.01)
            if own.gate_logits is not None:
                assert torch.equal(twin.gate_values(POINTS), own.gate_values(POINTS))
            assert twin.sink == own.sink
        assert not torch.equal(twins[0](POINTS), twins[1](POINTS))
        again = sharp_twin(layer, states, head, plane, 1, points=POINTS, keys=range(1, 9))
        assert torch.equal(again(POINTS), twins[1](POINTS))


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
