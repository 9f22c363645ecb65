"""Totals of heads beside those of their twins, and beside the entropy of their attention.

Shapes: L layers, H heads, S twins of a head, one for each seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gating_core.training import mean_interval


@dataclass(frozen=True)
class Ratio:
    """A geometric mean of ratios with its 95 % interval: Student's t of the logarithms.

    ``low`` and ``high`` are NaN for a single ratio.
    """

    value: float
    low: float
    high: float


def geometric_mean(ratios: np.ndarray) -> Ratio:
    """Return the mean of independent ``ratios`` (N,), N > 0, all of them positive."""
    logs = np.log(np.asarray(ratios, dtype=float))
    width = mean_interval(logs).half_width if len(logs) > 1 else np.nan
    value, low, high = np.exp(logs.mean() + np.array([0.0, -width, width])).tolist()
    return Ratio(value, low, high)


@dataclass(frozen=True, eq=False)
class TwinRatio:
    """Total curvature of twins over that of their heads, a geometric mean over heads and seeds.

    Attributes:
        mean: Every layer counts alike, and in it every head and every seed. Heads of one model are
            no independent sample, but as many clusters as there are layers: the interval is that of
            the layers' means.
        layers: (L,), the mean of each layer; NaN where none of its heads is counted.
        seeds: (S,), the mean of each seed.
        heads: How many heads are counted: those with a total beyond its error, and no twin with a
            total of 0.
        larger: How many of them have a larger total than the geometric mean of their twins.
    """

    mean: Ratio
    layers: np.ndarray
    seeds: np.ndarray
    heads: int
    larger: int


def twin_ratio(found: Mapping[str, np.ndarray], twin: str) -> TwinRatio | None:
    """Compare the totals of all heads with those of a ``twin``; ``None`` if no head is counted.

    Args:
        found: Arrays as of `shipped_measures`: ``total`` and ``error`` (L, H), twins (S, L, H).
        twin: One of `TWINS`.
    """
    total, twins = found["total"].astype(float), found[twin].astype(float)
    counted = (total > found["error"]) & (twins > 0).all(0)
    if not counted.any():
        return None
    logs = np.log(np.where(counted, twins, 1.0) / np.where(counted, total, 1.0))  # 0: not counted
    kept = counted.any(-1)
    by_layer = logs[:, kept].sum(-1) / counted[kept].sum(-1)  # (S, layers with heads)
    layers = np.full(len(total), np.nan)
    layers[kept] = np.exp(by_layer.mean(0))
    return TwinRatio(
        geometric_mean(layers[kept]),
        layers,
        np.exp(by_layer.mean(-1)),
        int(counted.sum()),
        int((logs.mean(0)[counted] < 0).sum()),
    )


def entropy_share(found: Mapping[str, np.ndarray]) -> float:
    """Return the share of the variance of log ∫|K| dA over heads that their mean entropy explains.

    R² of a straight line through the heads with a total beyond its error: the squared correlation.
    NaN for fewer than three of them, or where all entropies or totals are equal.
    """
    counted = found["total"] > found["error"]
    entropy, total = (found[name][counted].astype(float) for name in ("entropy", "total"))
    if len(total) < 3 or not np.ptp(entropy) or not np.ptp(total):
        return np.nan
    return float(np.corrcoef(entropy, np.log(total))[0, 1] ** 2)
