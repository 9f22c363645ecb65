"""Eviction in one head over one text: which keys each policy keeps, and what that changes.

The first keys of a text are its prefill; the queries after it see the keys that a policy keeps of
it, and all later keys. Shapes: T tokens, n keys of the prefill, P policies, b budgets, d channels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from gating_core.left_out import (
    MOST_KEYS,
    POLICIES,
    HeadSample,
    best_subset,
    kept_keys,
    kept_while_reading,
    key_scores,
    mixed,
    shifts_without,
)

PREFILL_SHARE = 0.75  # of a text
SHORTEST_CACHE = 2 * MOST_KEYS  # tokens: so that a prefill is long enough for the exhaustive search
LONGEST = 512  # tokens read one by one
SEARCHED = 32  # queries for which subsets of keys are tried
CHECKED = 128  # keys, each left out alone in both ways


@dataclass(frozen=True)
class EvictionRequest:
    """How keys are evicted: one by one, those of least worth first."""

    policy: str  # a row of `POLICIES`
    budget: int  # keys
    protects: bool  # half of the budget for the most recent keys

    @property
    def recent(self) -> int:
        """How many of the most recent keys are kept whatever their worth."""
        return self.budget // 2 if self.protects else 0


@dataclass(frozen=True, eq=False)
class Evicted:
    """One head with part of its keys."""

    prefill: int  # n
    length: int  # T
    kept: np.ndarray  # (2, P, n) bool: keys of the prefill; recent ones protected, and not
    reading: np.ndarray  # (T, T) bool: the keys each query sees while keys are evicted one by one
    seen_newest: float  # then: the share of queries that see their own key
    reading_error: float  # then: the error of the outputs
    budgets: np.ndarray  # (b,)
    errors: np.ndarray  # (2, P, b) of outputs after the prefill; protected, and not


@dataclass(frozen=True, eq=False)
class Searched:
    """Errors of policies and of the best subset, for twelve keys and at most 32 later queries."""

    best: np.ndarray  # (b,): error of the best subset of each budget from 1 on
    errors: np.ndarray  # (P, b): error of each policy, nothing protected


@dataclass(frozen=True, eq=False)
class Identity:
    """The change of the last output without each key alone, computed twice."""

    keys: int
    apart: float  # the largest distance of a / (1 - a) (o - v) from the change computed anew
    largest: float  # the largest change


def evict(sample: HeadSample, request: EvictionRequest, budgets: tuple[int, ...]) -> Evicted:
    """Evict keys of a head by each policy; errors are squared, divided by the squared outputs.

    ``budgets`` are those of the curves. Of a text longer than 512 tokens the first 512 are read.
    ``ValueError`` for fewer than 24.
    """
    scores, values = _start(sample, LONGEST)
    length = len(values)
    prefill = int(PREFILL_SHARE * length)
    before, after = scores[:prefill, :prefill], scores[prefill:]
    output = mixed(after, values)
    worths = [key_scores(before, values[:prefill], policy) for policy in POLICIES]

    def kept(worth: torch.Tensor, budget: int, protects: bool) -> torch.Tensor:
        recent = EvictionRequest("", budget, protects).recent
        return kept_keys(worth, budget, recent)

    def error(worth: torch.Tensor, budget: int, protects: bool) -> float:
        evicted = ~torch.nn.functional.pad(
            kept(worth, budget, protects), (0, length - prefill), value=True
        )
        return _error(mixed(after.masked_fill(evicted, -torch.inf), values), output)

    reading = kept_while_reading(scores, values, request.policy, request.budget, request.recent)
    return Evicted(
        prefill=prefill,
        length=length,
        kept=np.stack([torch.stack([kept(worth, request.budget, protects)
                                    for worth in worths]).numpy() for protects in (True, False)]),
        reading=reading.numpy(),
        seen_newest=float(reading.diagonal().double().mean()),
        reading_error=_error(mixed(scores, values, reading), mixed(scores, values)),
        budgets=np.array(budgets),
        errors=np.array([[[error(worth, budget, protects) for budget in budgets]
                          for worth in worths] for protects in (True, False)]),
    )  # fmt: skip


def search(sample: HeadSample) -> Searched:
    """Try every subset of the first keys, for the queries that see them all.

    ``ValueError`` for fewer than 24 tokens.
    """
    scores, values = _start(sample, MOST_KEYS + SEARCHED)
    first = slice(0, MOST_KEYS)
    late, own = scores[MOST_KEYS:, first], scores[first, first]
    output = mixed(late, values[first])
    worths = [key_scores(own, values[first], policy) for policy in POLICIES]
    size = output.square().sum()
    budgets = range(1, MOST_KEYS)
    return Searched(
        best=np.array([float(best_subset(late, values[first], budget)[1] / size)
                       for budget in budgets]),
        errors=np.array([[
            _error(mixed(late, values[first], kept_keys(worth, budget)[None].expand(late.shape)),
                   output) for budget in budgets] for worth in worths]),
    )  # fmt: skip


def check_identity(sample: HeadSample) -> Identity:
    """Leave out each key of the last query alone, by the identity and by mixing anew."""
    scores, values = _start(sample, CHECKED)
    row = scores[-1:]
    by_identity = shifts_without(row, values)[0]
    without = row.expand(len(values), -1).masked_fill(torch.eye(len(values)).bool(), -torch.inf)
    anew = mixed(without, values) - mixed(row, values)
    return Identity(len(values), float((by_identity - anew).norm(dim=-1).max()),
                    float(anew.norm(dim=-1).max()))  # fmt: skip


def _start(sample: HeadSample, most: int) -> tuple[torch.Tensor, torch.Tensor]:
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
