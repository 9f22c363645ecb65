"""What each way costs for a causal text of n tokens: scores computed, values mixed, numbers stored.

Closed forms for one head of d channels. Scores are products of a query and a key; mixed are
products of a weight and a value; stored is what must be there to read the next token. A method
without scores is counted by the products of d numbers that it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gating_core.checks import check_integer
from gating_core.left_out.top_k import MOST


@dataclass(frozen=True)
class Cost:
    """Numbers that a text of n tokens takes."""

    scores: int  # products q·k, or as many products of d numbers
    mixed: int  # products of a weight and a value, or as many
    stored: int  # numbers, when the text is read


def full(n: int, d: int) -> Cost:
    """Softmax attention over all keys."""
    pairs = _pairs(n, n)
    return Cost(pairs, pairs, 2 * n * d)


def top_k(n: int, d: int, k: int) -> Cost:
    """All scores, and the ``k`` largest mixed: without an index, nothing is saved before mixing."""
    return Cost(_pairs(n, n), _pairs(n, k), 2 * n * d)


def window(n: int, d: int, window: int, sinks: int = 0) -> Cost:
    """The last ``window`` keys and the first ``sinks``."""
    pairs = _pairs(n, window) + _sinks(n, window, sinks)
    return Cost(pairs, pairs, 2 * min(n, window + sinks) * d)


def evicted(n: int, d: int, budget: int) -> Cost:
    """A cache of ``budget`` keys; their scores cost as many numbers again as there are keys."""
    pairs = _pairs(n, budget)
    return Cost(pairs, pairs, min(n, budget) * (2 * d + 1))


def corrected(n: int, d: int, window: int, sinks: int, gamma: int) -> Cost:
    """Window and sinks, and every ``gamma``-th query in full: all keys stay, and one difference."""
    check_integer("gamma", gamma, 1, MOST)
    anchors = -(-n // gamma)
    sparse = [min(t, window) + max(0, min(sinks, t - window)) for t in range(1, n + 1, gamma)]
    last = 1 + (anchors - 1) * gamma
    in_full = anchors * (1 + last) // 2
    pairs = _pairs(n, window) + _sinks(n, window, sinks) + in_full - sum(sparse)
    return Cost(pairs, pairs, (2 * n + 1) * d)


def linear(n: int, d: int) -> Cost:
    """A state of d × d numbers and d for the sum: one update and one reading a token."""
    _pairs(n, n)
    return Cost(n * d, n * d, d * d + d)


def hybrid(n: int, d: int, window: int) -> Cost:
    """Linear attention and softmax attention in a window, both."""
    pairs, one = _pairs(n, window), linear(n, d)
    return Cost(pairs + one.scores, pairs + one.mixed, 2 * min(n, window) * d + one.stored)


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
    """Pairs of a query and a key before it or its own, ``most`` keys a query."""
    check_integer("n", n, 1, MOST)
    check_integer("keys", most, 1, MOST)
    most = min(n, most)
    return most * (most + 1) // 2 + (n - most) * most


def _sinks(n: int, window: int, sinks: int) -> int:
    """Pairs of a query and one of the first ``sinks`` keys that its ``window`` does not hold."""
    check_integer("sinks", sinks, 0, MOST)
    beyond = max(0, n - window)
    return _pairs(beyond, sinks) if beyond and sinks else 0
