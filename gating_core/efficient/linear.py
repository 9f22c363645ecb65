"""Linear attention: the weight of a key is phi(q) · phi(k), for a feature map phi that is positive.

Source: Katharopoulos et al., *Transformers are RNNs*, arXiv 2006.16236, equations 4 to 9. And its
mixture with softmax attention in a window: `hybrid`.

Shapes: T queries of n keys, d channels, f features; dots stand for texts, heads, seeds.
"""

from __future__ import annotations

import torch

from gating_core.attention.mechanisms import feature_map
from gating_core.efficient.rows import check_mask


def elu_features(x: torch.Tensor) -> torch.Tensor:
    """(..., d): elu(d^-1/4 x) + 1 of queries or keys x (..., d).

    The factor is a half of softmax attention's 1 / √d. Source: as above, equation 7.
    """
    return feature_map(x * x.shape[-1] ** -0.25)


def exponential_features(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """(..., 2d): softmax(x W) and softmax(-x W), for x (..., d) and learned W (..., d, d).

    Source: Zhang et al., *The Hedgehog & the Porcupine*, arXiv 2402.04347. ``ValueError`` where
    sizes do not fit.
    """
    if not x.ndim or weight.ndim < 2 or weight.shape[-2] != x.shape[-1]:
        raise ValueError(
            f"x has shape {tuple(x.shape)} and weight {tuple(weight.shape)};"
            " they must be (..., d) and (..., d, d)"
        )
    logits = x @ weight
    return torch.cat((logits.softmax(-1), (-logits).softmax(-1)), -1)


def linear_weights(
    query_features: torch.Tensor, key_features: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """(..., T, n): phi(q) · phi(k), divided by its sum over the keys where ``mask`` is true.

    For features (..., T, f) and (..., n, f), and a mask (T, n) or (..., T, n). A query that sees no
    key, or whose products are all 0, has weights of 0. ``ValueError`` for sizes that do not fit
    and a mask that is not bool; the features' contents are not checked.
    """
    queries, keys = query_features.shape, key_features.shape
    if len(queries) < 2 or len(keys) < 2 or queries[-1] != keys[-1]:
        raise ValueError(
            f"features have the shapes {tuple(queries)} and {tuple(keys)};"
            " they must be (..., T, f) and (..., n, f)"
        )
    check_mask("mask", mask, (*queries[:-1], keys[-2]))
    products = (query_features @ key_features.mT).masked_fill(~mask, 0)
    sums = products.sum(-1, keepdim=True)
    return products / sums.clamp_min(torch.finfo(sums.dtype).tiny)


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
