"""Synthetic scores and tokens with known distributions, to compare language models with.

Shapes: T tokens, n keys, d channels. Random numbers depend on the seed alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch.nn import functional

from gating_core.checks import check_integer, check_number
from gating_core.randomness import generator

LONGEST_ROW = 200_000  # keys
LONGEST_TEXT = 2048  # tokens
CHANNELS = 16
FIRST = 32  # the first query that counts: before it there are few keys to leave out


@dataclass(frozen=True, eq=False)
class HeadSample:
    """One head's queries, keys and values, and its scores with -inf for later keys."""

    queries: torch.Tensor  # (T, d)
    keys: torch.Tensor  # (T, d)
    values: torch.Tensor  # (T, d)

    def beginning(self, most: int) -> HeadSample:
        """Return the first ``most`` tokens, or all of fewer."""
        return HeadSample(self.queries[:most], self.keys[:most], self.values[:most])

    @property
    def scores(self) -> torch.Tensor:
        """(T, T): q·k / √d, causal."""
        products = self.queries @ self.keys.mT * self.queries.shape[-1] ** -0.5
        return causal(products)


def causal(scores: torch.Tensor) -> torch.Tensor:
    """(..., T, n): ``scores`` with -inf for the keys that come after a query.

    The last T of the n keys are the queries' own.
    """
    queries, keys = scores.shape[-2:]
    visible = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    return scores.masked_fill(~visible, -torch.inf)


def gaussian_scores(n: int, sigma: float, seed: int = 0) -> torch.Tensor:
    """(n,) float64: independent scores N(0, σ²); ``ValueError`` for n above 200,000."""
    check_integer("n", n, 1, LONGEST_ROW)
    check_number("sigma", sigma, 0.0, 100.0)
    draw = generator(seed, "gaussian scores")
    return sigma * torch.randn(n, generator=draw, dtype=torch.float64)


def ar1_tokens(
    length: int, memory: float = 128.0, noise: float = 0.5, sharpness: float = 2.0, seed: int = 0
) -> HeadSample:
    """Tokens that vary slowly: every channel is an AR(1) process plus independent noise.

    The process has correlation exp(-1 / memory) from a token to the next, for ``memory`` in tokens
    (0: none). Channels have variance 1, of which ``noise`` is a share; queries are multiplied by
    ``sharpness``. float64. ``ValueError`` for more than 2,048 tokens.
    """
    check_integer("length", length, 1, LONGEST_TEXT)
    check_number("memory", memory, 0.0, 1e6)
    check_number("noise", noise, 0.0, 1.0)
    check_number("sharpness", sharpness, 0.0, 100.0)
    draw = generator(seed, "slow tokens")
    fresh, fast = torch.randn(2, length, 3, CHANNELS, generator=draw, dtype=torch.float64)
    correlation = math.exp(-1 / memory) if memory else 0.0
    slow = [fresh[0]]
    for step in fresh[1:]:
        slow.append(correlation * slow[-1] + math.sqrt(1 - correlation**2) * step)
    tokens = math.sqrt(1 - noise) * torch.stack(slow) + math.sqrt(noise) * fast
    queries, keys, values = tokens.unbind(1)
    return HeadSample(sharpness * queries, keys, values)


def normal_tokens(length: int, sigma: float, seed: int = 0) -> HeadSample:
    """Tokens without any order, whose scores are independent N(0, σ²) in every row.

    Keys and values are standard normal, and all queries have the length √d σ. float64.
    ``ValueError`` for more than 2,048 tokens.
    """
    check_integer("length", length, 1, LONGEST_TEXT)
    check_number("sigma", sigma, 0.0, 100.0)
    draw = generator(seed, "normal tokens")
    queries, keys, values = torch.randn(3, length, CHANNELS, generator=draw, dtype=torch.float64)
    return HeadSample(CHANNELS**0.5 * sigma * functional.normalize(queries, dim=-1), keys, values)


@dataclass(frozen=True, eq=False)
class Retrieval:
    """A retrieval task: pairs of key and value, and later queries, each for one of the pairs."""

    sample: HeadSample
    asking: torch.Tensor  # (Q,) int64: the positions of the queries that are for a pair
    answers: torch.Tensor  # (Q,) int64: the positions of the tokens whose values they should return

    def accuracy(self, outputs: torch.Tensor) -> float:
        """Return the share of these queries whose output is nearest to the value of their pair.

        Args:
            outputs: (T, d), of all tokens.
        """
        pairs = self.answers.unique()
        candidates = self.sample.values[pairs]
        distances = torch.cdist(outputs[self.asking], candidates)
        return float((pairs[distances.argmin(-1)] == self.answers).double().mean())


def retrieval(pairs: int = 16, gap: int = 128, seed: int = 0, before: int = 0) -> Retrieval:
    """``pairs`` keys and values of unit length, ``gap`` other tokens, then a query for each pair.

    ``before`` other tokens come first, so that as many attention sinks hold no pair. Queries come
    in a random order; each points along its pair's key, sharply enough for full attention to
    retrieve the value. Other tokens have keys and values of the same kind. float64. ``ValueError``
    for more than 2,048 tokens in all.
    """
    check_integer("pairs", pairs, 1, LONGEST_TEXT)
    check_integer("before", before, 0, LONGEST_TEXT - min(LONGEST_TEXT, 2 * pairs))
    check_integer("gap", gap, 0, LONGEST_TEXT - min(LONGEST_TEXT, 2 * pairs + before))
    draw, length = generator(seed, "retrieval"), before + 2 * pairs + gap
    noise = torch.randn(3, length, 2 * CHANNELS, generator=draw, dtype=torch.float64)
    queries, keys, values = functional.normalize(noise, dim=-1)
    answers = before + torch.randperm(pairs, generator=draw)
    asking = torch.arange(before + pairs + gap, length)
    queries = queries.index_copy(0, asking, keys[answers])
    sharp = 20 * (2 * CHANNELS) ** 0.5  # the score of the right key: 20
    return Retrieval(HeadSample(sharp * queries, keys, values), asking, answers)


def late_cosine(outputs: torch.Tensor, full: torch.Tensor, tail: int = 0) -> torch.Tensor:
    """(...): the mean cosine of ``outputs`` (..., T, d) with those of full attention (T, d).

    Over the queries from `FIRST` on, in a short text from its middle on, without the last ``tail``;
    NaN if there are none.
    """
    length = full.shape[-2]
    late = slice(first_late(length), length - tail)
    return functional.cosine_similarity(outputs, full, dim=-1)[..., late].mean(-1)


def first_late(length: int) -> int:
    """The first query of `late_cosine` in a text of ``length`` tokens."""
    return min(FIRST, length // 2)
