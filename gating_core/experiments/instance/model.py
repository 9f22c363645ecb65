"""One model on one chart, and its handles: value vectors and gate arrows that can be dragged.

A gate of the first layer opens with an affine function of the input (G1, G4, G5 on memory, no
pre-normalisation): its logit is a . x + c, and the arrow a = W_in w is drawn. Moving the arrow
changes the gate weight w by as little as possible (least norm).

Shapes: R x C grid points, D model dimension, H heads, n values, W gates of a layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from gating_core.attention.charts import WeightChart, weight_chart
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import Attention, build_attention
from gating_core.checks import check_choice, check_integer, check_number
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import CONVERGED
from gating_core.geometry.metric import Matrix
from gating_core.geometry.surface import concentration, measure_surface

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
    gate_weight: Matrix | None = None  # (D, W): replaces the first layer's gate weights

    def __post_init__(self) -> None:
        check_choice("chart", self.chart, CHARTS)
        check_integer("seed", self.seed, 0, 2**31 - 1)
        check_number("sharpness", self.sharpness, *SHARPNESS_RANGE)

    @property
    def ungated(self) -> ModelInstance:
        """This instance without its gate."""
        return replace(self, config=replace(self.config, gate=None), gate_weight=None)


def build_instance(instance: ModelInstance) -> Attention:
    """Build the model, an ensemble of one; ``ValueError`` if a replaced matrix does not fit."""
    model = build_attention(instance.config, (instance.seed,))
    if instance.sharpness != 1.0:
        for layer in model.blocks:
            layer.sharpen(instance.sharpness)
    first, last = model.blocks[0], model.blocks[-1]
    if instance.values is not None:
        if not instance.config.layer.fixed_values:
            raise ValueError(
                f"values were given for a model of {instance.config.source}; its values are"
                " computed"
            )
        _replace(last.values, instance.values, "values")
    if instance.gate_weight is not None:
        if first.gate is None:
            raise ValueError("gate_weight was given for a model without a gate")
        _replace(first.gate.weight, instance.gate_weight, "gate_weight")
    return model


def _replace(parameter: torch.nn.Parameter, matrix: Matrix, name: str) -> None:
    new = torch.tensor(matrix, dtype=torch.float64)
    if new.shape != parameter.shape[1:]:
        shape = tuple(parameter.shape[1:])
        raise ValueError(f"{name} has shape {tuple(new.shape)}; it must be {shape}")
    if not new.isfinite().all():
        raise ValueError(f"{name} contains NaN or infinite numbers; all must be finite")
    parameter.data[0] = new


def chart_of(instance: ModelInstance, model: Attention | None = None) -> Attention | WeightChart:
    """Return the callable (N, 2) -> (1, N, D) whose image is the instance's surface.

    ``ValueError`` where there is no attention-weight chart (see `weight_chart`).
    """
    model = build_instance(instance) if model is None else model
    return model if instance.chart == "inputs" else weight_chart(model)


# --- Handles --------------------------------------------------------------------------------------

LINK_DIGITS = 4  # after the point, of dragged numbers in a link


def draggable_values(config: AttentionConfig) -> bool:
    """Return whether a model has three fixed value vectors."""
    return config.layer.fixed_values and config.value_count == 3


def draggable_gates(config: AttentionConfig) -> bool:
    """Return whether the first layer's gates open with affine functions of the input."""
    gate = config.gate
    reads_state = gate is not None and gate.position in ("G1", "G4", "G5")
    return draggable_values(config) and reads_state and config.norm != "pre"


def own_values(instance: ModelInstance) -> np.ndarray:
    """(n, D): the last layer's values, before any gate."""
    return build_instance(instance).blocks[-1].values[0].numpy()


def gate_arrows(instance: ModelInstance) -> np.ndarray:
    """(W, 2): for every gate of the first layer, the input direction in which it opens."""
    model = build_instance(instance)
    gate = model.blocks[0].gate
    assert gate is not None
    return (model.input_map[0] @ gate.weight[0]).T.numpy()


def moved_gate(instance: ModelInstance, index: int, arrow: tuple[float, float]) -> Matrix:
    """Return the first layer's gate weights (D, W) with ``arrow`` for gate ``index``."""
    model = build_instance(instance)
    gate = model.blocks[0].gate
    assert gate is not None
    weight = gate.weight[0].clone()
    change = torch.tensor(arrow, dtype=torch.float64) - model.input_map[0] @ weight[:, index]
    weight[:, index] += torch.linalg.pinv(model.input_map[0]) @ change
    return link_digits(weight.numpy())


def link_digits(array: np.ndarray) -> Matrix:
    """Round a matrix to the digits of a link."""
    return tuple(tuple(round(float(x), LINK_DIGITS) for x in row) for row in array)


# --- Selection ------------------------------------------------------------------------------------

# The rule selects the random model that shows best what a gate does. Random gated stacks without a
# residual collapse with depth: most of their surfaces are near-degenerate, or ribbons. A model is
# broad if neither its ungated surface nor its gated one is ten times as long as broad. Among the
# broad ones, or among all if there are none, the rule selects the largest product of four numbers
# from 0 to 1: the breadth of both surfaces; one minus the share of the curvature on the most curved
# part of the area; and the total curvature, up to 1. Totals not known to a tenth count as 0.

SCORE_GRID = 31  # points along each side: enough to compare models
NEAR_DEGENERATE = 10.0  # elongation above which a surface counts as near-degenerate
SEEDS = 1024  # candidates of the rule, from 0
# Selected by the rule for each depth, with one sigmoid gate per channel at G1 and the sizes of
# `AttentionConfig`, in some seconds each. With seven layers or more no model is broad.
CHOSEN_SEEDS = {1: 614, 2: 543, 3: 892, 4: 808, 5: 59, 6: 557, 7: 149, 8: 149}


def chosen_config(depth: int) -> AttentionConfig:
    """Return the configuration of the candidates with ``depth`` layers."""
    return AttentionConfig(depth=depth, gate=GateConfig())


def select_seed(config: AttentionConfig, seeds: Sequence[int]) -> int:
    """Select among ``seeds`` of a gated ``config`` by the rule; the first of equals."""
    broad, merit = seed_scores(config, seeds)
    return seeds[int(np.argmax(np.where(broad, 1.0 + merit, merit)))]


def seed_scores(config: AttentionConfig, seeds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """(S,) each, by seed: whether both sheets are broad, and the rule's product, 0 to 1."""
    grid = square_grid(SCORE_GRID)
    ungated = build_attention(replace(config, gate=None), tuple(seeds))
    with torch.no_grad():
        sheets = ungated(grid.points).unflatten(1, tuple(grid.weights.shape)).numpy()
    gated = measure_surface(build_attention(config, tuple(seeds)), grid, bound="estimate")
    before, after = (
        np.array([breadth(sheet) for sheet in several]) for several in (sheets, gated.values)
    )
    total = np.where(gated.total_error <= CONVERGED * gated.total, gated.total, 0.0)
    merit = before * after * (1 - concentration(gated)) * np.minimum(total, 1.0)
    return np.minimum(before, after) > 1 / NEAR_DEGENERATE, merit


def breadth(sheet: np.ndarray) -> float:
    """Compute breadth by length of a sheet (R, C, D): 0 for a line, 1 for a square.

    The smaller of two numbers: the inverse of `elongation`, and the area by the square of the
    length, which is small for a bent ribbon, too.
    """
    points = sheet.reshape(-1, sheet.shape[-1])
    length = 12 * float(np.linalg.svd(points - points.mean(0), compute_uv=False)[0]) ** 2
    across, along = np.diff(sheet, axis=1)[:-1], np.diff(sheet, axis=0)[:, :-1]
    gram = (across**2).sum(-1) * (along**2).sum(-1) - (across * along).sum(-1) ** 2
    area = float(np.sqrt(np.maximum(gram, 0.0)).sum())
    square = length / len(points)
    return min(1 / elongation(sheet), area / square) if square > 0 else 0.0


def elongation(values: np.ndarray) -> float:
    """Compute length by breadth of the points ``values`` (..., D).

    From the standard deviations along their first two principal components; 1 for a single point,
    infinite on a line.
    """
    points = values.reshape(-1, values.shape[-1])
    spread = np.linalg.svd(points - points.mean(0), compute_uv=False)
    if not spread[0] > 0:
        return 1.0
    return float(spread[0] / spread[1]) if spread[1] > 0 else np.inf
