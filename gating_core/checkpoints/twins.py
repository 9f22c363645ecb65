"""Twins of a head: what its numbers are without what it has learned.

Total curvature of a head goes with the sharpness of its attention, so its twin must be as sharp. On
BERT's heads equally sharp random queries and keys curve three to four times as much, while values
dealt to other tokens change little. A twin of shuffled text is the head itself on the states of
`gating_core.checkpoints.states.shuffled` tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from gating_core.checkpoints.head_map import DrawnGate, HeadMap, head_map
from gating_core.checkpoints.layer import Layer
from gating_core.checkpoints.measures import entropies
from gating_core.checkpoints.planes import Plane
from gating_core.randomness import generator

LARGEST_LOG_FACTOR = 12.0  # of scores, either way
HALVINGS = 45


@torch.no_grad()
def sharp_twin(
    layer: Layer,
    states: torch.Tensor,
    head: int,
    plane: Plane,
    seed: int = 0,
    *,
    points: torch.Tensor,
    keys: Sequence[int] | torch.Tensor | None = None,
    position: int | None = None,
    gate: DrawnGate | None = None,
    strength: float = 1.0,
) -> HeadMap:
    """Return the head with random queries and keys, as sharp as it is itself.

    The weights of queries and keys are normal, of the layer's own norms; biases, values and gate
    are the head's. Scores are multiplied by a number, so that the mean entropy of the attention
    weights over ``points`` (N, 2) of the chart is the head's. Other arguments as `head_map`; the
    plane cannot be an attention-weight chart, where there are no scores.
    """
    if plane.weights is not None:
        raise ValueError("on an attention-weight chart weights are prescribed: no scores")
    options: dict[str, Any] = {
        "keys": keys,
        "position": position,
        "gate": gate,
        "strength": strength,
    }
    own = head_map(layer, states, head, plane, **options)
    draw = generator(seed, f"twin {layer.number}.{head}")
    group = head * layer.key_heads // layer.heads
    drawn = _alone(layer, head, group)
    query, key = (
        torch.randn(weight[0].shape, generator=draw, dtype=torch.float64)
        * weight.square().mean().sqrt()
        for weight in (layer.query, layer.key)
    )
    drawn = replace(drawn, query=query[None], key=key[None])
    twin = head_map(drawn, states, 0, plane, **options)
    twin = replace(twin, gate_logits=own.gate_logits, value_gate=own.value_gate)
    return _as_sharp(twin, float(entropies(own.weights(points)).mean()), points)


def dealt_twin(head: HeadMap, seed: int = 0) -> HeadMap:
    """Return the head with its own scores and its values dealt to other tokens."""
    order = torch.randperm(len(head.tokens), generator=generator(seed, "dealt values"))
    gate = None if head.value_gate is None else head.value_gate[order]
    return replace(head, plain_values=head.plain_values[order], value_gate=gate)


def _alone(layer: Layer, head: int, group: int) -> Layer:
    """The layer with one of its heads."""

    def one(part: torch.Tensor | None, number: int) -> torch.Tensor | None:
        return None if part is None else part[number : number + 1]

    of_head = ("query", "query_bias", "output", "gate", "gate_bias", "sinks")
    of_group = ("key", "key_bias", "value", "value_bias")
    parts: dict[str, Any] = {name: one(getattr(layer, name), head) for name in of_head}
    parts |= {name: one(getattr(layer, name), group) for name in of_group}
    return replace(layer, **parts)


def _as_sharp(head: HeadMap, goal: float, points: torch.Tensor) -> HeadMap:
    """``head`` with its scores multiplied so that their mean entropy at ``points`` is ``goal``."""
    scores = head.scores(points)
    low, high = -LARGEST_LOG_FACTOR, LARGEST_LOG_FACTOR
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        flatter = entropies((scores * 2.0**middle).softmax(-1)).mean() > goal
        low, high = (middle, high) if flatter else (low, middle)
    return replace(head, sharpness=head.sharpness * 2.0**low)
