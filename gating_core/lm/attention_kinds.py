"""The kinds of attention, a row each: how queries and keys become weights of values.

Shapes: B texts, H heads of d channels, T queries, n keys, D width; dots stand for texts and heads.
Queries are the last T of the n positions, so row i sees keys up to i + n - T.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from gating_core.lm.efficient.delta_correction import window_mask
from gating_core.lm.efficient.linear import (
    delta_weights,
    elu_features,
    exponential_features,
    gated_output,
    hybrid,
    linear_weights,
    log_decays,
)

DELTA_MEMORY = (4.0, 128.0)  # characters, of the first and the last head before training


def causal_mask(queries: int, keys: int, window: int | None = None) -> torch.Tensor:
    """(T, n) bool, true where a query sees a key: its own and those before it.

    With a ``window``, the last ``window`` of these only.
    """
    if window is not None:
        return window_mask(keys, window)[keys - queries :]
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)


def scaled_products(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """(..., T, n): q·k / √d for queries (..., T, d) and keys (..., n, d)."""
    return queries @ keys.mT * queries.shape[-1] ** -0.5


# --- Weights from scores (..., T, n) and a mask (T, n) --------------------------------------------


def softmax_weights(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(..., T, n): the softmax of ``scores`` over the keys where ``mask`` is true."""
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)


def softmax_fused(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """(..., T, d): the mixed values, by PyTorch's fused kernel, which keeps no weights.

    ``mask`` (T, n) is causal; where T = n the kernel's own causal mask is used instead.
    """
    if mask.shape[0] == mask.shape[1]:
        return functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
    return functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)


def relu_weights(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(..., T, n): relu of ``scores``, 0 where ``mask`` is false; they need not add up to one.

    A query without positive scores has the output zero, so no key has to serve as a sink. Guo et
    al., *Active-Dormant Attention Heads*, arXiv 2410.13835, use it in place of the softmax.
    """
    return scores.relu() * mask


# --- Weights with parameters of their own ---------------------------------------------------------


class LearnedAttention(nn.Module):
    """The base class of attention with parameters besides queries, keys and values."""

    def __init__(self, heads: int, channels: int, window: int | None) -> None:
        super().__init__()
        self.heads, self.window = heads, window

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


class SinkAttention(LearnedAttention):
    """Softmax attention with a learned logit for each head in its denominator: a sink logit.

    The weights are e^z / (Σ e^z + e^s), so that a query may give its values little weight or none.
    That is a gate per head, Z / (Z + e^s) with Z = Σ e^z, without a matrix of its own (as gpt-oss).
    """

    def __init__(self, heads: int, channels: int, window: int | None) -> None:
        super().__init__(heads, channels, window)
        self.sink = nn.Parameter(torch.zeros(heads, 1, 1))

    def forward(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        scores: torch.Tensor,
        *of_keys: torch.Tensor,
    ) -> torch.Tensor:
        """(B, H, T, n): the weights of the keys; what they lack of one is the sink's."""
        mask = causal_mask(scores.shape[-2], scores.shape[-1], self.window)
        sink = self.sink.expand(*scores.shape[:-1], 1)
        logits = torch.cat([scores.masked_fill(~mask, -torch.inf), sink], -1)
        return logits.softmax(-1)[..., :-1]


class EluAttention(LearnedAttention):
    """Linear attention with features elu + 1, alone or mixed with a softmax window.

    With a window the weights are ``w · window + (1 - w) · linear``; ``balance`` is the logit of w,
    learned for each head.
    """

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
        """(B, H, T, n): linear weights, or their mixture with softmax weights of the window."""
        lengths = scores.shape[-2], scores.shape[-1]
        linear = linear_weights(*self.features(queries, keys), causal_mask(*lengths))
        if self.window is None:
            return linear
        window = softmax_weights(scores, causal_mask(*lengths, self.window))
        return hybrid(window, linear, self.balance.sigmoid())


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
        """Return exponential features of queries and keys after the learned maps of each head."""
        return (
            exponential_features(queries, self.query_map),
            exponential_features(keys, self.key_map),
        )


class DeltaAttention(LearnedAttention):
    """The gated delta rule in the form of weights: decay, step and output gate of each state.

    As in the public code of Qwen3-Next, but without its convolution. ``ValueError`` for a window.
    """

    def __init__(self, heads: int, channels: int, window: int | None) -> None:
        super().__init__(heads, channels, window)
        if window is not None:
            raise ValueError(f"window is {window}; the gated delta rule has none")
        width = heads * channels
        shortest, longest = map(math.log, DELTA_MEMORY)
        self.log_rate = nn.Parameter(-torch.linspace(shortest, longest, heads))
        self.decay, self.step = nn.Linear(width, heads), nn.Linear(width, heads)
        self.gate, self.gain = nn.Linear(width, width), nn.Parameter(torch.ones(channels))

    def of_keys(self, states: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return log a and b (B, H, T, 1) of each token."""
        by_token = log_decays(self.decay(states), self.log_rate), self.step(states).sigmoid()
        return tuple(part.mT[..., None] for part in by_token)

    def forward(
        self,
        queries: torch.Tensor,
        keys: torch.Tensor,
        scores: torch.Tensor,
        *of_keys: torch.Tensor,
    ) -> torch.Tensor:
        """(B, H, T, n): the delta rule as weights; ``of_keys`` are log a and b (B, H, T, 1)."""
        log_decay, step = (part.squeeze(-1) for part in of_keys)
        return delta_weights(queries, keys, log_decay, step)

    def finish(self, mixed: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """(B, H, T, d): RMSNorm of the mixed values times SiLU of the output gate."""
        gate = self.gate(states).unflatten(-1, (self.heads, -1)).transpose(-3, -2)
        return gated_output(mixed, gate, self.gain)


# --- The table ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AttentionKind:
    """A way to compute attention weights. The output is always the weighted sum of values."""

    # From scores and mask.
    weights: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = softmax_weights
    # A fused kernel with the same outputs, from queries, keys, values and causal mask, or None.
    fused: Callable[..., torch.Tensor] | None = None
    # Makes a module that computes the weights instead, from heads, channels and window; or None.
    learned: Callable[[int, int, int | None], LearnedAttention] | None = None


ATTENTION_KINDS = {
    "softmax": AttentionKind(fused=softmax_fused),
    "softmax_sink": AttentionKind(learned=SinkAttention),
    "relu": AttentionKind(relu_weights),
    "linear_elu": AttentionKind(learned=EluAttention),
    "linear_exponential": AttentionKind(learned=ExponentialAttention),
    "delta": AttentionKind(learned=DeltaAttention),
}
