"""Loss and accuracy of an ensemble at given points.

Shapes: S seeds, M members, several for each seed, N points, C classes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from gating_core.attention.stack import Classifier
from gating_core.pauses import Pause

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # of logits and labels

BLOCK_NUMBERS = 100_000  # of one tensor, worked on at a time: what stays in a core's cache
SMALLEST_BLOCK = 16  # points


@dataclass(frozen=True, eq=False)
class Examples:
    """Points and labels of all members, laid out once."""

    columns: torch.Tensor  # (M, 2, N) float32
    labels: torch.Tensor  # (M, N)

    @staticmethod
    def of(points: np.ndarray, labels: np.ndarray, copies: int = 1) -> Examples:
        """Points (S, N, 2) and labels (S, N), each for ``copies`` members: M = copies x S."""
        columns = torch.from_numpy(points).float().mT.contiguous()
        return Examples(columns.repeat(copies, 1, 1), torch.from_numpy(labels).repeat(copies, 1))


def scores(
    model: Classifier, examples: Examples, loss: Loss | None = None
) -> Generator[None, None, tuple[np.ndarray, np.ndarray]]:
    """Mean ``loss`` (M,), cross-entropy unless given, and accuracy (M,), in float32; pauses."""
    members, count = examples.labels.shape
    total, hits = torch.zeros(2, members, dtype=torch.float64)
    block = block_size(model)
    pause = Pause()
    for columns, labels in zip(
        examples.columns.split(block, -1), examples.labels.split(block, -1), strict=True
    ):
        with torch.no_grad():
            logits = model(columns.mT)
            total += (loss or cross_entropies)(logits, labels).sum(-1)
            hits += right(logits, labels).sum(-1)
        yield from pause()
    return (total / count).numpy(), (hits / count).numpy()


def block_size(model: Classifier) -> int:
    """How many points are best worked on at a time, for all members together."""
    config = model.attention.config
    width = config.model_dim * config.layer.step_numbers(config)
    return max(BLOCK_NUMBERS // (len(model.bias) * width), SMALLEST_BLOCK)


def cross_entropies(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """(S, N): the cross-entropy of logits (S, N, C) at every point."""
    return functional.cross_entropy(logits.mT, labels, reduction="none")


def right(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """(S, N): whether the largest logit (S, N, C), the first among equals, is the label's."""
    first, second, *others = logits.unbind(-1)
    top, chosen = torch.maximum(first, second), (second > first).long()
    for label, other in enumerate(others, 2):  # class by class: many times faster than `max`
        chosen = torch.where(other > top, label, chosen)
        top = torch.maximum(top, other)
    return chosen == labels


def accuracy(logits: torch.Tensor, labels: torch.Tensor) -> np.ndarray:
    """(S,): the share of points (S, N) whose largest logit is their label's."""
    return right(logits, labels).double().mean(-1).numpy()
