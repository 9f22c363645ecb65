"""Eviction: which keys of a cache are evicted, by a worth of each key, and how outputs change.

Without key p an output is o' with o' - o = a_p / (1 - a_p) (o - v_p), exactly, for its weight a_p
and value v_p. The worth of a key is a sum over the queries that saw it, of one of: its weight a
(the usual one); the first-order change of the output when its value, its key, or both are set to
zero (z: the score q·k / √d), Gu et al., *OBCache*, arXiv 2510.07651, Eq. 4 to 6; the exact change
when this key alone is left out, Zhang et al., *DropKV*, ICML 2026.

Shapes: T queries, n keys, d channels; dots and -inf as in `gating_core.lm.efficient.rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from gating_core.checks import check_choice, check_integer
from gating_core.lm.efficient.rows import MOST, check_scores, check_values, mixed, top_k
from gating_core.lm.efficient.samples import HeadSample

HALF = 0.5  # one weight of a row at most is larger
PREFILL = 96  # characters, of models that are measured: see `load_efficient`
BUDGETS = (8, 16, 24, 32, 48)  # keys of that prefill that each head keeps
PREFILL_SHARE = 0.75  # of a text
SHORTEST_CACHE = 24  # tokens, so that a budget can be smaller than the prefill
LONGEST = 512  # tokens read one by one
# Of models that are measured: one of `POLICIES`, by which a head keeps half of its budget, and the
# most recent keys for the other half, but where nothing is protected.
MEASURED_POLICIES = (
    "recency",
    "sink_recency",  # and the first key
    "mass",
    "value",
    "key",
    "joint",
    "exact",
    "mass_unprotected",
    "joint_unprotected",
)


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


def kept_keys(worth: torch.Tensor, budget: int, recent: int = 0) -> torch.Tensor:
    """(..., n) bool: the ``budget`` keys of largest ``worth`` (..., n), ties to the earlier key.

    The last ``recent`` are kept whatever their worth. ``ValueError`` where these are more than the
    budget, for a budget below 1, and where a worth is not finite.
    """
    check_scores(worth)
    if worth.isneginf().any():
        raise ValueError("worth is -inf somewhere; it must be finite")
    _check_budget(budget, recent)
    n = worth.shape[-1]
    if budget >= n:
        return torch.ones_like(worth, dtype=torch.bool)
    protected = torch.arange(n) >= n - recent
    if recent == budget:
        return protected.expand(worth.shape)
    return protected | top_k(worth.masked_fill(protected, -torch.inf), budget - recent)


def kept_while_reading(
    scores: torch.Tensor, values: torch.Tensor, policy: str, budget: int, recent: int = 1
) -> torch.Tensor:
    """(..., T, T) bool: the keys that each query of a text sees if keys are evicted one by one.

    Query t adds its own key; if there are then more than ``budget``, the key of least worth is
    evicted for good before the query mixes. The worth of a key is summed over the queries that saw
    it. So with ``recent`` 0 the newest key, which no query has seen, is evicted at once.
    ``scores`` (..., T, T) of keys after the query do not matter. ``ValueError`` as in `kept_keys`.
    """
    check_values(scores, values)
    check_choice("policy", policy, POLICIES)
    _check_budget(budget, recent)
    length = scores.shape[-1]
    if scores.shape[-2] != length:
        raise ValueError(f"scores have shape {tuple(scores.shape)}; they must be (..., T, T)")
    positions = torch.arange(length)
    kept = torch.zeros_like(scores, dtype=torch.bool)
    alive = torch.zeros_like(scores[..., 0, :], dtype=torch.bool)
    worth = torch.zeros_like(scores[..., 0, :])
    for t in range(length):
        alive = alive | (positions == t)
        if t >= budget:
            value = positions.to(worth) if policy == RECENCY else worth
            protected = positions > t - recent
            leaving = value.masked_fill(protected | ~alive, torch.inf).argmin(-1)
            alive = alive & (positions != leaving[..., None])
        kept[..., t, :] = alive
        if policy != RECENCY:
            row = scores[..., t : t + 1, :].masked_fill(~alive[..., None, :], -torch.inf)
            worth = worth + EVICTION_SCORES[policy](row, values)[..., 0, :]
    return kept


def _check_budget(budget: int, recent: int) -> None:
    check_integer("budget", budget, 1, MOST)
    check_integer("recent", recent, 0, MOST)
    if recent > budget:
        raise ValueError(f"recent is {recent}; it must be at most the budget, {budget}")


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


# --- One head -------------------------------------------------------------------------------------


def protected(budget: int, protects: bool) -> int:
    """Return how many recent keys are kept whatever their score: half of the budget, or none."""
    return budget // 2 if protects else 0


@dataclass(frozen=True)
class EvictionRequest:
    """A request for an eviction, one by one, the keys of the lowest score first."""

    policy: str = "mass"  # a row of `POLICIES`
    budget: int = 16  # keys
    protects: bool = True  # half of the budget for the most recent keys


@dataclass(frozen=True, eq=False)
class Evicted:
    """One head with part of its keys."""

    prefill: int  # n
    length: int  # T
    kept: np.ndarray  # (2, P, n) bool: keys of the prefill; recent ones protected, and not
    seen_newest: float  # evicting at every step: the share of queries that see their own key
    reading_error: float  # evicting at every step: the error of the outputs
    budgets: np.ndarray  # (b,)
    errors: np.ndarray  # (2, P, b) of outputs after the prefill; protected, and not


def evict(sample: HeadSample, request: EvictionRequest, budgets: tuple[int, ...]) -> Evicted:
    """Evict keys of a head by each policy; errors are squared, divided by the squared outputs.

    ``budgets`` are those of the curves. Of a text longer than 512 tokens the first 512 are read.
    ``ValueError`` for fewer than 24.
    """
    if len(sample.values) < SHORTEST_CACHE:
        raise ValueError(
            f"the text has {len(sample.values)} tokens; it must have {SHORTEST_CACHE} at least"
        )
    short = sample.beginning(LONGEST)
    scores, values = short.scores, short.values
    length = len(values)
    prefill = int(PREFILL_SHARE * length)
    before, after = scores[:prefill, :prefill], scores[prefill:]
    output = mixed(after, values)
    worths = [key_scores(before, values[:prefill], policy) for policy in POLICIES]

    def kept(worth: torch.Tensor, budget: int, protects: bool) -> torch.Tensor:
        return kept_keys(worth, budget, protected(budget, protects))

    def error(outputs: torch.Tensor, full: torch.Tensor) -> float:
        return float((outputs - full).square().sum() / full.square().sum())

    def error_after(worth: torch.Tensor, budget: int, protects: bool) -> float:
        mask = kept(worth, budget, protects)
        mask = functional.pad(mask, (0, length - prefill), value=True)  # all later keys stay
        return error(mixed(after, values, mask), output)

    reading = kept_while_reading(
        scores, values, request.policy, request.budget, protected(request.budget, request.protects)
    )
    return Evicted(
        prefill=prefill,
        length=length,
        kept=np.stack(
            [
                torch.stack([kept(worth, request.budget, protects) for worth in worths]).numpy()
                for protects in (True, False)
            ]
        ),
        seen_newest=float(reading.diagonal().double().mean()),
        reading_error=error(mixed(scores, values, reading), mixed(scores, values)),
        budgets=np.array(budgets),
        errors=np.array(
            [
                [[error_after(worth, budget, protects) for budget in budgets] for worth in worths]
                for protects in (True, False)
            ]
        ),
    )
