"""Measure wirings by block: costs of cut links, gradients, and curvature.

Shapes: N texts, M of them for gradients, L blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from gating_core.at_work.batches import Arrays
from gating_core.at_work.links import attention_gradients, link_costs
from gating_core.at_work.surfaces import block_surfaces
from gating_core.language import LanguageModel

GRADIENT_TEXTS = 50  # at most


def wiring(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """Quantities in which wirings differ; no arrays for a model with a gate.

    ``links`` (L, N): `link_costs`, in nats a character. ``gradients`` (L, M): the norm of the
    gradient of a text's mean loss by each attention output (`attention_gradients`). ``total`` (L,),
    ``total_error`` and ``complete``: the total absolute curvature ∫|K| dA of each block's output
    (`block_surfaces`).
    """
    if model.config.gate is not None:
        return {}
    chosen = texts[:: -(-len(texts) // GRADIENT_TEXTS)]
    surfaces = block_surfaces(model)
    return {
        "links": link_costs(model, texts).float().numpy(),
        "gradients": torch.stack(
            [attention_gradients(model, [text]) for text in chosen], -1
        ).numpy(),
        "total": surfaces.total.astype(np.float32),
        "total_error": surfaces.total_error.astype(np.float32),
        "complete": surfaces.complete.astype(np.uint8),
    }
