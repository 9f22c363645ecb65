"""Texts read by a model in batches: losses in nats a character, text by text.

Shapes: B texts, T characters that are read (the context), V characters of the alphabet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from gating_core.characters import encode
from gating_core.lm.model import LanguageModel

TEXTS_AT_ONCE = 32


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
