"""Linear attention with fixed or learned features, alone or mixed with a softmax window.

With a window the weights are ``w · window + (1 - w) · linear``, w learned for each head. Shapes: T
queries, n keys, H heads of d channels; dots stand for texts.
"""

from __future__ import annotations

import torch
from torch import nn

from gating_core.language import softmax_attention
from gating_core.language.learned_attention import LearnedAttention
from gating_core.language.masks import causal_mask
from gating_core.left_out import elu_features, exponential_features, hybrid, linear_weights


class EluAttention(LearnedAttention):
    """Features elu + 1; ``balance`` is the logit of w. No ``window``: linear attention alone."""

    def __init__(self, heads: int, channels: int, window: int | None) -> None:
        super().__init__(heads, channels, window)
        self.balance = nn.Parameter(torch.zeros(heads, 1, 1))

    def features(
        self, queries: torch.Tensor, keys: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Positive features of queries and keys."""
        return elu_features(queries), elu_features(keys)

    def forward(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        scores: torch.Tensor,
        *of_keys: torch.Tensor,
    ) -> torch.Tensor:
        lengths = scores.shape[-2], scores.shape[-1]
        linear = linear_weights(*self.features(queries, keys), causal_mask(*lengths))
        if self.window is None:
            return linear
        window = softmax_attention.weights(scores, causal_mask(*lengths, self.window))
        return hybrid(window, linear, self.balance.sigmoid() if self.share is None else self.share)


class ExponentialAttention(EluAttention):
    """Exponential features with two learned matrices for each head, for queries and for keys."""

    def __init__(self, heads: int, channels: int, window: int | None) -> None:
        super().__init__(heads, channels, window)
        self.query_map, self.key_map = (
            nn.Parameter(torch.eye(channels).repeat(heads, 1, 1)) for _ in range(2)
        )

    def features(
        self, queries: torch.Tensor, keys: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return (
            exponential_features(queries, self.query_map),
            exponential_features(keys, self.key_map),
        )
