"""Steering: a direction is added to the residual stream after one layer while a model writes.

Source: Turner et al., arXiv 2308.10248 (activation addition); Chou et al., *Causal Language Control
in Multilingual Transformers via Sparse Feature Steering*. Shapes: B texts, T characters, D width.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from gating_core.checks import check_integer, check_number
from gating_core.language import Edit, KeyValueCache, LanguageModel, draw_next, encode
from gating_core.randomness import generator

RELEASED_AFTER = 16  # characters written, after which a push is released
# A line break would end the text, and the next text may be in either language.
FORBIDDEN = tuple(encode("").tolist())


@dataclass(frozen=True, eq=False)
class Steering:
    """A vector that is added to the stream after ``layer``, at every character that is read."""

    layer: int  # 0 is the first
    addition: torch.Tensor  # (D,) or (B, 1, D): direction times strength
    released_after: int | None = None  # characters written; None: it is held

    def edit(self, written: int) -> Edit | None:
        """The edit of the stream once ``written`` characters are written; ``None`` for no edit."""
        if self.released_after is not None and written >= self.released_after:
            return None
        if not self.addition.any():
            return None  # a sum with zero is not always the same bits
        return lambda layer, stream: stream + self.addition if layer == self.layer else stream


def write_steered(
    model: LanguageModel,
    prompts: torch.Tensor,
    steering: Steering | None,
    seed: int,
    temperature: float = 0.7,
    strength: float = 1.0,
) -> Iterator[torch.Tensor]:
    """Write after ``prompts`` (B, T) int64 until the context is full; yield (B,) at a time.

    The same ``seed`` gives the same random numbers, steered or not. ``strength`` (0 to 1) scales
    the gates. ``ValueError`` for a seed or strength out of range.
    """
    check_integer("seed", seed, 0, 2**31 - 1)
    check_number("strength", strength, 0.0, 1.0)
    draw, cache, unread, written = generator(seed, "steering"), KeyValueCache(), prompts, 0
    while cache.length + unread.shape[-1] <= model.config.context:
        edit = None if steering is None else steering.edit(written)
        unread, _ = draw_next(
            model, unread, cache, draw, temperature, strength, edit, forbidden=FORBIDDEN
        )
        written += 1
        yield unread[:, 0]
