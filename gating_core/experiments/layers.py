"""Attention weights and gates of every layer over a grid.

Shapes: R x C grid points, H heads, n values, W gates of a layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.attention.layer import LayerRecord
from gating_core.geometry.grid import Grid


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
