"""The multiplicative gate: a part of an attention layer that is there or is ``None``.

Shapes: S seeds, N points, D model dimension, H heads of d = D / H channels.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from gating_core.config import GateConfig
from gating_core.randomness import normal

GATES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {"sigmoid": torch.sigmoid}

BIAS_SCALE = 0.1


class Gate(nn.Module):
    """``y * ((1 - strength) + strength * sigma(W h + b))``, after attention ([Q], position G1).

    ``strength`` is a number, or a tensor (S,) with one strength per ensemble member. At 0 the
    gate is skipped, so that the result is the ungated one bit for bit.
    """

    def __init__(
        self, config: GateConfig, model_dim: int, heads: int, seeds: tuple[int, ...], name: str
    ) -> None:
        super().__init__()
        self.config = config
        self.heads = heads
        self.strength: float | torch.Tensor = float(config.strength)
        width = model_dim if config.granularity == "elementwise" else heads
        scale = model_dim**-0.5
        self.weight = nn.Parameter(normal(seeds, f"{name}.weight", (model_dim, width), scale))
        self.bias = nn.Parameter(normal(seeds, f"{name}.bias", (width,), BIAS_SCALE))

    @property
    def idle(self) -> bool:
        """Whether the gate leaves every member's output as it is."""
        return isinstance(self.strength, float) and self.strength == 0.0

    def values(self, hidden: torch.Tensor) -> torch.Tensor:
        """(S, N, D or H): the gate in force, strength included, for the states it reads."""
        gate = GATES[self.config.kind](hidden @ self.weight + self.bias.unsqueeze(1))
        if isinstance(self.strength, torch.Tensor):
            strength = self.strength.to(self.weight.dtype)[:, None, None]
            return (1 - strength) + strength * gate
        if self.strength == 1.0:
            return gate
        return (1 - self.strength) + self.strength * gate

    def forward(self, mixed: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """(S, N, D): ``mixed`` times the gate that ``hidden`` (S, N, D) opens."""
        if self.idle:
            return mixed
        gate = self.values(hidden)
        if self.config.granularity == "elementwise" or self.heads == 1:
            return mixed * gate
        by_head = mixed.unflatten(-1, (self.heads, -1)) * gate.unsqueeze(-1)
        return by_head.flatten(-2)
