"""How well does an ensemble do on given points?

Shapes: S seeds, M members, several for each seed, N points, C classes.
"""

from __future__ import annotations

import time
from collections.abc import Generator

import numpy as np
import torch
from torch.nn import functional

from gating_core.attention.classifier import Classifier
from gating_core.pauses import PAUSE_SECONDS

BLOCK_NUMBERS = 60_000  # of one tensor, worked on at a time: what stays in a core's cache
SMALLEST_BLOCK = 16  # points


def scores(
    model: Classifier, points: np.ndarray, labels: np.ndarray
) -> Generator[None, None, tuple[np.ndarray, np.ndarray]]:
    """Mean cross-entropy (M,) and accuracy (M,) at points (S, N, 2) with labels (S, N).

    Member m is asked about the points of seed m modulo S, in float32. Gives way now and then.
    """
    columns = torch.from_numpy(points).float().mT.contiguous()
    wanted = torch.from_numpy(labels)
    members, count = len(model.bias), points.shape[1]
    loss, hits = torch.zeros(2, members, dtype=torch.float64)
    block = block_size(model)
    resumed = time.perf_counter()
    for first in range(0, count, block):
        part = slice(first, first + block)
        losses, found = _answers(model, columns[..., part], wanted[..., part])
        loss += losses.sum(-1)
        hits += found.sum(-1)
        if time.perf_counter() - resumed > PAUSE_SECONDS:
            yield
            resumed = time.perf_counter()
    return (loss / count).numpy(), (hits / count).numpy()


def block_size(model: Classifier) -> int:
    """How many points are best worked on at a time, for all members together."""
    config = model.attention.config
    width = config.model_dim * config.layer.step_numbers(config)
    return max(BLOCK_NUMBERS // (len(model.bias) * width), SMALLEST_BLOCK)


@torch.no_grad()
def _answers(
    model: Classifier, columns: torch.Tensor, labels: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Losses (M, N) and hits (M, N) at points whose coordinates are (S, 2, N)."""
    copies = len(model.bias) // len(labels)
    logits = model(columns.repeat(copies, 1, 1).mT)
    labels = labels.repeat(copies, 1)
    return cross_entropies(logits, labels), right(logits, labels)


def cross_entropies(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """(S, N): the cross-entropy of logits (S, N, C) at every point."""
    return functional.cross_entropy(logits.mT, labels, reduction="none")


def right(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """(S, N): whether the largest logit (S, N, C) is the label's."""
    return logits.max(-1).indices == labels  # forty times faster than argmax


def accuracy(logits: torch.Tensor, labels: torch.Tensor) -> np.ndarray:
    """(S,): the share of points (S, N) whose largest logit is their label's."""
    return right(logits, labels).double().mean(-1).numpy()
