"""Gate sparsity: how many gate values are shut.

Shapes: L layers, H heads.
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
    shut = [
        (torch.cat(values) < SHUT).double().mean(0).unflatten(0, (model.config.heads, -1)).mean(1)
        for values in by_layer
    ]
    return {"shut": torch.stack(shut).float().numpy()}
