"""Linear attention, its mixture with softmax in a window, and the gated delta rule.

*Linear attention*: the weight of a key is phi(q) · phi(k), for a feature map phi that is positive.
Source: Katharopoulos et al., *Transformers are RNNs*, arXiv 2006.16236, equations 4 to 9.

The *gated delta rule* is linear attention whose state decays and is corrected by each token:
``S <- a S``, then ``S <- S + b (v - S k) kᵀ``, and ``o = S q / √d``, with q and k of unit length.
a = 1 is the delta rule; without ``- S k`` it is unnormalised linear attention. Source: Yang, Kautz
and Hatamizadeh, *Gated Delta Networks*, arXiv 2412.06464, and the public code of Qwen3-Next, whose
a, b and output `log_decays`, a sigmoid and `gated_output` are. `delta_weights` has the same outputs
as that recurrence, in the form of weights.

Shapes: T queries of n keys (of the delta rule: the last T of n tokens), d channels of keys, e of
values, f features; dots stand for texts, heads, seeds. A state is (..., e, d); a decay a is given
as log a <= 0.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from gating_core.attention.mechanisms import feature_map
from gating_core.lm.efficient.rows import check_mask

EPSILON = 1e-6  # added to squared lengths, and to means of squares


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


# --- The gated delta rule -------------------------------------------------------------------------


def unit_length(x: torch.Tensor) -> torch.Tensor:
    """(..., d): x / √(|x|² + ε), finite for x = 0 too."""
    return x * (x.square().sum(-1, keepdim=True) + EPSILON).rsqrt()


def log_decays(logits: torch.Tensor, log_rate: torch.Tensor) -> torch.Tensor:
    """Return log a = -exp(A) softplus(logit), shaped as ``logits``; A = ``log_rate``, by head."""
    return -log_rate.exp() * functional.softplus(logits)


def gated_output(mixed: torch.Tensor, gate: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
    """(..., e): RMSNorm(o) ⊙ SiLU(z), o = ``mixed``, z = ``gate``, the norm's ``gain`` (e,)."""
    return functional.rms_norm(mixed, mixed.shape[-1:], gain, EPSILON) * functional.silu(gate)


def delta_weights(
    queries: torch.Tensor, keys: torch.Tensor, log_decay: torch.Tensor, step: torch.Tensor
) -> torch.Tensor:
    """(..., T, n): the weights of the values in the outputs, from a state of zeros.

    For queries (..., T, d) of the last T of n tokens, whose keys are (..., n, d). Weights can be
    negative, and need not add up to one. ``ValueError`` where sizes do not fit; the tensors'
    contents are not checked.
    """
    shape = keys.shape[:-1]
    if (
        min(queries.ndim, keys.ndim) < 2
        or queries.shape[-1] != keys.shape[-1]
        or queries.shape[-2] > shape[-1]
        or log_decay.shape[-1:] != shape[-1:]
        or step.shape[-1:] != shape[-1:]
    ):
        shapes = [tuple(x.shape) for x in (queries, keys, log_decay, step)]
        raise ValueError(
            f"queries, keys, log_decay and step have the shapes {shapes};"
            " they must be (..., T, d), (..., n, d), T <= n, (..., n) and (..., n)"
        )
    q, k = unit_length(queries), unit_length(keys)
    # (..., n, n): the product of the decays of tokens j + 1 to i; 0 above the diagonal. Logarithms
    # are summed anew for each j: differences of one cumulative sum would cancel.
    later = log_decay[..., :, None].expand(*log_decay.shape, shape[-1]).tril(-1)
    decay = later.cumsum(-2).exp().tril()
    ahead = k.shape[-2] - q.shape[-2]
    read = (q @ k.mT * decay[..., ahead:, :]).tril(ahead) * q.shape[-1] ** -0.5
    # W (I + b L) = read, then W diag(b), where b L holds each token's corrections of earlier ones.
    corrections = step[..., None] * (k @ k.mT * decay).tril(-1)
    solved = torch.linalg.solve_triangular(
        corrections,
        read,
        upper=False,
        left=False,
        unitriangular=True,  # the diagonal counts as 1
    )
    return solved * step[..., None, :]
