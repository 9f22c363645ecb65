"""Certificates: upper bounds of the mass τ that top-k leaves out, without all scores.

From ordered scores s_1 >= s_2 >= ...: the k largest weigh at least k times the k-th of them, and
the n - k others at most n - k times the next one. So with the gap Δ = s_k - s_{k+1},
τ <= (n - k) / (n - k + k e^Δ) (Tzachristas et al., arXiv 2512.07647). A bound that reads more of
the scores is tighter; the three further bounds here are derived in the same way.

From boxes around blocks of keys: before any key of a block is scored, its box bounds how large its
scores can be (as in Tang et al., *Quest*, arXiv 2406.10774). Blocks are scored in the order of
their bounds, the largest first, and every key that was scored is kept. The bounds of the other
blocks bound their weight.

The Gaussian approximation says how many keys are needed if scores are normally distributed.

Curves are (..., n): entry k - 1 is for the k largest scores. From the k on that keeps all visible
keys they are 0. Bounds hold up to rounding (relative errors of 1e-11 in float64 and some 1e-5 in
float32), and where they do not underflow. Shapes: T queries, n keys of d channels, m = ⌈n / block⌉
blocks; dots stand for any leading dimensions. A score of -inf says that the query does not see the
key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch.nn import functional

from gating_core.checks import check_integer, check_number
from gating_core.lm.efficient.rows import MOST, check_scores

BLOCK = 16  # keys


def ordered(scores: torch.Tensor) -> torch.Tensor:
    """(..., n): the scores of each row in descending order, minus the largest.

    ``ValueError`` as in `check_scores`.
    """
    check_scores(scores)
    return (scores - scores.amax(-1, keepdim=True)).sort(-1, descending=True).values


def masses(scores: torch.Tensor) -> torch.Tensor:
    """(..., n): the exact tail mass τ when the k largest scores are kept, for every k."""
    largest = ordered(scores)
    rest = largest.flip(-1).logcumsumexp(-1).flip(-1)  # log of the mass from each entry on
    return (_following(rest) - rest[..., :1]).exp()


def single_gap(scores: torch.Tensor) -> torch.Tensor:
    """(..., n): bounds from s_k and s_{k+1}, reading 2 scores.

    Tight where all kept scores are equal, and all that are left out.
    """
    largest, k, rest = _counted(scores)
    return _bound(rest.log() + _following(largest), k.log() + largest)


def kept_and_next(scores: torch.Tensor) -> torch.Tensor:
    """(..., n): bounds from the k largest and the next one, reading k + 1 scores.

    Tight where all scores that are left out are equal.
    """
    largest, _, rest = _counted(scores)
    return _bound(rest.log() + _following(largest), largest.logcumsumexp(-1))


def multi_gap(scores: torch.Tensor) -> torch.Tensor:
    """(..., n): bounds from the k largest and s_{k+1}, s_{2k+1}, s_{4k+1}, ...

    The scores that are left out are cut into stretches at 2k, 4k, ...; each stretch weighs at most
    its length times the weight of its first score. Reads about k + log2(n / k) scores. Tight where
    the scores of each stretch are all equal.
    """
    return _stretched(scores, lambda start: 2 * start)


def even_gaps(scores: torch.Tensor, block: int = BLOCK) -> torch.Tensor:
    """(..., n): bounds from the k largest and every ``block``-th score after them.

    Reads k + (n - k) / block scores. Tight where the scores of each stretch are all equal.
    """
    check_integer("block", block, 1, MOST)
    return _stretched(scores, lambda start: start + block)


@dataclass(frozen=True)
class Certificate:
    """A bound on the tail mass."""

    title: str  # as within a sentence
    curve: Callable[[torch.Tensor], torch.Tensor]  # of scores
    reads: Callable[[int, int], int]  # of k and n: how many of the ordered scores it reads


def even_gaps_certificate(block: int) -> Certificate:
    """The certificate of `even_gaps`."""
    return Certificate(
        f"multi-gap bound, every {block} keys",
        partial(even_gaps, block=block),
        lambda k, n: min(k, n) + -(-max(0, n - k) // block),
    )


CERTIFICATES = {
    "single_gap": Certificate("single-gap bound", single_gap, lambda k, n: min(2, n)),
    "kept_and_next": Certificate(
        "kept scores and the next", kept_and_next, lambda k, n: min(k + 1, n)
    ),
    "multi_gap": Certificate(
        "multi-gap bound, k, 2k, 4k, …",
        multi_gap,
        lambda k, n: min(k, n) + max(0, (-(-n // k) - 1).bit_length()),
    ),
    "even_gaps": even_gaps_certificate(BLOCK),
}


def smallest_k(curve: torch.Tensor, epsilon: float) -> torch.Tensor:
    """(...) int64: the smallest k for which a ``curve`` (..., n) is at most ``epsilon``.

    With the curve `masses` the smallest k of all; with a certificate's the smallest that it
    certifies. ``ValueError`` unless 0 <= epsilon <= 1, and where a curve stays above epsilon or is
    NaN.
    """
    check_number("epsilon", epsilon, 0.0, 1.0)
    enough = curve <= epsilon
    if curve.ndim == 0 or not enough.any(-1).all():
        raise ValueError(f"a curve is nowhere at most epsilon, {epsilon!r}; curves end with 0")
    return enough.int().argmax(-1) + 1


def _counted(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(..., n) each: ordered scores, k for every entry, and how many visible keys are left out."""
    largest = ordered(scores)
    k = torch.arange(1, largest.shape[-1] + 1).to(largest)
    visible = (~largest.isneginf()).sum(-1, keepdim=True)
    return largest, k.expand(largest.shape), (visible - k).clamp(min=0).to(largest)


def _following(curve: torch.Tensor) -> torch.Tensor:
    """(..., n): the entry after each; -inf after the last."""
    return torch.cat([curve[..., 1:], torch.full_like(curve[..., :1], -torch.inf)], -1)


def _stretched(
    scores: torch.Tensor, following: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """(..., n): bounds from the k largest and the first score of each stretch of the others.

    The first stretch starts after k scores, each later one at ``following`` of the last start.
    """
    largest, start, rest = _counted(scores)
    head, visible = largest.logcumsumexp(-1), rest + start
    tail = torch.full_like(largest, -torch.inf)
    while bool((start < visible).any()):
        stop = torch.minimum(following(start), visible)
        first = largest.gather(-1, start.long().clamp(max=largest.shape[-1] - 1))
        tail = torch.logaddexp(tail, (stop - start).clamp(min=0).log() + first)
        start = stop
    return _bound(tail, head)


def _bound(tail: torch.Tensor, head: torch.Tensor) -> torch.Tensor:
    """(..., n): e^tail / (e^tail + e^head), 0 where the tail is -inf."""
    return torch.where(tail.isneginf(), 0.0, (tail - torch.logaddexp(tail, head)).exp())


@dataclass(frozen=True, eq=False)
class BlockSearch:
    """The keys that were scored for each query, and the bound of the tail mass."""

    kept: torch.Tensor  # (..., T, n) bool: the seen keys of the blocks that were scored
    blocks: torch.Tensor  # (..., T) int64: how many blocks were scored
    bound: torch.Tensor  # (..., T): an upper bound of the tail mass, at most ε


def block_bounds(queries: torch.Tensor, keys: torch.Tensor, block: int = BLOCK) -> torch.Tensor:
    """(..., T, m): upper bounds of q·k / √d over the keys (..., n, d) of each block.

    For queries (..., T, d): in each channel q times the lower or the upper side of the box,
    whichever product is larger, summed over channels. ``ValueError`` where sizes do not fit or
    something is not finite.
    """
    if queries.ndim < 2 or keys.ndim < 2 or queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"queries and keys have the shapes {tuple(queries.shape)} and {tuple(keys.shape)};"
            " they must be (..., T, d) and (..., n, d)"
        )
    if not (queries.isfinite().all() and keys.isfinite().all()):
        raise ValueError("queries or keys contain NaN or infinite numbers; all must be finite")
    check_integer("block", block, 1, MOST)
    parts = keys.split(block, -2)
    low = torch.stack([part.amin(-2) for part in parts], -2)
    high = torch.stack([part.amax(-2) for part in parts], -2)
    products = queries.clamp(min=0) @ high.mT + queries.clamp(max=0) @ low.mT
    return products * queries.shape[-1] ** -0.5


def block_search(
    scores: torch.Tensor, bounds: torch.Tensor, epsilon: float, block: int = BLOCK
) -> BlockSearch:
    """Score blocks by their ``bounds`` (..., T, m) until the tail mass is at most ``epsilon``.

    ``scores`` (..., T, n) are given in full, as a simulation: a block's count only when it is
    scored. ``ValueError`` where a bound is NaN or smaller than a score of its block, and unless
    0 <= epsilon <= 1.
    """
    check_scores(scores)
    check_number("epsilon", epsilon, 0.0, 1.0)
    check_integer("block", block, 1, MOST)
    spare = -scores.shape[-1] % block
    by_block = functional.pad(scores, (0, spare), value=-torch.inf).unflatten(-1, (-1, block))
    if bounds.shape != by_block.shape[:-1]:
        raise ValueError(
            f"bounds have shape {tuple(bounds.shape)}; they must be {tuple(by_block.shape[:-1])}"
        )
    slack = 1e-4 * (1 + bounds.abs())  # rounding, of single precision too
    if not (by_block.amax(-1) <= bounds + slack).all():
        raise ValueError("a bound is NaN, or smaller than a score of its block")
    counts = (~by_block.isneginf()).sum(-1).to(scores)
    bounds = torch.where(counts > 0, torch.maximum(bounds, by_block.amax(-1)), -torch.inf)
    order = bounds.argsort(dim=-1, descending=True, stable=True)
    head = by_block.logsumexp(-1).gather(-1, order).logcumsumexp(-1)
    most = (bounds + counts.log()).gather(-1, order)
    tail = _following(most.flip(-1).logcumsumexp(-1).flip(-1))
    curve = _bound(tail, head)
    last = (curve <= epsilon).int().argmax(-1, keepdim=True)
    scored = order.argsort(-1) <= last
    kept = scored.repeat_interleave(block, -1)[..., : scores.shape[-1]] & ~scores.isneginf()
    return BlockSearch(kept, last[..., 0] + 1, curve.gather(-1, last)[..., 0])


def needed_share(sigma: torch.Tensor, epsilon: float) -> torch.Tensor:
    """(...): k_ε / n for many scores N(μ, σ²): Φc(σ + Φ⁻¹(ε)), for ``sigma`` (...).

    The share of keys that are kept for a tail-mass budget ε. Exact as n grows, for fixed σ:
    weighing by e^s moves a normal distribution by σ² (Tzachristas et al., arXiv 2512.07647).
    ``ValueError`` unless 0 < epsilon < 1 and sigma >= 0.
    """
    if not (sigma >= 0).all():
        raise ValueError("sigma contains NaN or negative numbers; it must be at least 0")
    return torch.special.ndtr(-(sigma + _quantile(epsilon).to(sigma)))


def needed_by_quantiles(n: int, sigma: float, epsilon: float) -> int:
    """The smallest k for the n scores σ Φ⁻¹((i - ½) / n): the rule without its limit n → ∞.

    A remaining difference from real scores is due to their distribution, not to their number.
    ``ValueError`` for n < 1, sigma < 0, and unless 0 < epsilon < 1.
    """
    check_integer("n", n, 1, MOST)
    check_number("sigma", sigma, 0.0, float("inf"))
    _quantile(epsilon)
    levels = (torch.arange(n, dtype=torch.float64) + 0.5) / n
    return int(smallest_k(masses(sigma * torch.special.ndtri(levels)), epsilon))


def standardised(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(..., n) and (...): (s - mean) / σ of each row of ``scores`` (..., n), and σ.

    Mean and σ are over the keys that the query sees; for others the result is NaN. Where all scores
    are equal, σ and the results are 0.
    """
    check_scores(scores)
    seen = ~scores.isneginf()
    count = seen.sum(-1, keepdim=True)
    centred = torch.where(seen, scores, 0.0)
    centred = torch.where(seen, centred - centred.sum(-1, keepdim=True) / count, 0.0)
    sigma = (centred.square().sum(-1, keepdim=True) / count).sqrt()
    scaled = torch.where(sigma > 0, centred / sigma, 0.0)
    return torch.where(seen, scaled, torch.nan), sigma[..., 0]


def _quantile(epsilon: float) -> torch.Tensor:
    """Φ⁻¹(ε) as a float64 scalar; ``ValueError`` unless 0 < ε < 1."""
    check_number("epsilon", epsilon, 0.0, 1.0)
    if epsilon in (0.0, 1.0):
        raise ValueError(f"epsilon is {epsilon!r}; it must be between 0 and 1")
    return torch.special.ndtri(torch.tensor(epsilon, dtype=torch.float64))
