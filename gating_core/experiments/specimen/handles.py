"""What one can take hold of: value vectors in the drawn plane, gate weights as arrows.

A gate of the first layer opens with an affine function of the input (G1, G4, G5 on memory, no
pre-normalisation): its logit is a . x + c, and the arrow a = W_in w is what is drawn and dragged.
The gate weight w then changes by as little as possible (least norm).
"""

from __future__ import annotations

import numpy as np
import torch

from gating_core.attention.config import AttentionConfig
from gating_core.experiments.specimen.model import Specimen, build_specimen
from gating_core.geometry.metric import Matrix

DIGITS = 4  # after the point: what a link keeps of a dragged number


def draggable_values(config: AttentionConfig) -> bool:
    """Whether a model has three fixed value vectors."""
    return config.layer.fixed_values and config.value_count == 3


def draggable_gates(config: AttentionConfig) -> bool:
    """Whether the first layer's gates open with affine functions of the input."""
    gate = config.gate
    reads_state = gate is not None and gate.position in ("G1", "G4", "G5")
    return draggable_values(config) and reads_state and config.norm != "pre"


def own_values(specimen: Specimen) -> np.ndarray:
    """(n, D): the last layer's values, before any gate."""
    return build_specimen(specimen).blocks[-1].values[0].numpy()


def gate_arrows(specimen: Specimen) -> np.ndarray:
    """(W, 2): for every gate of the first layer, the direction of the input in which it opens."""
    model = build_specimen(specimen)
    gate = model.blocks[0].gate
    assert gate is not None
    return (model.input_map[0] @ gate.weight[0]).T.numpy()


def moved_gate(specimen: Specimen, index: int, place: tuple[float, float]) -> Matrix:
    """The first layer's gate weights (D, W) with the arrow of gate ``index`` moved."""
    model = build_specimen(specimen)
    gate = model.blocks[0].gate
    assert gate is not None
    weight = gate.weight[0].clone()
    wanted = torch.tensor(place, dtype=torch.float64) - model.input_map[0] @ weight[:, index]
    weight[:, index] += torch.linalg.pinv(model.input_map[0]) @ wanted
    return link_digits(weight.numpy())


def link_digits(array: np.ndarray) -> Matrix:
    return tuple(tuple(round(float(x), DIGITS) for x in row) for row in array)
