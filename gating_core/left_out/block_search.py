"""Certified attention without all scores: blocks of keys are scored until a bound says enough.

Before any key of a block is scored, a box around its keys bounds how large its scores can be (as in
Tang et al., *Quest*, arXiv 2406.10774). Blocks are scored in the order of their bounds, and every
key that was scored is kept; what is left out has at most the weight that the bounds allow.

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
    """What was scored for each query, and what that certifies."""

    kept: torch.Tensor  # (..., T, n) bool: the seen keys of the blocks that were scored
    blocks: torch.Tensor  # (..., T) int64: how many blocks were scored
    bound: torch.Tensor  # (..., T): of the mass left out, at most ε


def block_bounds(queries: torch.Tensor, keys: torch.Tensor, block: int = BLOCK) -> torch.Tensor:
    """(..., T, m): what q·k / √d is at most for the keys (..., n, d) of each block.

    For queries (..., T, d): the sum over channels of the larger of q times both sides of the box.
    ``ValueError`` where sizes do not fit or something is not finite.
    """
    if queries.ndim < 2 or keys.ndim < 2 or queries.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"queries and keys have the shapes {tuple(queries.shape)} and {tuple(keys.shape)};"
            " they must be (..., T, d) and (..., n, d)"
        )
    if not (queries.isfinite().all() and keys.isfinite().all()):
        raise ValueError("queries or keys contain NaN or infinite numbers; all must be finite")
    parts = keys.split(_checked(block), -2)
    low, high = (torch.stack([side(part) for part in parts], -2)
                 for side in (lambda part: part.amin(-2), lambda part: part.amax(-2)))  # fmt: skip
    products = queries.clamp(min=0) @ high.mT + queries.clamp(max=0) @ low.mT
    return products * queries.shape[-1] ** -0.5


def block_search(
    scores: torch.Tensor, bounds: torch.Tensor, epsilon: float, block: int = BLOCK
) -> BlockSearch:
    """Score blocks by their ``bounds`` (..., T, m) until the mass left out is at most ``epsilon``.

    ``scores`` (..., T, n) stand for what would be computed; a block's bound must be no smaller than
    any of its scores. ``ValueError`` if one is or is NaN, and unless 0 <= epsilon <= 1.
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
