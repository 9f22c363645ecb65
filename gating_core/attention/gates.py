"""The multiplicative gate and its controls: a part of a layer that is there or is ``None``.

Shapes: S seeds, D model dimension, H heads of d = D / H channels; dots stand for axes of points,
slots or tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from gating_core.attention.gate_kinds import GateConfig
from gating_core.points_last import product
from gating_core.randomness import normal

BIAS_SCALE = 0.1


class Gate(nn.Module):
    """``x * ((1 - strength) + strength * sigma(W h + b))``, one gate per channel or per head.

    All members have the configuration's strength, unless ``strengths`` names one for each. At 0
    the gate is skipped, so that the result is the ungated one bit for bit. Kinds that do not read
    the state h have no weights.
    """

    strengths: torch.Tensor | None  # (S,), where members have strengths of their own

    def __init__(
        self,
        config: GateConfig,
        model_dim: int,
        heads: int,
        seeds: tuple[int, ...],
        name: str,
        strengths: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.heads = 1 if config.position == "G5" else heads
        own = None if strengths is None else torch.tensor(strengths, dtype=torch.float64)
        self.register_buffer("strengths", own, persistent=False)
        if config.record.reads_state:
            width = model_dim if config.granularity == "elementwise" else self.heads
            scale = model_dim**-0.5
            self.weight = nn.Parameter(normal(seeds, f"{name}.weight", (model_dim, width), scale))
            self.bias = nn.Parameter(normal(seeds, f"{name}.bias", (width,), BIAS_SCALE))

    @property
    def strength(self) -> float | torch.Tensor:
        """One number for all members, or one for each of them (S,)."""
        return float(self.config.strength) if self.strengths is None else self.strengths

    @property
    def idle(self) -> bool:
        """Whether the gate leaves every member's output as it is."""
        return self.strengths is None and self.config.strength == 0

    @property
    def needs_state(self) -> bool:
        """Whether what comes out depends on the state."""
        return self.config.record.reads_state and not self.idle

    def logits(self, states: torch.Tensor | None) -> torch.Tensor:
        """(S, ..., D or H): W h + b for the states h (S, ..., D), of a kind that reads them."""
        assert states is not None
        inner = (1,) * (states.ndim - 3)
        weight = self.weight.unflatten(0, (-1, *inner)) if inner else self.weight
        return product(states, weight) + self.bias.unflatten(0, (-1, *inner, 1))

    @property
    def constant(self) -> torch.Tensor:
        """(S,) or (): whether it multiplies by the same number whatever the input."""
        return (torch.as_tensor(self.strength) == 0) | self.config.record.constant

    def values(self, states: torch.Tensor | None, x: torch.Tensor) -> torch.Tensor:
        """(S, ..., D or H): the factors of ``x``, strength included.

        For an additive control, its summand; a constant may have no axes. ``states``
        (S, ..., D) may be ``None`` where they are not read.
        """
        z = self.logits(states) if self.config.record.reads_state else x
        gate = self.config.record.sigma(z)
        strength = self.strength
        if isinstance(strength, torch.Tensor):
            strength = strength.to(x.dtype).reshape(-1, *(1,) * (x.ndim - 1))
        elif strength == 1.0:
            return gate
        if self.config.record.additive:
            return strength * gate
        return (1 - strength) + strength * gate

    def forward(self, x: torch.Tensor, states: torch.Tensor | None) -> torch.Tensor:
        """(S, ..., D): ``x`` times the gate that ``states`` (S, ..., D) open."""
        if self.idle:
            return x
        gate = self.values(states, x)
        if self.config.record.additive:
            return x + gate
        if self.config.granularity == "elementwise" or self.heads == 1:
            return x * gate
        by_head = x.unflatten(-1, (self.heads, -1)) * gate.unsqueeze(-1)
        return by_head.flatten(-2)
