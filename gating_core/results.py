"""What was found: frozen NumPy arrays, ready to be drawn, cached and written down.

Shapes: T frames (gate strengths), R x C grid points, D model dimension, S seeds, P data points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gating_core.config import AttentionConfig

FLAT_ERROR = 1e-3  # of 1 / diameter^2


@dataclass(frozen=True, eq=False)
class TrainedEnsemble:
    """A trained ensemble and how it got there.

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

        Made without looking at the test points, so that a chosen member's test accuracy is an
        honest one.
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
    from scipy import stats  # here: half a second to import, and no picture waits for it

    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or len(values) < 2:
        raise ValueError(f"values has shape {values.shape}; an interval needs (S,) with S > 1")
    quantile = stats.t.ppf((1 + confidence) / 2, len(values) - 1)
    return MeanInterval(float(values.mean()), float(quantile * stats.sem(values)))


@dataclass(frozen=True, eq=False)
class AreaShares:
    """Shares of the surface's area, (T,) each, that add up to one.

    Undecided: |K| is within its error, or the tangent plane is unresolved.
    """

    positive: np.ndarray
    negative: np.ndarray
    undecided: np.ndarray


@dataclass(frozen=True, eq=False)
class SurfaceResult:
    """A sampled surface in T versions, with its curvature and the doubt about it."""

    axis: np.ndarray  # (R,): chart coordinates of rows and columns
    values: np.ndarray  # (T, R, C, D)
    gaussian: np.ndarray  # (T, R, C): K, 1 / length^2
    gaussian_error: np.ndarray  # (T, R, C)
    bound_kind: str
    resolved: np.ndarray  # (T, R, C)
    area_element: np.ndarray  # (T, R, C)
    total: np.ndarray  # (T,): integral of |K| dA
    total_error: np.ndarray  # (T,)
    complete: np.ndarray  # (T,): False where the total is a lower estimate
    shares: AreaShares

    @property
    def flat(self) -> np.ndarray:
        """(T,): whether all points are resolved, |K| is within its error, and that is small.

        Small without units: at half of the points below 1e-3 of 1 / diameter^2. Where errors are
        large |K| is within them, too, and that says nothing.
        """
        within = np.abs(self.gaussian) <= self.gaussian_error
        span = self.values.max((1, 2)) - self.values.min((1, 2))
        typical = np.median(self.gaussian_error, axis=(1, 2)) * (span**2).sum(-1)
        return (within & self.resolved).all((1, 2)) & (typical < FLAT_ERROR)

    @property
    def curved_share(self) -> np.ndarray:
        """(T,): the share of the area on which K is known not to be zero."""
        return self.shares.positive + self.shares.negative

    @property
    def largest_error(self) -> np.ndarray:
        """(T,): the largest error of K among resolved points."""
        return np.where(self.resolved, self.gaussian_error, 0.0).max((1, 2))

    @property
    def unresolved_share(self) -> np.ndarray:
        """(T,): the share of grid points whose tangent plane is unresolved."""
        return 1 - self.resolved.mean((1, 2))


@dataclass(frozen=True, eq=False)
class CutSurface:
    """A classifier's surface together with the plane that cuts it and the data on it."""

    surface: SurfaceResult
    margin: np.ndarray  # (T, R, C): logit of class 1 minus logit of class 0
    normal: np.ndarray  # (D,): the plane is normal . y + offset = 0
    offset: float
    value_vectors: np.ndarray  # (n, D): the last layer's values
    data: np.ndarray  # (P, 2): training points
    labels: np.ndarray  # (P,)
    data_values: np.ndarray  # (T, P, D)
    test_accuracy: np.ndarray  # (T,)
