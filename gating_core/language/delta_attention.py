"""Attention by the gated delta rule: decay, step and output gate are computed from each state.

As in the public code of Qwen3-Next, but without its convolution. Shapes: as in `learned_attention`.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from gating_core.language.learned_attention import LearnedAttention
from gating_core.left_out import delta_weights, gated_output, log_decays

MEMORY = (4.0, 128.0)  # characters, of the first and the last head before training


class DeltaAttention(LearnedAttention):
    """The gated delta rule in the form of weights. ``ValueError`` for a window."""

    def __init__(self, heads: int, channels: int, window: int | None) -> None:
        super().__init__(heads, channels, window)
        if window is not None:
            raise ValueError(f"window is {window}; the gated delta rule has none")
        width = heads * channels
        shortest, longest = map(math.log, MEMORY)
        self.log_rate = nn.Parameter(-torch.linspace(shortest, longest, heads))
        self.decay, self.step = nn.Linear(width, heads), nn.Linear(width, heads)
        self.gate, self.gain = nn.Linear(width, width), nn.Parameter(torch.ones(channels))

    def of_keys(self, states: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """log a and b (B, H, T, 1) of each token."""
        by_token = log_decays(self.decay(states), self.log_rate), self.step(states).sigmoid()
        return tuple(part.mT[..., None] for part in by_token)

    def forward(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        scores: torch.Tensor,
        *of_keys: torch.Tensor,
    ) -> torch.Tensor:
        log_decay, step = (part.squeeze(-1) for part in of_keys)
        return delta_weights(queries, keys, log_decay, step)

    def finish(self, mixed: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        gate = self.gate(states).unflatten(-1, (self.heads, -1)).transpose(-3, -2)
        return gated_output(mixed, gate, self.gain)
