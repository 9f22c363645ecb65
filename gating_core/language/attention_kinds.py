"""The kinds of attention, a row each: functions from queries and keys to weights of values.

A further kind is one small file and one row. Shapes: T queries, n keys, d channels; dots stand for
texts and heads. Queries are the last T of the n positions, so row i sees keys up to i + n - T.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gating_core.language import relu_attention, softmax_attention
from gating_core.language.delta_attention import DeltaAttention
from gating_core.language.learned_attention import LearnedAttention
from gating_core.language.linear_attention import EluAttention, ExponentialAttention


def scaled_products(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """(..., T, n): q·k / √d for queries (..., T, d) and keys (..., n, d)."""
    return queries @ keys.mT * queries.shape[-1] ** -0.5


@dataclass(frozen=True)
class AttentionKind:
    """How attention weights are computed. The output is always the weighted sum of values."""

    title: str  # as within a sentence
    # From scores and mask.
    weights: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = softmax_attention.weights
    scores: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = scaled_products
    # A fused kernel with the same outputs, from queries, keys, values and causal mask, or None.
    fused: Callable[..., torch.Tensor] | None = None
    # Makes a module that computes the weights instead, from heads, channels and window; or None.
    learned: Callable[[int, int, int | None], LearnedAttention] | None = None


ATTENTION_KINDS = {
    "softmax": AttentionKind(
        "softmax attention", softmax_attention.weights, fused=softmax_attention.mix
    ),
    "relu": AttentionKind("ReLU attention", relu_attention.weights),
    "linear_elu": AttentionKind("linear attention, features elu + 1", learned=EluAttention),
    "linear_exponential": AttentionKind(
        "linear attention, learned exponential features", learned=ExponentialAttention
    ),
    "delta": AttentionKind("the gated delta rule", learned=DeltaAttention),
}
