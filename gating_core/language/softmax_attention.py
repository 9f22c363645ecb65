"""Softmax attention: the weights of a query are positive and add up to one."""

from __future__ import annotations

import torch
from torch.nn import functional


def weights(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(..., T, n): the softmax of ``scores`` over the keys where ``mask`` (T, n) is true."""
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)


def mix(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """(..., T, d): the mixed values, by PyTorch's fused kernel, which keeps no weights.

    ``mask`` (T, n) is causal; where T = n the kernel's own causal mask is used instead.
    """
    if mask.shape[0] == mask.shape[1]:
        return functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
    return functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
