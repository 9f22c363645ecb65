"""The model: an ensemble of attention stacks, evaluated as one batched computation.

Shapes: S seeds (the leading axis of every parameter), N points, D model dimension, H heads of
d = D / H channels, n values. One model is an ensemble of one. Ungated is the same class with gate
``None``. Everything is written in ordinary torch operations, so that ``gating_core.jets`` can
carry derivatives through it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import cast

import torch
from torch import nn

from gating_core.config import AttentionConfig, check_integer, check_seeds
from gating_core.gates import Gate
from gating_core.randomness import normal

INPUT_SCALE = 1.5  # standard deviation of the input map times sqrt(2)
OFFSET_SCALE = 0.5  # standard deviation of the input offset and of the slot biases


def rms_normalise(states: torch.Tensor) -> torch.Tensor:
    """States (..., D) divided by their root mean square: unit gain, epsilon 0."""
    return states / (states * states).mean(-1, keepdim=True).sqrt()


class AttentionLayer(nn.Module):
    """One layer: memory slots, softmax attention, gate, projection, residual, normalisation."""

    def __init__(self, config: AttentionConfig, seeds: tuple[int, ...], name: str) -> None:
        super().__init__()
        self.config = config
        dim, count = config.model_dim, config.value_count
        narrow = dim**-0.5
        self.query = nn.Parameter(normal(seeds, f"{name}.query", (dim, dim), narrow))
        self.keys = nn.Parameter(normal(seeds, f"{name}.keys", (count, dim), 1.0))
        self.values = nn.Parameter(normal(seeds, f"{name}.values", (count, dim), 1.0))
        self.bias = nn.Parameter(normal(seeds, f"{name}.bias", (config.heads, count), OFFSET_SCALE))
        self.gate: Gate | None = None
        if config.gate is not None:
            self.gate = Gate(config.gate, dim, config.heads, seeds, f"{name}.gate")
        self.projection: nn.Parameter | None = None
        if config.output_projection:
            self.projection = nn.Parameter(normal(seeds, f"{name}.projection", (dim, dim), narrow))

    def _by_head(self, matrix: torch.Tensor) -> torch.Tensor:
        """(S, R, D) to (S, H, R, d)."""
        return matrix.unflatten(-1, (self.config.heads, -1)).transpose(1, 2)

    def logit_map(self) -> torch.Tensor:
        """(S, H, D, n): the linear map from hidden states to logits, query and keys in one."""
        query, keys = self._by_head(self.query), self._by_head(self.keys)
        return query @ keys.transpose(-1, -2) * (query.shape[-1] ** -0.5)

    def weights(self, hidden: torch.Tensor) -> torch.Tensor:
        """(S, H, N, n): attention weights for hidden states (S, N, D)."""
        logits = hidden.unsqueeze(1) @ self.logit_map() + self.bias.unsqueeze(2)
        return torch.softmax(logits, -1)

    def mix(self, weights: torch.Tensor) -> torch.Tensor:
        """(S, N, D): values averaged with the attention weights (S, H, N, n)."""
        return (weights @ self._by_head(self.values)).transpose(1, 2).flatten(-2)

    def read(self, hidden: torch.Tensor) -> torch.Tensor:
        """(S, N, D): the states that query and gate read."""
        return rms_normalise(hidden) if self.config.norm == "pre" else hidden

    @property
    def reads_only_weights(self) -> bool:
        """Whether, once the attention weights are given, the hidden state no longer matters."""
        return (self.gate is None or self.gate.idle) and not self.config.residual

    def forward(
        self, hidden: torch.Tensor | None, weights: torch.Tensor | None = None
    ) -> torch.Tensor:
        """(S, N, D) from hidden states (S, N, D); given ``weights`` replace the computed ones.

        ``hidden`` may be ``None`` when weights are given and ``reads_only_weights`` holds.
        """
        if hidden is None:
            assert weights is not None
            assert self.reads_only_weights
            out = self.mix(weights)
        else:
            state = self.read(hidden)
            out = self.mix(self.weights(state) if weights is None else weights)
            if self.gate is not None:
                out = self.gate(out, state)
        if self.projection is not None:
            out = out @ self.projection
        if hidden is not None and self.config.residual:
            out = out + hidden
        return rms_normalise(out) if self.config.norm == "post" else out


class Attention(nn.Module):
    """An ensemble of attention stacks with the same configuration and one member per seed."""

    def __init__(self, config: AttentionConfig, seeds: tuple[int, ...]) -> None:
        super().__init__()
        self.config = config
        self.seeds = seeds
        shape = (config.input_dim, config.model_dim)
        self.input_map = nn.Parameter(
            normal(seeds, "input_map", shape, INPUT_SCALE * config.input_dim**-0.5)
        )
        self.input_bias = nn.Parameter(
            normal(seeds, "input_bias", (config.model_dim,), OFFSET_SCALE)
        )
        self.layers = nn.ModuleList(
            AttentionLayer(config, seeds, f"layers.{depth}") for depth in range(config.depth)
        )

    @property
    def blocks(self) -> list[AttentionLayer]:
        """The layers in order."""
        return [cast(AttentionLayer, layer) for layer in self.layers]

    def embed(self, points: torch.Tensor) -> torch.Tensor:
        """(S, N, D): the first hidden states of points (N, input_dim) or (S, N, input_dim)."""
        if points.ndim not in (2, 3) or points.shape[-1] != self.config.input_dim:
            raise ValueError(
                f"points has shape {tuple(points.shape)}; it must be (N, {self.config.input_dim})"
                f" or (S, N, {self.config.input_dim}) for this model"
            )
        return points @ self.input_map + self.input_bias.unsqueeze(1)

    def run(self, hidden: torch.Tensor | None, weights: torch.Tensor | None = None) -> torch.Tensor:
        """(S, N, D): all layers, the first one with prescribed ``weights`` if they are given."""
        first, *rest = self.blocks
        out: torch.Tensor = first(hidden, weights)
        for layer in rest:
            out = layer(out)
        return out

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        """Representations (S, N, D) of points (N, input_dim) or (S, N, input_dim)."""
        return self.run(self.embed(points))

    def member(self, index: int, strengths: Sequence[float] | None = None) -> Attention:
        """Member ``index`` alone, or as many copies of it as there are gate ``strengths``.

        Copies share their weights and differ in the strength of the gate, so that a sweep is one
        batched evaluation. A strength of 0 gives the ungated numbers bit for bit.
        """
        check_integer("index", index, 0, len(self.seeds) - 1)
        out = copy.deepcopy(self)
        copies = 1 if strengths is None else len(strengths)
        out.seeds = (self.seeds[index],) * copies
        for parameter in out.parameters():
            parameter.data = parameter.data[index : index + 1].expand(copies, *parameter.shape[1:])
        if strengths is not None and self.config.gate is None:
            raise ValueError("strengths were given for a model without a gate")
        for gate in (layer.gate for layer in out.blocks if layer.gate is not None):
            if strengths is not None:
                gate.strength = torch.tensor(strengths, dtype=torch.float64)
            elif isinstance(gate.strength, torch.Tensor):
                gate.strength = gate.strength[index : index + 1]
        return out


def build_attention(config: AttentionConfig, seeds: Iterable[int] = (0,)) -> Attention:
    """A float64 ``nn.Module`` from points (N, input_dim) or (S, N, input_dim) to (S, N, D).

    The weights of a member depend on its seed and on the parameter's name alone. Gradients are
    off; the trainer turns them on. ``ValueError`` for seeds that are empty, repeated or negative.
    """
    return Attention(config, check_seeds(seeds)).requires_grad_(False)
