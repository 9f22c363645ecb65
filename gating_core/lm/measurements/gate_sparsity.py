"""Gate sparsity: how many gate values are shut.

Shapes: B texts of T characters at most, G gates of a layer (one a channel or one a head), L layers,
H heads. ``counted`` (B, T) is false behind the end of a text.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from gating_core.lm.losses import Arrays, batches
from gating_core.lm.model import LanguageModel

SHUT = 0.1  # a gate below this is called shut


def gates(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """``shut`` (L, H): the share of values below `SHUT`; no array for a model without gates."""
    if model.config.gate is None:
        return {}
    by_layer = [list[torch.Tensor]() for _ in range(model.config.depth)]
    for batch in batches(model, texts):
        for values, record in zip(by_layer, batch.layers, strict=True):
            assert record.gate is not None
            values.append(record.gate[batch.rows.counted])
    shut = []
    for values in by_layer:
        layer = torch.cat(values)  # of all characters as of one text
        every = torch.ones(len(layer), dtype=torch.bool)
        shut.append(shut_shares(layer, every).unflatten(0, (model.config.heads, -1)).mean(1))
    return {"shut": torch.stack(shut).float().numpy()}


def shut_shares(gates: torch.Tensor, counted: torch.Tensor, below: float = SHUT) -> torch.Tensor:
    """(G,): the share of characters at which each gate (..., G) is below ``below``."""
    return (gates[counted] < below).double().mean(0)
