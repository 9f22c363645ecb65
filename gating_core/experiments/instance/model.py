"""One model on one chart, and its value vectors, which can be dragged.

Shapes: R x C grid points, D model dimension, H heads, n values.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import torch

from gating_core.attention.charts import WeightChart, weight_chart
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import Attention, build_attention
from gating_core.checks import check_choice, check_integer, check_number
from gating_core.geometry.metric import Matrix

CHARTS = ("inputs", "weights")
SHARPNESS_RANGE = (0.1, 100.0)


@dataclass(frozen=True)
class ModelInstance:
    """A model with random weights, one chart on it, and the metric it is measured in."""

    config: AttentionConfig = field(default_factory=AttentionConfig)
    seed: int = 0
    sharpness: float = 1.0  # factor on all keys: the larger, the more the softmax saturates
    chart: str = "inputs"  # CHARTS: the query chart or the attention-weight chart
    covariance: Matrix | None = None  # (D, D), None for the identity
    values: Matrix | None = None  # (n, D): replaces the last layer's values

    def __post_init__(self) -> None:
        check_choice("chart", self.chart, CHARTS)
        check_integer("seed", self.seed, 0, 2**31 - 1)
        check_number("sharpness", self.sharpness, *SHARPNESS_RANGE)

    @property
    def ungated(self) -> ModelInstance:
        """This instance without its gate."""
        return replace(self, config=replace(self.config, gate=None))


def build_instance(instance: ModelInstance) -> Attention:
    """Build the model, an ensemble of one; ``ValueError`` if a replaced matrix does not fit."""
    model = build_attention(instance.config, (instance.seed,))
    if instance.sharpness != 1.0:
        for layer in model.blocks:
            layer.sharpen(instance.sharpness)
    if instance.values is not None:
        if not instance.config.layer.fixed_values:
            raise ValueError(
                f"values were given for a model of {instance.config.source}; its values are"
                " computed"
            )
        last = model.blocks[-1].values
        new, shape = torch.tensor(instance.values, dtype=torch.float64), tuple(last.shape[1:])
        if tuple(new.shape) != shape:
            raise ValueError(f"values has shape {tuple(new.shape)}; it must be {shape}")
        if not new.isfinite().all():
            raise ValueError("values contains NaN or infinite numbers; all must be finite")
        last.data[0] = new
    return model


def chart_of(instance: ModelInstance, model: Attention | None = None) -> Attention | WeightChart:
    """Return the callable (N, 2) -> (1, N, D) whose image is the instance's surface.

    ``ValueError`` where there is no attention-weight chart (see `weight_chart`).
    """
    model = build_instance(instance) if model is None else model
    return model if instance.chart == "inputs" else weight_chart(model)


# --- Dragged values -------------------------------------------------------------------------------

LINK_DIGITS = 4  # after the point, of dragged numbers in a link


def draggable_values(config: AttentionConfig) -> bool:
    """Return whether a model has three fixed value vectors."""
    return config.layer.fixed_values and config.value_count == 3


def own_values(instance: ModelInstance) -> np.ndarray:
    """(n, D): the last layer's values, before any gate."""
    return build_instance(instance).blocks[-1].values[0].numpy()


def link_digits(array: np.ndarray) -> Matrix:
    """Round a matrix to the digits of a link."""
    return tuple(tuple(round(float(x), LINK_DIGITS) for x in row) for row in array)


# --- Selection ------------------------------------------------------------------------------------

NEAR_DEGENERATE = 10.0  # elongation above which a surface counts as near-degenerate
SEEDS = 1024  # candidates of the rule, from 0
# For each depth, the seed of the random model that shows best what a gate does, with one sigmoid
# gate per channel at G1 and the sizes of `AttentionConfig`. Random gated stacks without a residual
# collapse with depth: most of their surfaces are near-degenerate, or ribbons. A model is broad if
# neither its ungated surface nor its gated one is ten times as long as broad. Among the broad ones,
# or among all if there are none, the largest product was taken of the breadth of both surfaces; one
# minus the share of the curvature on the most curved part of the area; and the total curvature, up
# to 1 (`gating_core.experiments.instance.model` of commit 1f4177a5). With seven layers or more no
# model is broad.
CHOSEN_SEEDS = {1: 614, 2: 543, 3: 892, 4: 808, 5: 59, 6: 557, 7: 149, 8: 149}


def chosen_config(depth: int) -> AttentionConfig:
    """Return the configuration of the candidates with ``depth`` layers."""
    return AttentionConfig(depth=depth, gate=GateConfig())


def elongation(values: np.ndarray) -> float:
    """Compute length by breadth of the points ``values`` (..., D).

    From the standard deviations along their first two principal components, of the points that are
    finite; 1 for a single point or none, infinite on a line.
    """
    points = values.reshape(-1, values.shape[-1])
    points = points[np.isfinite(points).all(-1)]
    if not len(points):
        return 1.0
    points = points / max(float(np.abs(points).max()), np.finfo(float).tiny)  # squares overflow
    spread = np.linalg.svd(points - points.mean(0), compute_uv=False)
    if not spread[0] > 0:
        return 1.0
    return float(spread[0] / spread[1]) if spread[1] > 0 else np.inf
