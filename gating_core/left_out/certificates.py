"""Certificates: upper bounds of the mass τ that top-k leaves out, from some of the ordered scores.

For s_1 >= s_2 >= ... the k largest weigh at least k times the k-th of them, and the n - k others at
most n - k times the next one: with the gap Δ = s_k - s_{k+1}, τ <= (n - k) / (n - k + k e^Δ)
(Tzachristas et al., arXiv 2512.07647). A bound that reads more of the scores is tighter; the three
further bounds here are derived in the same way.

Curves are (..., n): entry k - 1 is for the k largest scores. From the k on that keeps all visible
keys they are 0. Bounds hold up to rounding (relative errors of 1e-11 in float64 and some 1e-5 in
float32), and where they do not underflow. Shapes: n keys; dots stand for any leading dimensions. A
score of -inf says that the query does not see the key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gating_core.checks import check_integer, check_number
from gating_core.left_out.rows import check_scores

BLOCK = 16  # keys
MOST = 2**31 - 1


def ordered(scores: torch.Tensor) -> torch.Tensor:
    """(..., n): the scores of each row in descending order, minus the largest.

    ``ValueError`` as in `check_scores`.
    """
    check_scores(scores)
    return (scores - scores.amax(-1, keepdim=True)).sort(-1, descending=True).values


def masses(scores: torch.Tensor) -> torch.Tensor:
    """(..., n): the exact mass τ that is left out when the k largest are kept, for every k."""
    largest = ordered(scores)
    rest = largest.flip(-1).logcumsumexp(-1).flip(-1)  # log of the mass from each entry on
    return (_following(rest) - rest[..., :1]).exp()


def one_gap(scores: torch.Tensor) -> torch.Tensor:
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


def several_gaps(scores: torch.Tensor) -> torch.Tensor:
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
    """A way to bound the mass that is left out."""

    title: str  # as within a sentence
    curve: Callable[[torch.Tensor], torch.Tensor]  # of scores
    reads: Callable[[int, int], int]  # of k and n: how many of the ordered scores it reads


CERTIFICATES = {
    "one_gap": Certificate("one gap", one_gap, lambda k, n: min(2, n)),
    "kept_and_next": Certificate(
        "the kept and the next one", kept_and_next, lambda k, n: min(k + 1, n)
    ),
    "several_gaps": Certificate(
        "gaps at k, 2k, 4k, …",
        several_gaps,
        lambda k, n: min(k, n) + max(0, (-(-n // k) - 1).bit_length()),
    ),
    "even_gaps": Certificate(
        f"a gap after every {BLOCK} keys",
        even_gaps,
        lambda k, n: min(k, n) + -(-max(0, n - k) // BLOCK),
    ),
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
