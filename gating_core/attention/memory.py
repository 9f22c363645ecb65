"""Attention over learned slots: keys and values are the same for every input.

Shapes: S seeds, N points, D model dimension, H heads of d = D / H channels, n slots; hidden
states are (S, N, D).
"""

from __future__ import annotations

import numpy as np
import torch

from gating_core.attention.layer import OFFSET_SCALE, AttentionLayer, Draw, Mixed, OptionalTensor
from gating_core.points_last import product, softmax
from gating_core.rational import integers


class SlotLayer(AttentionLayer):
    """The base class of mechanisms that weigh n slots, each with a key and a value.

    A subclass computes `weights` from queries and `slot_keys`. With a weight chart it has a
    `logit_map`, which must use the same keys; with fewer fixed vectors than slots, `mixed_values`.
    """

    fixed_values = True

    def make_weights(self, draw: Draw) -> None:
        """Draw the query map (D, D), and keys and values (n, D) of the slots."""
        dim, count = self.config.model_dim, self.config.value_count
        self.query = draw("query", (dim, dim), dim**-0.5)
        self.keys = draw("keys", (count, dim), 1.0)
        self.values = draw("values", (count, dim), 1.0)

    def weights(self, hidden: torch.Tensor) -> torch.Tensor:
        """(S, H, N, n): attention weights over the slots for hidden states (S, N, D)."""
        raise NotImplementedError

    def attend(
        self,
        query_states: OptionalTensor,
        states: OptionalTensor,
        weights: OptionalTensor,
        mask: OptionalTensor,
    ) -> Mixed:
        """Return outputs (S, N, D) and weights (S, H, N, n): the given ones or the queries'."""
        if weights is None:
            assert query_states is not None
            weights = self.weights(query_states)
        return self.mix(weights), weights

    def plain_values(self, states: OptionalTensor) -> torch.Tensor:
        """Return the slots' values (S, n, 1, D) before any gate, the same for all states."""
        return self.values.unsqueeze(2)

    def sharpen(self, factor: float) -> None:
        """Multiply the slots' keys by ``factor``, in place; biases stay."""
        self.keys.data *= factor

    def slot_keys(self) -> torch.Tensor:
        """(S, n, D): the keys in force, gated by themselves at G3."""
        return self.gated("G3", self.keys, self.keys)

    def slot_values(self) -> torch.Tensor:
        """Return the slots' values (S, n, D) in force, gated by themselves at G2."""
        return self.gated("G2", self.values, self.values)

    def mix(self, weights: torch.Tensor) -> torch.Tensor:
        """(S, N, D): the sum of values times attention weights (S, H, N, n)."""
        return product(weights, self.by_head(self.slot_values())).transpose(1, 2).flatten(-2)

    def by_head(self, matrix: torch.Tensor) -> torch.Tensor:
        """(S, R, D) to (S, H, R, d)."""
        return matrix.unflatten(-1, (self.config.heads, -1)).transpose(1, 2)

    def recorded_gate(self, states: OptionalTensor, mixed: torch.Tensor) -> OptionalTensor:
        """Return the gate (S, N, D or H); at G2 and G3 its mean over slots, for all points."""
        if self.gate is None or self.gate.config.position not in ("G2", "G3"):
            return super().recorded_gate(states, mixed)
        slots = self.values if self.gate.config.position == "G2" else self.keys
        gate = self.gate.values(slots, slots)
        return gate.mean(1, keepdim=True).expand(-1, mixed.shape[-2], -1)


class MemoryLayer(SlotLayer):
    """Softmax attention over slots that also have a bias for every head."""

    title = "Softmax attention over learned slots"
    come_from = "learned slots"
    weights_on_simplex = True
    has_softmax = True
    no_weight_chart = None

    def make_weights(self, draw: Draw) -> None:
        """Draw what `SlotLayer` draws, and a bias (H, n) of the logits."""
        super().make_weights(draw)
        self.bias = draw("bias", (self.config.heads, self.config.value_count), OFFSET_SCALE)

    def logit_map(self) -> torch.Tensor:
        """Return the map (S, H, D, n) from states to logits without bias: W_q k_j / sqrt(d)."""
        query, keys = self.by_head(self.query), self.by_head(self.slot_keys())
        return query @ keys.transpose(-1, -2) * (query.shape[-1] ** -0.5)

    def exact_slots(self, member: int) -> tuple[np.ndarray, np.ndarray]:
        """Return keys (n, D) and values (n, D) in integers; with a sink, one more slot of zeros."""
        keys = integers(self.keys[member]) @ integers(self.query[member]).T
        values = integers(self.values[member])
        if self.config.sink == "none":
            return keys, values
        return np.vstack([keys, 0 * keys[:1]]), np.vstack([values, 0 * values[:1]])

    def mixed_values(self) -> torch.Tensor:
        """Return the values (S, n, D) in force; a sink adds the origin as one more."""
        values = self.slot_values()
        if self.config.sink == "none":
            return values
        return torch.cat([values, torch.zeros_like(values[:, :1])], 1)

    def weights(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return softmax weights (S, H, N, n) of states (S, N, D); a sink's share is left out."""
        logits = product(hidden.unsqueeze(1), self.logit_map())
        if self.gate is not None and self.gate.config.position == "G4" and not self.gate.idle:
            # What the gate changes, added on: a gate that is one then changes no bit.
            query = product(hidden, self.query)
            change = self.by_head(self.gate(query, hidden) - query)
            keys = self.by_head(self.slot_keys()).transpose(-1, -2)
            logits = logits + product(change, keys * keys.shape[-2] ** -0.5)
        return self.beside_sink(softmax, logits + self.bias.unsqueeze(2))
