"""A trained ensemble: its weights and its history; means over seeds; loss and accuracy.

Shapes: T snapshots, S seeds, M members, several for each seed, N points, C classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch.nn import functional

from gating_core.attention.config import AttentionConfig
from gating_core.attention.stack import Classifier
from gating_core.progress import Progress, silent


@dataclass(frozen=True, eq=False)
class TrainedEnsemble:
    """A trained ensemble and its history.

    ``steps`` (T,), ``train_loss``, ``train_accuracy`` and ``test_accuracy`` (T, S) along training;
    ``state`` the final float32 weights by name, each with the leading seed axis.
    """

    config: AttentionConfig
    seeds: tuple[int, ...]
    steps: np.ndarray
    train_loss: np.ndarray
    train_accuracy: np.ndarray
    test_accuracy: np.ndarray
    state: dict[str, np.ndarray]

    @property
    def ranking(self) -> np.ndarray:
        """(S,): the members by training accuracy, best first, among equals by training loss.

        Test points have no part in it, so the test accuracy of a chosen member is not biased.
        """
        return np.lexsort((self.train_loss[-1], -self.train_accuracy[-1]))

    @property
    def best(self) -> int:
        """The first of the ranking."""
        return int(self.ranking[0])

    @property
    def parameter_count(self) -> int:
        """Trainable numbers in one member, classifier included."""
        return sum(array[0].size for array in self.state.values())


@dataclass(frozen=True)
class MeanInterval:
    """A mean over seeds and the half width of its 95 % Student t interval."""

    mean: float
    half_width: float


def mean_interval(values: np.ndarray, confidence: float = 0.95) -> MeanInterval:
    """Mean and interval of independent ``values`` (S,), S > 1; half width 0 if all are equal."""
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or len(values) < 2:
        raise ValueError(f"values has shape {values.shape}; an interval needs (S,) with S > 1")
    error = values.std(ddof=1) / np.sqrt(len(values))
    return MeanInterval(float(values.mean()), float(_quantile(confidence, len(values)) * error))


@lru_cache(maxsize=64)  # every training frame needs one
def _quantile(confidence: float, count: int) -> float:
    """The half width of the interval of a mean of ``count`` values, in standard errors."""
    # As `scipy.stats.t.ppf`, whose import takes half a second.
    from scipy.special import stdtrit  # here: a tenth of a second, and no worker needs it

    return float(stdtrit(count - 1, (1 + confidence) / 2))


# --- Loss and accuracy ----------------------------------------------------------------------------


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
    model: Classifier, examples: Examples, progress: Progress = silent
) -> tuple[np.ndarray, np.ndarray]:
    """Mean cross-entropy (M,) and accuracy (M,), in float32."""
    members, count = examples.labels.shape
    total, hits = torch.zeros(2, members, dtype=torch.float64)
    width = widest_tensor(model.attention.config)
    # As many numbers of one tensor at a time as stay in a core's cache.
    block = max(100_000 // (len(model.bias) * width), 16)
    for columns, labels in zip(
        examples.columns.split(block, -1), examples.labels.split(block, -1), strict=True
    ):
        with torch.no_grad():
            logits = model(columns.mT)
            total += cross_entropies(logits, labels).sum(-1)
            hits += right(logits, labels).sum(-1)
        progress(None)
    return (total / count).numpy(), (hits / count).numpy()


def widest_tensor(config: AttentionConfig) -> int:
    """Return the numbers in a layer's largest tensor for one point: tokens attend in pairs."""
    return config.model_dim * math.prod(config.layer.state_axes(config)) ** 2


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
