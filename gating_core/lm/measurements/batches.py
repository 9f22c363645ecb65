"""Texts in batches, with the records and logits that a model computes for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.lm.losses import Rows, rows_of
from gating_core.lm.model import BlockRecord, LanguageModel

Arrays = dict[str, np.ndarray]
TEXTS_AT_ONCE = 32


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch of texts, with the records of a model's blocks, and its logits."""

    rows: Rows
    layers: list[BlockRecord]
    logits: torch.Tensor  # (B, T, V)


@torch.no_grad()
def batches(model: LanguageModel, texts: Sequence[str]) -> Iterator[Batch]:
    """Read ``texts`` in batches: all attention weights at once would fill the memory."""
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        rows = rows_of(texts[start : start + TEXTS_AT_ONCE], model.config.context)
        logits, layers = model.record(rows.read)
        yield Batch(rows, layers, logits)
