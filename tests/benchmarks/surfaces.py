"""The gated surfaces that are measured, their points, and one plain forward pass.

The forward pass is written out in torch without the model class, the ensemble axis or the heads:
the least that anyone would compute to draw the surface.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import Attention, build_attention
from gating_core.randomness import generator

GRID_SIDE = 200
POINT_COUNT = GRID_SIDE**2
SHIFT = 1e-3  # standard deviation of a round's shift of the grid, whose step is 0.01


def gated_model(model_dim: int, value_count: int, depth: int) -> Attention:
    """One untrained model: one head, elementwise sigmoid gate."""
    config = AttentionConfig(
        model_dim=model_dim, value_count=value_count, depth=depth, gate=GateConfig()
    )
    return build_attention(config)


def grid_points(number: int) -> torch.Tensor:
    """(N, 2): the square's grid, shifted as a whole by a little that depends on the round."""
    axis = torch.linspace(-1, 1, GRID_SIDE, dtype=torch.float64)
    points = torch.cartesian_prod(axis, axis)
    rng = generator(number, "benchmarks")
    return points + SHIFT * torch.randn(2, generator=rng, dtype=torch.float64)


def forward_written_out(model: Attention) -> Callable[[torch.Tensor], torch.Tensor]:
    """Member 0's surface as a plain function (N, 2) -> (N, D).

    ``ValueError`` where it does not compute what the model computes: then no time of it would
    mean anything.
    """
    member = {name: parameter[0] for name, parameter in model.named_parameters()}
    names = ("query", "keys", "bias", "values", "gate.weight", "gate.bias")
    layers = [
        [member[f"layers.{layer}.{name}"] for name in names] for layer in range(model.config.depth)
    ]
    scale = model.config.model_dim**-0.5

    def forward(points: torch.Tensor) -> torch.Tensor:
        hidden = points @ member["input_map"] + member["input_bias"]
        for query, keys, bias, values, gate_weight, gate_bias in layers:
            weights = torch.softmax(hidden @ (query @ keys.T * scale) + bias, -1)
            gate = torch.sigmoid(hidden @ gate_weight + gate_bias)
            hidden = (weights @ values) * gate
        return hidden

    points = grid_points(0)
    if not torch.allclose(forward(points), model(points)[0], rtol=1e-9, atol=1e-12):
        raise ValueError("the forward pass written out here is not the model's")
    return forward
