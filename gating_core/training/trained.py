"""A trained ensemble: its weights and its history; means over seeds.

Shapes: T snapshots, S seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gating_core.attention.config import AttentionConfig


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
