"""Texts read by a model in batches: losses in nats a character, text by text, and records.

Shapes: B texts, T characters that are read (the context), V characters of the alphabet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from gating_core.characters import encode
from gating_core.lm.model import BlockRecord, LanguageModel

TEXTS_AT_ONCE = 32
Arrays = dict[str, np.ndarray]  # of a measurement, by name


@dataclass(frozen=True, eq=False)
class Rows:
    """Texts as rows: a line break, the text, line breaks, cut where the context ends."""

    read: torch.Tensor  # (B, T) int64; short texts are padded with line breaks
    targets: torch.Tensor  # (B, T) int64: the character after each one that is read
    counted: torch.Tensor  # (B, T) bool: false behind the end of a text


def rows_of(texts: Sequence[str], context: int) -> Rows:
    """``texts`` as rows of ``context`` characters; ``ValueError`` for unknown characters."""
    numbers = torch.zeros(len(texts), context + 1, dtype=torch.int64)
    lengths = torch.zeros(len(texts), 1, dtype=torch.int64)
    for row, text in enumerate(texts):
        encoded = encode(text)[: context + 1]
        numbers[row, : len(encoded)] = encoded
        lengths[row] = len(encoded)
    return Rows(numbers[:, :-1], numbers[:, 1:], torch.arange(context) < lengths)


def row_losses(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """(B, T): minus the log probability of each of ``targets`` (B, T) by ``logits`` (B, T, V)."""
    return functional.cross_entropy(
        logits.flatten(0, -2), targets.reshape(-1), reduction="none"
    ).view_as(targets)


@torch.no_grad()
def text_losses(
    model: LanguageModel, texts: Sequence[str], *, first: int = 0, **options: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """(B,) and (B,) float64: the summed loss of each text, and how many characters it has.

    From its character ``first`` on; other options are those of `LanguageModel.forward`.
    """
    rows = rows_of(texts, model.config.context)
    parts = [
        row_losses(model(rows.read[part], **options), rows.targets[part])
        for part in torch.arange(len(texts)).split(TEXTS_AT_ONCE)
    ]
    counted = rows.counted[:, first:]
    losses = torch.where(counted, torch.cat(parts)[:, first:].double(), 0.0)
    return losses.sum(-1), counted.sum(-1).double()


def mean_loss(model: LanguageModel, texts: Sequence[str], strength: float = 1.0) -> float:
    """The mean loss of a character of ``texts`` in nats."""
    sums, counts = text_losses(model, texts, strength=strength)
    return float(sums.sum() / counts.sum())


# --- Records --------------------------------------------------------------------------------------


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
