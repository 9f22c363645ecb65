"""Eviction: which keys of a prefill one head keeps, and what that changes.

Shapes: P policies, b budgets, T tokens, n keys of the prefill, d channels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

import gating_core.efficient as efficient

PREFILL = 96  # characters, of models that are measured: see `load_efficient`
BUDGETS = (8, 16, 24, 32, 48)  # keys of that prefill that each head keeps
PREFILL_SHARE = 0.75  # of a text
SHORTEST_CACHE = 24  # tokens, so that a budget can be smaller than the prefill
LONGEST = 512  # tokens read one by one


def protected(budget: int, protects: bool) -> int:
    """Return how many recent keys are kept whatever their score: half of the budget, or none."""
    return budget // 2 if protects else 0


# Of models that are measured: a score of `gating_core.efficient.POLICIES`, by which a head keeps
# half of its budget, and the most recent keys for the other half, but where nothing is protected.
POLICIES = (
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


@dataclass(frozen=True)
class EvictionRequest:
    """A request for an eviction, one by one, the keys of the lowest score first."""

    policy: str = "mass"  # a row of `gating_core.efficient.POLICIES`
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


def evict(
    sample: efficient.HeadSample, request: EvictionRequest, budgets: tuple[int, ...]
) -> Evicted:
    """Evict keys of a head by each policy; errors are squared, divided by the squared outputs.

    ``budgets`` are those of the curves. Of a text longer than 512 tokens the first 512 are read.
    ``ValueError`` for fewer than 24.
    """
    scores, values = _start(sample, LONGEST)
    length = len(values)
    prefill = int(PREFILL_SHARE * length)
    before, after = scores[:prefill, :prefill], scores[prefill:]
    output = efficient.mixed(after, values)
    worths = [
        efficient.key_scores(before, values[:prefill], policy) for policy in efficient.POLICIES
    ]

    def kept(worth: torch.Tensor, budget: int, protects: bool) -> torch.Tensor:
        return efficient.kept_keys(worth, budget, protected(budget, protects))

    def error(worth: torch.Tensor, budget: int, protects: bool) -> float:
        mask = kept(worth, budget, protects)
        mask = functional.pad(mask, (0, length - prefill), value=True)  # all later keys stay
        return _error(efficient.mixed(after, values, mask), output)

    reading = efficient.kept_while_reading(
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
        reading_error=_error(
            efficient.mixed(scores, values, reading), efficient.mixed(scores, values)
        ),
        budgets=np.array(budgets),
        errors=np.array(
            [
                [[error(worth, budget, protects) for budget in budgets] for worth in worths]
                for protects in (True, False)
            ]
        ),
    )


def _start(sample: efficient.HeadSample, most: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(T, T) causal scores and (T, d) values of at most the first ``most`` tokens."""
    if len(sample.values) < SHORTEST_CACHE:
        raise ValueError(
            f"the text has {len(sample.values)} tokens; it must have {SHORTEST_CACHE} at least"
        )
    short = sample.beginning(most)
    return short.scores, short.values


def _error(outputs: torch.Tensor, full: torch.Tensor) -> float:
    """The mean squared change of outputs (T, d), over the mean squared output."""
    return float((outputs - full).square().sum() / full.square().sum())
