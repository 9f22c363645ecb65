"""Associative recall: pairs of key and value in a state of d × d numbers, by its update rule.

Pairs are written one after the other; then each key is used as a query, and the answer is compared
with its value. Keys are random and of unit length, values random and independent. What theory
expects, and tests check:

- a *linear sum* ``S = sum v kᵀ`` answers with an error of (n - 1) / d times the value, squared and
  on average, where keys have nothing in common;
- the *delta rule* writes b (v - S k) instead. With b = 1 there is no error for orthogonal keys, and
  none, ever, for the pair written last; each pair spoils earlier ones with similar keys. A *decay*
  forgets the first pairs;
- no linear map of a key does better than the *best state*, by least squares: no error for n <= d,
  1 - d / n on average beyond;
- *softmax* attention has no state: it stores all pairs, 2 n d numbers instead of d².

Shapes: S seeds, n pairs, d channels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from gating_core.checks import check_integer, check_number, check_seeds
from gating_core.lm.efficient.linear import unit_length
from gating_core.randomness import normal

SHARPNESS = 8.0  # softmax: what q·k of unit keys is multiplied by
MOST_PAIRS = 512
LEAST_DECAY = 0.5
RECALL_PAIRS = (2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128)  # of `recall_curves`


@dataclass(frozen=True)
class RecallRequest:
    """The pairs that are written: how many, how similar their keys are, and how."""

    channels: int = 16  # d
    pairs: int = 16  # n
    seeds: tuple[int, ...] = tuple(range(16))
    overlap: float = 0.0  # the mean q·k of two keys, 0 <= overlap < 1
    step: float = 1.0  # b of both delta rules
    decay: float = 0.98  # a: the factor of the gated delta rule's state at each pair

    def __post_init__(self) -> None:
        check_integer("channels", self.channels, 1, 64)
        check_integer("pairs", self.pairs, 1, MOST_PAIRS)
        check_seeds(self.seeds)
        check_number("overlap", self.overlap, 0.0, 0.99)
        check_number("step", self.step, 0.0, 1.0)
        check_number("decay", self.decay, LEAST_DECAY, 1.0)


def draw_pairs(request: RecallRequest) -> tuple[torch.Tensor, torch.Tensor]:
    """(S, n, d) each: keys of unit length, and values."""
    shape = (request.pairs, request.channels)
    own, shared = (
        functional.normalize(normal(request.seeds, name, size, 1.0), dim=-1)
        for name, size in (("recall keys", shape), ("recall shared key", (1, request.channels)))
    )
    mixture = request.overlap**0.5 * shared + (1 - request.overlap) ** 0.5 * own
    values = normal(request.seeds, "recall values", shape, 1.0)
    return functional.normalize(mixture, dim=-1), values


def delta_rule(
    keys: torch.Tensor, values: torch.Tensor, step: float, decay: float = 1.0
) -> torch.Tensor:
    """(S, n, d): the answers of the delta rule, whose state decays at each pair."""
    state = torch.zeros_like(values[..., 0, :, None] * keys[..., 0, None, :])
    for key, value in zip(unit_length(keys).unbind(1), values.unbind(1), strict=True):
        state = decay * state
        missing = value - (state @ key[..., None])[..., 0]
        state = state + step * missing[..., None] * key[..., None, :]
    return keys @ state.mT


@dataclass(frozen=True)
class Rule:
    """A way to write pairs: its title, its answers, and whether it has a state of d × d numbers."""

    title: str  # as within a sentence
    # (S, n, d) each: keys and values to answers.
    answers: Callable[[torch.Tensor, torch.Tensor, RecallRequest], torch.Tensor]
    state: bool = True


RULES = {
    "linear": Rule("linear sum", lambda keys, values, _: keys @ (keys.mT @ values)),
    "delta": Rule("delta rule", lambda keys, values, x: delta_rule(keys, values, x.step)),
    "gated_delta": Rule(
        "gated delta rule", lambda keys, values, x: delta_rule(keys, values, x.step, x.decay)
    ),
    "best": Rule("best state", lambda keys, values, _: keys @ (torch.linalg.pinv(keys) @ values)),
    "softmax": Rule(
        "softmax attention",
        lambda keys, values, _: (SHARPNESS * keys @ keys.mT).softmax(-1) @ values,
        state=False,
    ),
}


def recall(request: RecallRequest) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Write the same pairs by each rule of `RULES`, and recall all of them, in their order.

    Returns:
        By rule, (S, n) each: the errors |answer - v|² / |v|² in float64, and whether no other
        value of the n is as near to the answer, bool.
    """
    keys, values = draw_pairs(request)
    results = {}
    for name, rule in RULES.items():
        answers = rule.answers(keys, values, request)
        error = (answers - values).square().sum(-1) / values.square().sum(-1)
        nearest = torch.cdist(answers, values).argmin(-1)
        results[name] = error, nearest == torch.arange(request.pairs)
    return results


def recall_curves(
    channels: int, overlap: float, step: float, memory: float
) -> dict[str, np.ndarray]:
    """(11, S): the share of `RECALL_PAIRS` whose value is the nearest, by rule; S seeds.

    Pairs are recalled from a state of ``channels``² numbers; ``overlap`` is the mean q·k of two
    keys. The state decays to 1 / e after ``memory`` pairs, at each pair to `LEAST_DECAY` at least.
    """
    decay = max(LEAST_DECAY, math.exp(-1 / memory))
    results = [
        recall(RecallRequest(channels, pairs, overlap=overlap, step=step, decay=decay))
        for pairs in RECALL_PAIRS
    ]
    return {
        rule: np.stack([result[rule][1].double().mean(-1).numpy() for result in results])
        for rule in RULES
    }
