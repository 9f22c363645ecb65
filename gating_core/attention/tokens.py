"""Attention among tokens: keys and values are computed from the input, and move with it.

Shapes: S seeds, N points, D model dimension, H heads of d = D / H channels, n tokens, of which m
have queries: all, or in the last layer token 1; hidden states are (S, n, N, D).
"""

from __future__ import annotations

from functools import partial

import torch

from gating_core.attention.layer import AttentionLayer, Draw, LayerConfig, Mixed, OptionalTensor
from gating_core.points_last import product


class TokenLayer(AttentionLayer):
    """Softmax self-attention without positions; all tokens read each other unless a mask is given.

    Masked logits are minus infinity, which jets have no finite error bound for.
    """

    title = "Softmax attention among tokens, read out at the first"
    come_from = "tokens, each an affine map of the input"
    fixed_values = False
    weights_on_simplex = True
    has_softmax = True
    no_weight_chart = "tokens' values move with their weights"

    @staticmethod
    def state_axes(config: LayerConfig) -> tuple[int, ...]:
        """Return the axis of the n tokens: hidden states are (S, n, N, D)."""
        return (config.value_count,)

    def make_weights(self, draw: Draw) -> None:
        """Draw the maps (D, D) of queries, keys and values."""
        dim = self.config.model_dim
        self.query = draw("query", (dim, dim), dim**-0.5)
        self.key_map = draw("key_map", (dim, dim), dim**-0.5)
        self.value_map = draw("value_map", (dim, dim), dim**-0.5)

    def attend(
        self,
        query_states: OptionalTensor,
        states: OptionalTensor,
        weights: OptionalTensor,
        mask: OptionalTensor,
    ) -> Mixed:
        """Return outputs (S, m, N, D) of m tokens, and weights (S, H, N, n) of the first one."""
        assert query_states is not None
        assert states is not None
        weights = self.weights(query_states, states, mask)
        return self.mix(weights, states), weights[:, :, 0].transpose(-1, -2)

    def plain_values(self, states: OptionalTensor) -> torch.Tensor:
        """Return the tokens' values (S, n, N, D) before any gate."""
        assert states is not None
        return product(states, self.value_map.unsqueeze(1))

    def sharpen(self, factor: float) -> None:
        """Multiply the key map by ``factor``, in place."""
        self.key_map.data *= factor

    def weights(
        self, query_states: torch.Tensor, states: torch.Tensor, mask: OptionalTensor = None
    ) -> torch.Tensor:
        """(S, H, m, n, N): how the m tokens of ``query_states`` (S, m, N, D) weigh all n."""
        query = self.gated("G4", product(query_states, self.query.unsqueeze(1)), query_states)
        keys = self.gated("G3", product(states, self.key_map.unsqueeze(1)), states)
        query, keys = self._by_head(query), self._by_head(keys)
        logits = query.transpose(2, 3) @ keys.permute(0, 1, 3, 4, 2)  # (S, H, N, m, n)
        logits = logits * query.shape[-1] ** -0.5
        if mask is not None:
            logits = torch.where(mask[: query_states.shape[1]], logits, -torch.inf)
        weights = self.beside_sink(partial(torch.softmax, dim=-1), logits)
        return weights.permute(0, 1, 3, 4, 2)

    def mix(self, weights: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """(S, m, N, D): the tokens' values averaged with ``weights`` (S, H, m, n, N)."""
        values = self.gated("G2", self.plain_values(states), states)
        values = self._by_head(values).permute(0, 1, 3, 2, 4)  # (S, H, N, n, d)
        mixed = weights.permute(0, 1, 4, 2, 3) @ values  # (S, H, N, m, d)
        return mixed.permute(0, 3, 2, 1, 4).flatten(-2)

    def _by_head(self, states: torch.Tensor) -> torch.Tensor:
        """(S, n, N, D) to (S, H, n, N, d)."""
        return states.unflatten(-1, (self.config.heads, -1)).permute(0, 3, 1, 2, 4)

    def recorded_gate(self, states: OptionalTensor, mixed: torch.Tensor) -> OptionalTensor:
        """Return the gate (S, N, D or H) of token 1; at G2 and G3 its mean over all tokens."""
        gate = super().recorded_gate(states, mixed)
        if self.gate is None or gate is None:
            return None
        return gate.mean(1) if self.gate.config.position in ("G2", "G3") else gate[:, 0]
