"""What is attention over learned slots? Keys and values are the same for every input.

Shapes: S seeds, N points, D model dimension, H heads of d = D / H channels, n slots; hidden
states are (S, N, D).
"""

from __future__ import annotations

import torch

from gating_core.attention.layer import OFFSET_SCALE, AttentionLayer, Draw
from gating_core.points_last import product, softmax


class MemoryLayer(AttentionLayer):
    """Softmax attention over n slots, each with a key, a value, and a bias for every head."""

    come_from = "learned slots"
    fixed_values = True
    no_weight_chart = None

    def make_weights(self, draw: Draw) -> None:
        dim, count = self.config.model_dim, self.config.value_count
        self.query = draw("query", (dim, dim), dim**-0.5)
        self.keys = draw("keys", (count, dim), 1.0)
        self.values = draw("values", (count, dim), 1.0)
        self.bias = draw("bias", (self.config.heads, count), OFFSET_SCALE)

    def attend(
        self,
        asking: torch.Tensor | None,
        states: torch.Tensor | None,
        weights: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if weights is None:
            assert asking is not None
            weights = self.weights(asking)
        return self.mix(weights), weights

    def sharpen(self, factor: float) -> None:
        self.keys.data *= factor

    def slot_keys(self) -> torch.Tensor:
        """(S, n, D): the keys in force, gated by themselves at G3."""
        return self.gated("G3", self.keys, self.keys)

    def slot_values(self) -> torch.Tensor:
        return self.gated("G2", self.values, self.values)

    def logit_map(self) -> torch.Tensor:
        query, keys = self._by_head(self.query), self._by_head(self.slot_keys())
        return query @ keys.transpose(-1, -2) * (query.shape[-1] ** -0.5)

    def weights(self, hidden: torch.Tensor) -> torch.Tensor:
        """(S, H, N, n): attention weights over the slots for hidden states (S, N, D)."""
        logits = product(hidden.unsqueeze(1), self.logit_map())
        if self.gate is not None and self.gate.config.position == "G4" and not self.gate.idle:
            # What the gate changes, added on: a gate that is one then changes no bit.
            query = product(hidden, self.query)
            change = self._by_head(self.gate(query, hidden) - query)
            keys = self._by_head(self.slot_keys()).transpose(-1, -2)
            logits = logits + product(change, keys * keys.shape[-2] ** -0.5)
        return softmax(logits + self.bias.unsqueeze(2))

    def mix(self, weights: torch.Tensor) -> torch.Tensor:
        """(S, N, D): values averaged with the attention weights (S, H, N, n)."""
        return product(weights, self._by_head(self.slot_values())).transpose(1, 2).flatten(-2)

    def _by_head(self, matrix: torch.Tensor) -> torch.Tensor:
        """(S, R, D) to (S, H, R, d)."""
        return matrix.unflatten(-1, (self.config.heads, -1)).transpose(1, 2)

    def seen_gate(self, states: torch.Tensor | None, mixed: torch.Tensor) -> torch.Tensor | None:
        if self.gate is None or self.gate.config.position not in ("G2", "G3"):
            return super().seen_gate(states, mixed)
        slots = self.values if self.gate.config.position == "G2" else self.keys
        gate = self.gate.values(slots, slots)
        return gate.mean(1, keepdim=True).expand(-1, mixed.shape[-2], -1)
