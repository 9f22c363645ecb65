"""Truncation: the exact change of attention's outputs when some keys are left out.

P is a row of softmax weights, P̂ the kept weights renormalised, τ the mass that is left out. Then
TV(P, P̂) = τ = 1 - exp(-KL(P̂ ‖ P)), and the output changes by o - ô = τ (μ_tail - μ_head), where
μ_head and μ_tail are the means, weighted by P, of the values that are kept and left out: so
|o - ô| <= τ · diameter of the values.
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
    """(..., n) bool: the ``k`` largest scores of each row, ties to the earlier key.

    All visible keys where there are fewer. ``ValueError`` for k < 1.
    """
    check_scores(scores)
    check_integer("k", k, 1, MOST)
    visible = ~scores.isneginf()
    if k >= scores.shape[-1]:
        return visible
    least = scores.topk(k, -1).values[..., -1:]
    above, equal = scores > least, scores == least
    room = k - above.sum(-1, keepdim=True)
    return (above | (equal & (equal.cumsum(-1) <= room))) & visible


def left_out_mass(scores: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """(...): τ, the sum of the softmax weights of the keys that are not kept."""
    check_scores(scores)
    check_mask("kept", kept, scores.shape)
    shifted = scores - scores.amax(-1, keepdim=True)  # logarithms near 0 round least
    tail = shifted.masked_fill(kept, -torch.inf)
    return (tail.logsumexp(-1) - shifted.logsumexp(-1)).exp()


def total_variation(weights: torch.Tensor, other_weights: torch.Tensor) -> torch.Tensor:
    """(...): the total variation distance of two distributions, ½ Σ |p - q|, p and q (..., n).

    ``ValueError`` for weights that are not finite or have different numbers of keys.
    """
    if weights.ndim == 0 or weights.shape[-1:] != other_weights.shape[-1:]:
        raise ValueError(
            f"weights have the shapes {tuple(weights.shape)} and {tuple(other_weights.shape)};"
            " both must have as many keys"
        )
    if not (weights.isfinite().all() and other_weights.isfinite().all()):
        raise ValueError("weights contain NaN or infinite numbers; all must be finite")
    return (weights - other_weights).abs().sum(-1) / 2


def divergence(scores: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """(...): KL(P̂ ‖ P) in nats, P̂ the renormalised weights of the kept keys, P all weights.

    τ is 1 - exp(-KL). Infinite, or inaccurate, where the kept keys have hardly any weight.
    """
    part = kept_weights(scores, kept)
    ratio = torch.where(part > 0, part / scores.softmax(-1), 1.0)
    return (part * ratio.log()).sum(-1)


@dataclass(frozen=True, eq=False)
class OutputError:
    """The change of each query's output when keys are left out, and its bound."""

    direct: torch.Tensor  # (..., T): |o - ô|, from both outputs
    factored: torch.Tensor  # (..., T): τ |μ_tail - μ_head|, the same number
    bound: torch.Tensor  # (..., T): τ times the diameter, an upper bound


def output_error(scores: torch.Tensor, values: torch.Tensor, kept: torch.Tensor) -> OutputError:
    """The error of each output when only ``kept`` keys (..., T, n) are mixed.

    For ``scores`` (..., T, n) and ``values`` (..., n, d). Computes T n² distances: for short texts.
    """
    check_values(scores, values)
    weights, head = scores.softmax(-1), kept_weights(scores, kept)
    mass = left_out_mass(scores, kept)
    out = ~kept & ~scores.isneginf()
    share = weights * out
    total = share.sum(-1, keepdim=True)
    tail = torch.where(total > 0, share / total, head)  # an empty tail: no difference
    return OutputError(
        direct=((weights - head) @ values).norm(dim=-1),
        factored=mass * ((tail - head) @ values).norm(dim=-1),
        bound=mass * diameter(values, kept & ~scores.isneginf(), out),
    )


def diameter(values: torch.Tensor, head: torch.Tensor, tail: torch.Tensor) -> torch.Tensor:
    """(..., T): the largest distance of a value in ``head`` from one in ``tail`` (..., T, n).

    0 where either is empty. The distance of the means of both is at most this.
    """
    distances = torch.cdist(values, values, compute_mode="donot_use_mm_for_euclid_dist")
    pairs = head[..., :, None] & tail[..., None, :]  # (..., T, n, n)
    return torch.where(pairs, distances[..., None, :, :], 0.0).flatten(-2).amax(-1)
