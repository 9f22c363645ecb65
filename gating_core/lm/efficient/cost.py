"""The cost of each kind of attention over a causal text of n tokens, in closed form.

For one head of d channels: scores (products of a query and a key), values mixed (products of a
weight and a value), and the numbers that must be stored to read the next token. For a kind without
scores, its products of two vectors of d numbers are counted instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gating_core.checks import check_integer
from gating_core.lm.efficient.rows import MOST


@dataclass(frozen=True)
class Cost:
    """The cost of a text of n tokens for one head."""

    scores: int  # products q·k, or as many products of d numbers
    mixed: int  # products of a weight and a value, or as many products of d numbers
    stored: int  # numbers, after the whole text is read


def full(n: int, d: int) -> Cost:
    """Softmax attention over all keys."""
    pairs = _pairs(n, n)
    return Cost(pairs, pairs, 2 * n * d)


def top_k(n: int, d: int, k: int) -> Cost:
    """All scores, and the ``k`` largest mixed: choosing them takes every score."""
    return Cost(_pairs(n, n), _pairs(n, k), 2 * n * d)


def window(n: int, d: int, window: int, sinks: int = 0) -> Cost:
    """The last ``window`` keys and the first ``sinks``."""
    pairs = _pairs(n, window) + _sinks(n, window, sinks)
    return Cost(pairs, pairs, 2 * min(n, window + sinks) * d)


def evicted(n: int, d: int, budget: int) -> Cost:
    """A cache of ``budget`` keys and values, and one more number for each key: its worth."""
    pairs = _pairs(n, budget)
    return Cost(pairs, pairs, min(n, budget) * (2 * d + 1))


def corrected(n: int, d: int, window: int, sinks: int, gamma: int, dense: int = 0) -> Cost:
    """Window and sinks, every ``gamma``-th query and the last ``dense`` in full.

    All keys are stored, and a difference.
    """
    check_integer("gamma", gamma, 1, MOST)
    check_integer("dense", dense, 0, n)
    in_full = [*range(1, n - dense + 1, gamma), *range(n - dense + 1, n + 1)]
    sparse = [min(t, window) + max(0, min(sinks, t - window)) for t in in_full]
    pairs = _pairs(n, window) + _sinks(n, window, sinks) + sum(in_full) - sum(sparse)
    return Cost(pairs, pairs, (2 * n + 1) * d)


def linear(n: int, d: int) -> Cost:
    """A state of d × d numbers, and d for the sum of features: written and read once a token."""
    _pairs(n, n)  # checks n
    return Cost(n * d, n * d, d * d + d)


def hybrid(n: int, d: int, window: int) -> Cost:
    """Linear attention and softmax attention in a window, both."""
    pairs, state = _pairs(n, window), linear(n, d)
    return Cost(pairs + state.scores, pairs + state.mixed, 2 * min(n, window) * d + state.stored)


COSTS: dict[str, Callable[..., Cost]] = {
    "full": full,
    "top_k": top_k,
    "window": window,
    "evicted": evicted,
    "corrected": corrected,
    "linear": linear,
    "hybrid": hybrid,
}


def _pairs(n: int, most: int) -> int:
    """Pairs of a query and one of the last ``most`` keys up to its own."""
    check_integer("n", n, 1, MOST)
    check_integer("keys", most, 1, MOST)
    most = min(n, most)
    return most * (most + 1) // 2 + (n - most) * most


def _sinks(n: int, window: int, sinks: int) -> int:
    """Pairs of a query and one of the first ``sinks`` keys that is outside its ``window``."""
    check_integer("sinks", sinks, 0, MOST)
    beyond = max(0, n - window)
    return _pairs(beyond, sinks) if beyond and sinks else 0
