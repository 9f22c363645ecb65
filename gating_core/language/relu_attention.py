"""ReLU attention: weights are the positive scores themselves and need not add up to one.

A query that nothing answers mixes nothing, so no key has to take what is left over. Guo et al.,
*Active-Dormant Attention Heads*, arXiv 2410.13835, put it in place of the softmax.
"""

from __future__ import annotations

import torch


def weights(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(..., T, n): the positive ``scores`` of keys that ``mask`` (T, n) lets be seen."""
    return scores.relu() * mask
