"""Entropies in nats: of attention weights, and of predictions of the next character."""

from __future__ import annotations

import torch


def attention_entropies(weights: torch.Tensor) -> torch.Tensor:
    """(..., T): the entropy of each query's weights (..., T, n), divided by their sum.

    At most the logarithm of the number of visible keys; NaN where all weights are zero.
    """
    return torch.special.entr(weights / weights.sum(-1, keepdim=True)).sum(-1)


def prediction_entropies(logits: torch.Tensor) -> torch.Tensor:
    """(...): the entropy of the softmax of ``logits`` (..., V)."""
    return torch.special.entr(logits.softmax(-1)).sum(-1)
