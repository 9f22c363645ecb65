"""The cost of measuring a model, integrals within a few seconds, and what layers do on a grid.

Shapes: R x C grid points, H heads, n values, W gates of a layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.attention.config import AttentionConfig
from gating_core.attention.layer import LayerRecord
from gating_core.geometry.adaptive import LARGEST_SAMPLE, PART_POINTS, adaptive_integrals
from gating_core.geometry.curvature import Matrix
from gating_core.geometry.flatness import flatness_proofs
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.integrals import SurfaceIntegrals, grid_integrals
from gating_core.jets.second_order import jet_by_parts
from gating_core.progress import Progress, silent

AFFORDABLE_COST = 1e8  # of `cost` times points: some five seconds of one core, bounds included
PART_COST = 4e6  # of `cost` times points, between two reports of progress: a fifth of a second
FEWEST_REFINED = 24_000  # points: twice what the first cells take
COARSEST_GRID = 19  # points along each side, where a model is too large for more
TOLERANCE = 0.02  # relative, of the total curvature
Chart = Callable[..., torch.Tensor]


def cost(config: AttentionConfig) -> float:
    """Estimate the cost of one point, in numbers touched."""
    attending = config.model_dim * config.value_count
    if config.layer.state_axes(config):  # tokens, which attend in pairs
        attending *= 8 * config.value_count
    return config.depth * (attending + config.model_dim**2)


def affordable_integrals(
    chart: Chart,
    config: AttentionConfig,
    covariance: Matrix | None = None,
    points: int = LARGEST_SAMPLE,
    progress: Progress = silent,
) -> SurfaceIntegrals:
    """Compute all integrals over a chart of a model with ``config``, within a few seconds.

    From ``points`` at most; ``progress`` is called with ``None``.
    """
    sample = min(int(AFFORDABLE_COST / cost(config)), points)
    part = max(int(PART_COST / cost(config)), 1)
    if sample < FEWEST_REFINED:  # not even the first cells: then a coarse grid as it is
        grid = square_grid(COARSEST_GRID)
        jet = jet_by_parts(chart, grid.points, "rigorous", part, lambda _: progress(None))
        integrals = grid_integrals(jet, grid.weights, covariance)
        return integrals.of_flat() if any(flatness_proofs(chart, jet.value)) else integrals
    part = min(part, PART_POINTS)
    return adaptive_integrals(
        chart, covariance, TOLERANCE, "rigorous", sample, part=part, progress=progress
    )


@dataclass(frozen=True, eq=False)
class LayerFields:
    """One layer's ``weights`` (H, R, C, n) and ``gates`` (W, R, C).

    ``gates`` is ``None`` where the layer has no gate, and where the chart prescribes the weights
    and the gate has no effect.
    """

    weights: np.ndarray
    gates: np.ndarray | None

    @property
    def by_name(self) -> dict[str, np.ndarray]:
        """Gates, and weights of every head, each (R, C)."""
        gates = () if self.gates is None else self.gates
        return {f"gate {i}": gate for i, gate in enumerate(gates, 1)} | {
            f"weight {i} of head {head}": weight
            for head, weights in enumerate(self.weights, 1)
            for i, weight in enumerate(np.moveaxis(weights, -1, 0), 1)
        }


def layer_fields(chart: Callable[..., torch.Tensor], grid: Grid) -> list[LayerFields]:
    """Compute the weights and gates of every layer at the points of ``grid``.

    ``chart`` is a model or an attention-weight chart, an ensemble of one.
    """
    shape = tuple(grid.weights.shape)
    records: list[LayerRecord] = []
    chart(grid.points, records)
    return [
        LayerFields(
            record.weights[0].unflatten(1, shape).numpy(),
            None
            if record.gate is None
            else record.gate[0].expand(len(grid.points), -1).T.reshape(-1, *shape).numpy(),
        )
        for record in records
    ]
