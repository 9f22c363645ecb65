"""Truncation: what changes exactly when attention keeps some keys and leaves the others out.

P is a row of softmax weights, P̂ the kept ones renormalised, τ the mass that is left out. Then
TV(P, P̂) = τ = 1 - exp(-KL(P̂ ‖ P)), and the output changes by o - ô = τ (μ_tail - μ_head), where μ
are the means of the values on either side, weighed by P: so |o - ô| <= τ · diameter of the values.
Tzachristas et al., arXiv 2512.07647. All of it holds for any set of kept keys; the k largest
weights leave out least.

Shapes: T queries, n keys, d channels; dots as in `gating_core.left_out.rows`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gating_core.checks import check_integer
from gating_core.left_out.rows import check_mask, check_scores, check_values, kept_weights

MOST = 2**31 - 1


def top_k(scores: torch.Tensor, k: int) -> torch.Tensor:
    """(..., n) bool: the ``k`` largest scores of each row; of equal ones those that come first.

    All that are seen where ``k`` is larger. ``ValueError`` for k < 1.
    """
    check_scores(scores)
    check_integer("k", k, 1, MOST)
    seen = ~scores.isneginf()
    if k >= scores.shape[-1]:
        return seen
    least = scores.topk(k, -1).values[..., -1:]
    above, equal = scores > least, scores == least
    room = k - above.sum(-1, keepdim=True)
    return (above | (equal & (equal.cumsum(-1) <= room))) & seen


def left_out_mass(scores: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """(...): τ, the softmax weights of what is not kept, added up."""
    check_scores(scores)
    check_mask("kept", kept, scores.shape)
    shifted = scores - scores.amax(-1, keepdim=True)  # logarithms near 0 round least
    tail = shifted.masked_fill(kept, -torch.inf)
    return (tail.logsumexp(-1) - shifted.logsumexp(-1)).exp()


def total_variation(weights: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """(...): half of what the weights (..., n) of two distributions differ by in all.

    ``ValueError`` for weights that are not finite or have different numbers of keys.
    """
    if weights.ndim == 0 or weights.shape[-1:] != others.shape[-1:]:
        raise ValueError(
            f"weights have the shapes {tuple(weights.shape)} and {tuple(others.shape)};"
            " both must have as many keys"
        )
    if not (weights.isfinite().all() and others.isfinite().all()):
        raise ValueError("weights contain NaN or infinite numbers; all must be finite")
    return (weights - others).abs().sum(-1) / 2


def divergence(scores: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """(...): KL(P̂ ‖ P) in nats, of the kept weights renormalised from all weights.

    τ is 1 - exp(-KL). Infinite, or inaccurate, where what is kept has hardly any weight.
    """
    part = kept_weights(scores, kept)
    ratio = torch.where(part > 0, part / scores.softmax(-1), 1.0)
    return (part * ratio.log()).sum(-1)


@dataclass(frozen=True, eq=False)
class OutputError:
    """How far the output of each query moves when keys are left out, and how far it might."""

    direct: torch.Tensor  # (..., T): |o - ô|, both computed
    factored: torch.Tensor  # (..., T): τ |μ_tail - μ_head|, the same number
    bound: torch.Tensor  # (..., T): τ times the diameter, at least as large


def output_error(scores: torch.Tensor, values: torch.Tensor, kept: torch.Tensor) -> OutputError:
    """The error of each output when only ``kept`` keys (..., T, n) are mixed.

    Takes T n² distances: for specimens, not for long texts.
    """
    check_values(scores, values)
    weights, head = scores.softmax(-1), kept_weights(scores, kept)
    mass = left_out_mass(scores, kept)
    out = ~kept & ~scores.isneginf()
    share = weights * out
    total = share.sum(-1, keepdim=True)
    tail = torch.where(total > 0, share / total, head)  # no tail: no difference
    return OutputError(
        direct=((weights - head) @ values).norm(dim=-1),
        factored=mass * ((tail - head) @ values).norm(dim=-1),
        bound=mass * diameter(values, kept & ~scores.isneginf(), out),
    )


def diameter(values: torch.Tensor, head: torch.Tensor, tail: torch.Tensor) -> torch.Tensor:
    """(..., T): the largest distance of a value in ``head`` from one in ``tail`` (..., T, n).

    0 where either is empty. The means of both sides are no further apart.
    """
    distances = torch.cdist(values, values, compute_mode="donot_use_mm_for_euclid_dist")
    pairs = head[..., :, None] & tail[..., None, :]  # (..., T, n, n)
    return torch.where(pairs, distances[..., None, :, :], 0.0).flatten(-2).amax(-1)
