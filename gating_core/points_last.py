"""Products and softmax that keep points next to each other in memory.

A tensor (..., N, D) is "points last" when its N points are neighbours in memory, as in the
transpose of a contiguous (..., D, N). With many points and few channels that is several times
faster. Results are points last if arguments are; else they are computed as torch does. Jets pass
through: their own rules follow the same order.
"""

from __future__ import annotations

import torch


def is_points_last(x: object) -> bool:
    """Return whether ``x`` is a plain tensor whose rows are neighbours in memory."""
    return isinstance(x, torch.Tensor) and x.ndim >= 2 and x.stride(-2) == 1 and x.shape[-2] > 1


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``a @ b``, points last if ``a`` is."""
    return (b.mT @ a.mT).mT if is_points_last(a) else a @ b


def softmax(logits: torch.Tensor) -> torch.Tensor:
    """Softmax over the last axis, points last if ``logits`` are."""
    if is_points_last(logits):
        return torch.softmax(logits.mT, -2).mT
    return torch.softmax(logits, -1)
