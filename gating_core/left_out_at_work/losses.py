"""Losses from a text's 33rd character on: before it there are few keys to leave out.

Only texts that fill the context are used: short ones have no more keys than a large budget.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from gating_core.language import LanguageModel, excerpt_texts, row_losses, rows_of

CONTEXT = 128  # characters, of all shipped models; the line break before a text included
FIRST = 32  # the first query whose loss counts
TEXTS_AT_ONCE = 32


def long_texts() -> list[str]:
    """The shipped verses that fill a context, the English ones first."""
    return [text for text in excerpt_texts() if len(text) >= CONTEXT - 1]


@torch.no_grad()
def late_losses(model: LanguageModel, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """(N,) and (N,) float64: the summed loss of each text from `FIRST` on, and its characters."""
    rows = rows_of(texts, model.config.context)
    parts = [row_losses(model(rows.read[part]), rows.targets[part])
             for part in torch.arange(len(texts)).split(TEXTS_AT_ONCE)]  # fmt: skip
    counted = rows.counted[:, FIRST:]
    losses = torch.where(counted, torch.cat(parts)[:, FIRST:].double(), 0.0)
    return losses.sum(-1), counted.sum(-1).double()
