"""Rows of attention scores: checks, values mixed with some keys left out, and the exact change.

P is a row of softmax weights, P̂ the kept weights renormalised, τ the tail mass, which is their
total variation distance. The output changes by o - ô = τ (μ_tail - μ_head), where μ_head and μ_tail
are the means, weighted by P, of the values that are kept and left out: so |o - ô| <= τ · diameter
of the values. Tzachristas et al., arXiv 2512.07647. All of it holds for any set of kept keys; the k
largest weights leave out least.

Shapes: T queries, n keys, d channels; dots stand for anything before them. A score is -inf where a
query does not see a key. ``kept`` (..., T, n) bool is true for the keys that a query may still use;
its entries for keys that the query does not see do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from gating_core.checks import check_integer

DTYPES = (torch.float32, torch.float64)
MOST = 2**31 - 1  # of any number of keys, queries or channels


def check_scores(scores: torch.Tensor) -> None:
    """``ValueError`` unless ``scores`` (..., n) are rows of which each sees a key.

    They must be float32 or float64, finite or -inf.
    """
    if scores.dtype not in DTYPES:
        raise ValueError(f"scores are {scores.dtype}; they must be float32 or float64")
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"scores have shape {tuple(scores.shape)}; they must be (..., n), n > 0")
    if scores.isnan().any() or scores.isposinf().any():
        raise ValueError("scores contain NaN or +inf; they must be finite, or -inf where unseen")
    if scores.isneginf().all(-1).any():
        raise ValueError("a row of scores is -inf throughout; every query must see a key")


def check_values(scores: torch.Tensor, values: torch.Tensor) -> None:
    """``ValueError`` unless ``values`` (..., n, d) are finite, one for each key of ``scores``."""
    check_scores(scores)
    if values.ndim < 2 or scores.ndim < 2 or values.shape[-2] != scores.shape[-1]:
        raise ValueError(
            f"scores have shape {tuple(scores.shape)} and values {tuple(values.shape)};"
            " they must be (..., T, n) and (..., n, d)"
        )
    _check_broadcast("values", values.shape[:-2], scores.shape[:-2])
    if values.dtype != scores.dtype:
        raise ValueError(f"values are {values.dtype}; they must be {scores.dtype}, as the scores")
    if not values.isfinite().all():
        raise ValueError("values contain NaN or infinite numbers; all must be finite")


def check_mask(name: str, mask: torch.Tensor, shape: Sequence[int]) -> None:
    """``ValueError`` unless ``mask`` is bool, with the last axis of ``shape``, and broadcasts."""
    if mask.dtype is not torch.bool:
        raise ValueError(f"{name} is {mask.dtype}; it must be bool")
    if not mask.ndim or mask.shape[-1] != shape[-1]:
        raise ValueError(
            f"{name} has shape {tuple(mask.shape)}; its last axis must have {shape[-1]} keys"
        )
    _check_broadcast(name, mask.shape, shape)


def _check_broadcast(name: str, shape: Sequence[int], reference: Sequence[int]) -> None:
    try:  # torch.broadcast_shapes imports SymPy, which costs a visitor three seconds
        np.broadcast_shapes(tuple(shape), tuple(reference))
    except ValueError:
        raise ValueError(
            f"{name} have {tuple(shape)} where scores have {tuple(reference)};"
            " one must broadcast to the other"
        ) from None


def kept_scores(scores: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """(..., n): ``scores`` with -inf for the keys that are not kept.

    ``ValueError`` where a query keeps no key that it sees, or ``kept`` is no mask of the scores.
    """
    check_scores(scores)
    check_mask("kept", kept, scores.shape)
    result = scores.masked_fill(~kept, -torch.inf)
    if result.isneginf().all(-1).any():
        raise ValueError("kept leaves a query without keys; it must keep one that the query sees")
    return result


def kept_weights(scores: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """(..., n): the softmax over the keys that are seen and kept; 0 for all others."""
    return kept_scores(scores, kept).softmax(-1)


def mixed(
    scores: torch.Tensor, values: torch.Tensor, kept: torch.Tensor | None = None
) -> torch.Tensor:
    """(..., T, d): the outputs of attention over all keys, or over those that are ``kept``."""
    check_values(scores, values)
    weights = scores.softmax(-1) if kept is None else kept_weights(scores, kept)
    return weights @ values


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


def tail_mass(scores: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """(...): τ, the sum of the softmax weights of the keys that are not kept."""
    check_scores(scores)
    check_mask("kept", kept, scores.shape)
    shifted = scores - scores.amax(-1, keepdim=True)  # logarithms near 0 round least
    tail = shifted.masked_fill(kept, -torch.inf)
    return (tail.logsumexp(-1) - shifted.logsumexp(-1)).exp()


def output_error(
    scores: torch.Tensor, values: torch.Tensor, kept: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(..., T) each: the error |o - ô| if only ``kept`` keys (..., T, n) are mixed, and its bound.

    For ``scores`` (..., T, n) and ``values`` (..., n, d). The bound is τ times the `diameter`, for
    which T n² distances are computed: for short texts.
    """
    check_values(scores, values)
    error = (scores.softmax(-1) - kept_weights(scores, kept)) @ values
    seen = ~scores.isneginf()
    bound = tail_mass(scores, kept) * diameter(values, kept & seen, ~kept & seen)
    return error.norm(dim=-1), bound


def diameter(values: torch.Tensor, head: torch.Tensor, tail: torch.Tensor) -> torch.Tensor:
    """(..., T): the largest distance of a value in ``head`` from one in ``tail`` (..., T, n).

    0 where either is empty. The distance of the means of both is at most this.
    """
    distances = torch.cdist(values, values, compute_mode="donot_use_mm_for_euclid_dist")
    pairs = head[..., :, None] & tail[..., None, :]  # (..., T, n, n)
    return torch.where(pairs, distances[..., None, :, :], 0.0).flatten(-2).amax(-1)
