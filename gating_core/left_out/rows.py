"""Rows of attention scores: what they may hold, and values mixed with some of the keys left out.

Shapes: T queries, n keys, d channels; dots stand for anything before them. A score is -inf where a
query does not see a key. ``kept`` (..., T, n) bool is true for the keys that a query may still use;
its entries for keys that the query does not see do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

DTYPES = (torch.float32, torch.float64)


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
    try:
        torch.broadcast_shapes(tuple(shape), tuple(reference))
    except RuntimeError:
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
