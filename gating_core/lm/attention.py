"""Attention of one block: queries, keys and values of a text, a gate, and the projection.

Shapes: B texts, T characters that are read, n keys (T, and those of a cache before them), D
width, H heads of d = D / H channels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import nn

from gating_core.attention import GATE_KINDS
from gating_core.lm.attention_kinds import ATTENTION_KINDS, causal_mask
from gating_core.lm.config import ModelConfig

# By the name of a result: from a layer's number (0 is the first) and the result, what is used in
# its place. Names are the fields of `BlockRecord`, and those that `LanguageModel.forward` adds.
Hooks = Mapping[str, Callable[[int, torch.Tensor], torch.Tensor]]


def see(hooks: Hooks, layer: int, name: str, result: torch.Tensor) -> torch.Tensor:
    """Return a block's ``result`` called ``name``, as the hook of that name has it."""
    return hooks[name](layer, result) if name in hooks else result


@dataclass
class KeyValueCache:
    """Keys, values, values before a gate (B, H, n, d), and `of_keys`, of the characters read."""

    layers: dict[int, tuple[torch.Tensor, ...]] = field(default_factory=dict)
    length: int = 0  # characters read

    def extend(self, layer: int, *new: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Append the tensors of further characters, and return those of all."""
        if layer in self.layers:
            new = tuple(torch.cat(both, -2) for both in zip(self.layers[layer], new, strict=True))
        self.layers[layer] = new
        return new


class CausalAttention(nn.Module):
    """Multi-head causal attention with a gate at G1 or G2, or without.

    The gate's factor is ``(1 - strength) + strength * sigma(W h + b)``, one a channel or one a
    head, where h is the input state. At strength 0 it is left out altogether.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.kind = config.heads, ATTENTION_KINDS[config.attention]
        self.window, self.learned = config.window, None
        if self.kind.learned is not None:
            channels = config.width // config.heads
            self.learned = self.kind.learned(config.heads, channels, config.window)
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.project = nn.Linear(config.width, config.width, bias=False)
        self.gate_config, self.gate = config.gate, None
        if config.gate is not None:
            elementwise = config.gate.granularity == "elementwise"
            self.gate = nn.Linear(config.width, config.width if elementwise else config.heads)

    def gate_values(self, states: torch.Tensor, strength: float) -> torch.Tensor | None:
        """(B, T, D or H): the gate's factors at ``states`` (B, T, D); ``None`` without a gate.

        ``strength`` (0 to 1) multiplies that of the configuration.
        """
        if self.gate is None or self.gate_config is None:
            return None
        strength = strength * self.gate_config.strength
        if strength == 0:
            return None
        values = GATE_KINDS[self.gate_config.kind].sigma(self.gate(states))
        return values if strength == 1 else (1 - strength) + strength * values

    def forward(
        self,
        states: torch.Tensor,
        strength: float = 1.0,
        cache: KeyValueCache | None = None,
        hooks: Hooks | None = None,
        layer: int = 0,
    ) -> torch.Tensor:
        """(B, T, D): the output for ``states`` (B, T, D); arguments as of `LanguageModel.forward`.

        Where a hook reads them, weights are computed, else a fused kernel may do without.
        """
        hooks = hooks or {}
        states = see(hooks, layer, "states", states)
        queries, keys, values = (self.by_head(part) for part in self.qkv(states).chunk(3, -1))
        gate = self.gate_values(states, strength)  # (B, T, D or H)
        # (B, H, T, d or 1)
        factors = None if gate is None else self.by_head(see(hooks, layer, "gate", gate))
        at_values = self.gate_config is not None and self.gate_config.position == "G2"
        plain, of_keys = values, self.of_keys(states)
        if factors is not None and at_values:
            values = values * factors
        if cache is not None:
            new = (keys, values, plain, *of_keys)
            keys, values, plain, *rest = cache.extend(layer, *new)
            of_keys = tuple(rest)
        queries = see(hooks, layer, "queries", queries)
        keys = see(hooks, layer, "keys", keys)
        values = see(hooks, layer, "values", values)
        if self.kind.fused is not None and self.window is None and "weights" not in hooks:
            mask = causal_mask(queries.shape[-2], keys.shape[-2])
            mixed = self.kind.fused(queries, keys, values, mask)
        else:
            scores = see(hooks, layer, "scores", self.kind.scores(queries, keys))
            weights = self.weights(queries, keys, scores, *of_keys)
            weights = see(hooks, layer, "weights", weights)
            mixed = self.mix(weights, values, states)
            if "ungated" in hooks:
                ungated = self.mix(weights, plain, states) if at_values else mixed
                see(hooks, layer, "ungated", ungated)
        if factors is not None and not at_values:
            mixed = mixed * factors
        mixed = see(hooks, layer, "mixed", mixed)
        return see(hooks, layer, "output", self.project(mixed.transpose(-3, -2).flatten(-2)))

    def of_keys(self, states: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Further tensors (B, H, T, ·) of each key, from ``states``, for learned kinds."""
        return () if self.learned is None else self.learned.of_keys(states)

    def weights(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        scores: torch.Tensor,
        *of_keys: torch.Tensor,
    ) -> torch.Tensor:
        """(B, H, T, n): the weights of values."""
        if self.learned is not None:
            return self.learned(queries, keys, scores, *of_keys)
        return self.kind.weights(scores, causal_mask(scores.shape[-2], keys.shape[-2], self.window))

    def mix(
        self, weights: torch.Tensor, values: torch.Tensor, states: torch.Tensor
    ) -> torch.Tensor:
        """(B, H, T, d): the mixed values, after the learned kind's `finish`, if there is one."""
        mixed = weights @ values
        return mixed if self.learned is None else self.learned.finish(mixed, states)

    def by_head(self, states: torch.Tensor) -> torch.Tensor:
        """(B, H, T, d): the channels of ``states`` (B, T, H d) by head."""
        return states.unflatten(-1, (self.heads, -1)).transpose(-3, -2)
