"""The base class of kinds of attention with parameters besides queries, keys and values.

Shapes: B texts, T queries, the last of n tokens, D width, H heads of d channels.
"""

from __future__ import annotations

import torch
from torch import nn


class LearnedAttention(nn.Module):
    """Weights of values with parameters of their own, for ``heads`` heads of ``channels``."""

    def __init__(self, heads: int, channels: int, window: int | None) -> None:
        super().__init__()
        self.heads, self.window = heads, window
        # Replaces the learned share of the window while it is set: see `left_out.BRANCHES`.
        self.share: float | None = None

    def of_keys(self, states: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Further tensors of each key, (B, H, T, ·) each, from ``states`` (B, T, D)."""
        return ()

    def forward(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        scores: torch.Tensor,
        *of_keys: torch.Tensor,
    ) -> torch.Tensor:
        """(B, H, T, n): the weights; ``scores`` (B, H, T, n) are q·k / √d, ``of_keys`` as above."""
        raise NotImplementedError

    def finish(self, mixed: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """(B, H, T, d): the output from ``mixed`` values (B, H, T, d) and ``states`` (B, T, D)."""
        return mixed
