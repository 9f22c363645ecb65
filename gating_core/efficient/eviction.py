"""Eviction: which keys of a cache are evicted, by a worth of each key, and how outputs change.

Without key p an output is o' with o' - o = a_p / (1 - a_p) (o - v_p), exactly, for its weight a_p
and value v_p. The worth of a key is a sum over the queries that saw it, of one of: its weight a
(the usual one); the first-order change of the output when its value, its key, or both are set to
zero (z: the score q·k / √d), Gu et al., *OBCache*, arXiv 2510.07651, Eq. 4 to 6; the exact change
when this key alone is left out, Zhang et al., *DropKV*, ICML 2026.

Shapes: T queries, n keys, d channels; dots and -inf as in `gating_core.efficient.rows`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from gating_core.checks import check_choice, check_integer
from gating_core.efficient.rows import MOST, check_scores, check_values, top_k

HALF = 0.5  # one weight of a row at most is larger


def mass(scores: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """(..., T, n): the weight a of each key."""
    check_values(scores, values)
    return scores.softmax(-1)


def value_change(scores: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """(..., T, n): |a v|², the squared change of the output if the value is set to zero (Eq. 4)."""
    return mass(scores, values).square() * values.square().sum(-1)[..., None, :]


def key_change(scores: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """(..., T, n): |a z (v - o)|², to first order the same if the key is set to zero (Eq. 5)."""
    weights = mass(scores, values)
    return (weights * _logits(scores) * _distances(weights @ values, values)).square()


def joint_change(scores: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """(..., T, n): |a (v + z (v - o))|², to first order the same if both are set to zero (Eq. 6).

    It is value + key + 2 a² z (|v|² - ⟨v, o⟩).
    """
    weights, logits = mass(scores, values), _logits(scores)
    outputs = weights @ values
    # |v + z (v - o)|² is |(1 + z) v - z o|².
    own, mixture = values.square().sum(-1)[..., None, :], outputs.square().sum(-1)[..., None]
    product = outputs @ values.mT
    squares = (1 + logits) ** 2 * own - 2 * (1 + logits) * logits * product + logits**2 * mixture
    return weights.square() * squares.clamp(min=0)


def exact_change(scores: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """(..., T, n): |o' - o|² without this key alone, exactly.

    0 for a key that the query does not see, and for the only key that it sees.
    """
    weights = mass(scores, values)
    # Up to 1/2 the identity is accurate; above, 1 - a and o - v cancel.
    light = weights / (1 - weights) * _distances(weights @ values, values)
    heavy = _without_heaviest(scores, values).norm(dim=-1, keepdim=True)
    return torch.where(weights > HALF, heavy, light).square()


EVICTION_SCORES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "mass": mass,
    "value": value_change,
    "key": key_change,
    "joint": joint_change,
    "exact": exact_change,
}
RECENCY = "recency"  # the score that needs no attention: the position
POLICIES = (RECENCY, *EVICTION_SCORES)


def key_scores(scores: torch.Tensor, values: torch.Tensor, policy: str) -> torch.Tensor:
    """(..., n): the worth of each key to all T queries together, by one of `POLICIES`."""
    check_choice("policy", policy, POLICIES)
    if policy == RECENCY:
        check_values(scores, values)
        return torch.arange(scores.shape[-1]).to(scores).expand(*scores.shape[:-2], -1)
    return EVICTION_SCORES[policy](scores, values).sum(-2)


def kept_keys(worth: torch.Tensor, budget: int, recent: int = 0, first: int = 0) -> torch.Tensor:
    """(..., n) bool: the ``budget`` keys of largest ``worth`` (..., n), ties to the earlier key.

    The last ``recent`` and the first ``first`` keys are kept whatever their worth. ``ValueError``
    where these are more than the budget, for a budget below 1, and where a worth is not finite.
    """
    check_scores(worth)
    if worth.isneginf().any():
        raise ValueError("worth is -inf somewhere; it must be finite")
    n = worth.shape[-1]
    protected = _protected(torch.arange(n), n, budget, recent, first)
    if budget >= n:
        return torch.ones_like(worth, dtype=torch.bool)
    room = budget - int(protected.sum())
    if not room:
        return protected.expand(worth.shape)
    return protected | top_k(worth.masked_fill(protected, -torch.inf), room)


def kept_while_reading(
    scores: torch.Tensor,
    values: torch.Tensor,
    policy: str,
    budget: int,
    recent: int = 1,
    first: int = 0,
) -> torch.Tensor:
    """(..., T, T) bool: the keys that each query of a text sees if keys are evicted one by one.

    Query t adds its own key; if there are then more than ``budget``, the key of least worth is
    evicted for good before the query mixes. The worth of a key is summed over the queries that saw
    it. So with ``recent`` 0 the newest key, which no query has seen, is evicted at once.
    ``scores`` (..., T, T) of keys after the query do not matter. ``ValueError`` as in `kept_keys`.
    """
    check_values(scores, values)
    check_choice("policy", policy, POLICIES)
    length = scores.shape[-1]
    if scores.shape[-2] != length:
        raise ValueError(f"scores have shape {tuple(scores.shape)}; they must be (..., T, T)")
    positions = torch.arange(length)
    kept = torch.zeros_like(scores, dtype=torch.bool)
    alive = torch.zeros_like(scores[..., 0, :], dtype=torch.bool)
    worth = torch.zeros_like(scores[..., 0, :])
    for t in range(length):
        protected = _protected(positions, t + 1, budget, recent, first)
        alive = alive | (positions == t)
        if t >= budget:
            value = positions.to(worth) if policy == RECENCY else worth
            leaving = value.masked_fill(protected | ~alive, torch.inf).argmin(-1)
            alive = alive & (positions != leaving[..., None])
        kept[..., t, :] = alive
        if policy != RECENCY:
            row = scores[..., t : t + 1, :].masked_fill(~alive[..., None, :], -torch.inf)
            worth = worth + EVICTION_SCORES[policy](row, values)[..., 0, :]
    return kept


def _protected(
    positions: torch.Tensor, count: int, budget: int, recent: int, first: int
) -> torch.Tensor:
    """(n,) bool: the last ``recent`` of the first ``count`` keys, and the first ``first``."""
    check_integer("budget", budget, 1, MOST)
    check_integer("recent", recent, 0, MOST)
    check_integer("first", first, 0, MOST)
    if recent + first > budget:
        raise ValueError(
            f"recent is {recent} and first {first}; together at most the budget, {budget}"
        )
    return (positions < count) & ((positions >= count - recent) | (positions < first))


def _without_heaviest(scores: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """(..., T, d): o' - o without the key of the largest weight, 0 where a query sees no other.

    Where a is nearly one, a / (1 - a) (o - v) loses digits to cancellation: this computes o' from
    the other keys, and returns a (o' - v), which is the same.
    """
    largest = functional.one_hot(scores.argmax(-1), scores.shape[-1]).bool()
    rest = scores.masked_fill(largest, -torch.inf)
    weights = scores.softmax(-1).where(largest, 0.0)
    difference = rest.softmax(-1) @ values - largest.to(values) @ values
    several = ~rest.isneginf().all(-1, keepdim=True)
    return torch.where(several, weights.sum(-1, keepdim=True) * difference, 0.0)


def _logits(scores: torch.Tensor) -> torch.Tensor:
    """Scores with 0 where a key is not seen: its weight is 0."""
    return scores.masked_fill(scores.isneginf(), 0.0)


def _distances(outputs: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """(..., T, n): the distance of each value from each output, without cancellation."""
    return torch.cdist(outputs, values, compute_mode="donot_use_mm_for_euclid_dist")
