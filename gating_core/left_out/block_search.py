"""Certified attention without all scores: blocks of keys are scored until the rest is negligible.

Before any key of a block is scored, a box around its keys bounds how large its scores can be (as in
Tang et al., *Quest*, arXiv 2406.10774). Blocks are scored in the order of their bounds, the largest
first, and every key that was scored is kept. The bounds of the other blocks bound their weight.

Shapes: T queries, n keys of d channels, m = ⌈n / block⌉ blocks; dots stand for anything before.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional

from gating_core.checks import check_integer, check_number
from gating_core.left_out.certificates import BLOCK, MOST
from gating_core.left_out.rows import check_scores


@dataclass(frozen=True, eq=False)
class BlockSearch:
    """The keys that were scored for each query, and the bound of the mass left out."""

    kept: torch.Tensor  # (..., T, n) bool: the seen keys of the blocks that were scored
    blocks: torch.Tensor  # (..., T) int64: how many blocks were scored
    bound: torch.Tensor  # (..., T): an upper bound of the mass left out, at most ε


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
    parts = keys.split(_checked(block), -2)
    low, high = (torch.stack([extreme(part) for part in parts], -2)
                 for extreme in (lambda x: x.amin(-2), lambda x: x.amax(-2)))  # fmt: skip
    products = queries.clamp(min=0) @ high.mT + queries.clamp(max=0) @ low.mT
    return products * queries.shape[-1] ** -0.5


def block_search(
    scores: torch.Tensor, bounds: torch.Tensor, epsilon: float, block: int = BLOCK
) -> BlockSearch:
    """Score blocks by their ``bounds`` (..., T, m) until the mass left out is at most ``epsilon``.

    ``scores`` (..., T, n) are given in full, as a simulation: a block's count only when it is
    scored. ``ValueError`` where a bound is NaN or smaller than a score of its block, and unless
    0 <= epsilon <= 1.
    """
    check_scores(scores)
    check_number("epsilon", epsilon, 0.0, 1.0)
    spare = -scores.shape[-1] % _checked(block)
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
    tail = functional.pad(most.flip(-1).logcumsumexp(-1).flip(-1)[..., 1:], (0, 1),
                          value=-torch.inf)  # fmt: skip
    curve = (tail - torch.logaddexp(tail, head)).exp()
    last = (curve <= epsilon).int().argmax(-1, keepdim=True)
    scored = order.argsort(-1) <= last
    kept = scored.repeat_interleave(block, -1)[..., : scores.shape[-1]] & ~scores.isneginf()
    return BlockSearch(kept, last[..., 0] + 1, curve.gather(-1, last)[..., 0])


def _checked(block: int) -> int:
    check_integer("block", block, 1, MOST)
    return block
