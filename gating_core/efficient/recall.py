"""Associative recall: pairs of key and value in a state of d × d numbers, by its update rule.

Pairs are written one after the other; then each key is used as a query, and the answer is compared
with its value. Keys are random and of unit length, values random and independent. What theory
expects, and tests check:

- a *linear sum* ``S = sum v kᵀ`` answers with an error of (n - 1) / d times the value, squared and
  on average, where keys have nothing in common;
- the *delta rule* writes b (v - S k) instead. With b = 1 there is no error for orthogonal keys, and
  none, ever, for the pair written last; each pair spoils earlier ones with similar keys. With the
  same pairs written again and again it converges to the best state for n <= d. A *decay* forgets
  the first pairs;
- no linear map of a key does better than the *best state*, by least squares: no error for n <= d,
  1 - d / n on average beyond;
- *softmax* attention has no state: it stores all pairs, 2 n d numbers instead of d².

Shapes: S seeds, n pairs, d channels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from gating_core.checks import check_integer, check_number, check_seeds
from gating_core.efficient.delta_rule import delta_chunked
from gating_core.randomness import normal

SHARPNESS = 8.0  # softmax: what q·k of unit keys is multiplied by
MOST_PAIRS = 512


@dataclass(frozen=True)
class RecallRequest:
    """The pairs that are written: how many, how similar their keys are, and how."""

    channels: int = 16  # d
    pairs: int = 16  # n
    seeds: tuple[int, ...] = tuple(range(16))
    overlap: float = 0.0  # the mean q·k of two keys, 0 <= overlap < 1
    step: float = 1.0  # b of both delta rules
    decay: float = 0.98  # a: the factor of the gated delta rule's state at each pair
    passes: int = 1  # how often all pairs are written, by both delta rules

    def __post_init__(self) -> None:
        check_integer("channels", self.channels, 1, 64)
        check_integer("pairs", self.pairs, 1, MOST_PAIRS)
        check_seeds(self.seeds)
        check_number("overlap", self.overlap, 0.0, 0.99)
        check_number("step", self.step, 0.0, 1.0)
        check_number("decay", self.decay, 0.5, 1.0)
        check_integer("passes", self.passes, 1, 64)


@dataclass(frozen=True, eq=False)
class Recall:
    """The recall of each pair, in the order in which they were written; float64."""

    error: torch.Tensor  # (S, n): |answer - v|² / |v|²
    recognised: torch.Tensor  # (S, n) bool: no other value of the n is as near to the answer


def draw_pairs(request: RecallRequest) -> tuple[torch.Tensor, torch.Tensor]:
    """(S, n, d) each: keys of unit length, and values."""
    shape = (request.pairs, request.channels)
    own = _unit(normal(request.seeds, "recall keys", shape, 1.0))
    shared = _unit(normal(request.seeds, "recall shared key", (1, request.channels), 1.0))
    keys = _unit(request.overlap**0.5 * shared + (1 - request.overlap) ** 0.5 * own)
    return keys, normal(request.seeds, "recall values", shape, 1.0)


def linear_sum(keys: torch.Tensor, values: torch.Tensor, request: RecallRequest) -> torch.Tensor:
    """(S, n, d): the answers of S = sum v kᵀ."""
    return keys @ (keys.mT @ values)


def delta_rule(keys: torch.Tensor, values: torch.Tensor, request: RecallRequest) -> torch.Tensor:
    """(S, n, d): the answers of the delta rule without a decay."""
    return gated_delta_rule(keys, values, replace(request, decay=1.0))


def gated_delta_rule(
    keys: torch.Tensor, values: torch.Tensor, request: RecallRequest
) -> torch.Tensor:
    """(S, n, d): the answers of the delta rule with a decay."""
    steps = torch.full_like(keys[..., 0], request.step)
    log_decay, state = torch.full_like(steps, math.log(request.decay)), None
    for _ in range(request.passes):
        _, state = delta_chunked(keys, keys, values, log_decay, steps, state)
    assert state is not None
    return keys @ state.mT


def best_state(keys: torch.Tensor, values: torch.Tensor, request: RecallRequest) -> torch.Tensor:
    """(S, n, d): the answers of the state that has the least squared error over all pairs."""
    return keys @ (torch.linalg.pinv(keys) @ values)


def softmax(keys: torch.Tensor, values: torch.Tensor, request: RecallRequest) -> torch.Tensor:
    """(S, n, d): the answers of softmax attention over all pairs."""
    return (SHARPNESS * keys @ keys.mT).softmax(-1) @ values


@dataclass(frozen=True)
class Rule:
    """A way to write pairs: its title, its answers, and whether it has a state of d × d numbers."""

    title: str  # as within a sentence
    answers: Callable[[torch.Tensor, torch.Tensor, RecallRequest], torch.Tensor]
    state: bool = True


RULES = {
    "linear": Rule("linear sum", linear_sum),
    "delta": Rule("delta rule", delta_rule),
    "gated_delta": Rule("gated delta rule", gated_delta_rule),
    "best": Rule("best state", best_state),
    "softmax": Rule("softmax attention", softmax, state=False),
}


def recall(request: RecallRequest) -> dict[str, Recall]:
    """Write the same pairs by each rule of `RULES`, and recall all of them; results by rule."""
    keys, values = draw_pairs(request)
    results = {}
    for name, rule in RULES.items():
        answers = rule.answers(keys, values, request)
        error = (answers - values).square().sum(-1) / values.square().sum(-1)
        nearest = torch.cdist(answers, values).argmin(-1)
        results[name] = Recall(error, nearest == torch.arange(request.pairs))
    return results


def _unit(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.normalize(x, dim=-1)
