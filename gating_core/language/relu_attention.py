"""ReLU attention: weights are the positive scores themselves and need not add up to one.

A query without positive scores has the output zero, so no key has to serve as a sink. Guo et al.,
*Active-Dormant Attention Heads*, arXiv 2410.13835, use it in place of the softmax.
"""

from __future__ import annotations

import torch


def weights(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(..., T, n): relu of ``scores`` (..., T, n), 0 where ``mask`` (T, n) is false."""
    return scores.relu() * mask
