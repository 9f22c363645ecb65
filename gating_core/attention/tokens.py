"""What is attention among tokens? Keys and values are computed from the input, and move with it.

Shapes: S seeds, N points, D model dimension, H heads of d = D / H channels, n tokens, of which m
ask: all, or in the last layer token 1; hidden states are (S, n, N, D).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gating_core.attention.layer import AttentionLayer, Draw
from gating_core.points_last import product

if TYPE_CHECKING:
    from gating_core.attention.config import AttentionConfig


class TokenLayer(AttentionLayer):
    """Softmax self-attention without mask or positions."""

    come_from = "tokens, each an affine map of the input"
    fixed_values = False
    no_weight_chart = "tokens' values move with their weights"

    @staticmethod
    def state_axes(config: AttentionConfig) -> tuple[int, ...]:
        return (config.value_count,)

    @staticmethod
    def step_numbers(config: AttentionConfig) -> int:
        return config.value_count**2

    @staticmethod
    def cost(config: AttentionConfig) -> int:
        return config.model_dim * config.value_count**2 * 8  # they look at each other in pairs

    def make_weights(self, draw: Draw) -> None:
        dim = self.config.model_dim
        self.query = draw("query", (dim, dim), dim**-0.5)
        self.key_map = draw("key_map", (dim, dim), dim**-0.5)
        self.value_map = draw("value_map", (dim, dim), dim**-0.5)

    def attend(
        self,
        asking: torch.Tensor | None,
        states: torch.Tensor | None,
        weights: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        assert asking is not None
        assert states is not None
        weights = self.weights(asking, states)
        return self.mix(weights, states), weights[:, :, 0].transpose(-1, -2)

    def sharpen(self, factor: float) -> None:
        self.key_map.data *= factor

    def weights(self, asking: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """(S, H, m, n, N): how the m ``asking`` tokens (S, m, N, D) weigh all n ``states``."""
        query = self.gated("G4", product(asking, self.query.unsqueeze(1)), asking)
        keys = self.gated("G3", product(states, self.key_map.unsqueeze(1)), states)
        query, keys = self._by_head(query), self._by_head(keys)
        products = query.transpose(2, 3) @ keys.permute(0, 1, 3, 4, 2)  # (S, H, N, m, n)
        return torch.softmax(products * query.shape[-1] ** -0.5, -1).permute(0, 1, 3, 4, 2)

    def mix(self, weights: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """(S, m, N, D): the tokens' values averaged with ``weights`` (S, H, m, n, N)."""
        values = self.gated("G2", product(states, self.value_map.unsqueeze(1)), states)
        values = self._by_head(values).permute(0, 1, 3, 2, 4)  # (S, H, N, n, d)
        mixed = weights.permute(0, 1, 4, 2, 3) @ values  # (S, H, N, m, d)
        return mixed.permute(0, 3, 2, 1, 4).flatten(-2)

    def _by_head(self, states: torch.Tensor) -> torch.Tensor:
        """(S, n, N, D) to (S, H, n, N, d)."""
        return states.unflatten(-1, (self.config.heads, -1)).permute(0, 3, 1, 2, 4)

    def seen_gate(self, states: torch.Tensor | None, mixed: torch.Tensor) -> torch.Tensor | None:
        gate = super().seen_gate(states, mixed)
        if self.gate is None or gate is None:
            return None
        return gate.mean(1) if self.gate.config.position in ("G2", "G3") else gate[:, 0]
