"""Hybrid attention: a softmax window for what is near, linear attention for all that was read.

``o = w · window + (1 - w) · linear``, of weights or of outputs. Which of both branches such models
rely on is the question of Benfeghoul et al., *Untangling Component Imbalance in Hybrid Linear
Attention Conversion Methods*, arXiv 2510.05901.
"""

from __future__ import annotations

import torch

BRANCHES = {"window": 0.0, "linear": 1.0}  # w with which that branch is left out


def hybrid(window: torch.Tensor, linear: torch.Tensor, share: torch.Tensor | float) -> torch.Tensor:
    """Mix two branches of one shape, with ``share`` w, which broadcasts to it.

    Where w is 0 or 1 everywhere, one branch is returned as it is: NaN in the other does not matter.
    ``ValueError`` for branches of different shapes, and for a share that is not from 0 to 1.
    """
    if window.shape != linear.shape:
        raise ValueError(
            f"window has the shape {tuple(window.shape)} and linear {tuple(linear.shape)};"
            " they must have the same"
        )
    share = torch.as_tensor(share, dtype=window.dtype, device=window.device)
    if not ((share >= 0) & (share <= 1)).all():
        raise ValueError("share must be from 0 to 1 everywhere")
    if (share == 0).all():
        return linear
    return window if (share == 1).all() else share * window + (1 - share) * linear
