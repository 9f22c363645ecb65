"""What else is asked of a model while it learns, beside being right?

That the attention of its last layer stays soft: the mean entropy of the attention weights, in nats,
is a bonus, so that the surface stays broad within the space of its values. That the last gate stays
away from its ends: the mean square of its logits is a penalty, so that what it bends has no
creases. Neither is part of the losses that are shown. (Asked of all layers, they keep a deep model
from learning at all.)

Shapes: M members, H heads, N points, n values.
"""

from __future__ import annotations

import torch

from gating_core.attention.layer import LayerRecord
from gating_core.training.recipe import Recipe


def penalties(last: LayerRecord, recipe: Recipe) -> torch.Tensor:
    """(M,): what is added to each member's loss for what its ``last`` layer did."""
    out = -recipe.entropy_bonus * entropy(last.weights)
    if last.gate_logits is not None:
        out = out + recipe.gate_penalty * last.gate_logits.square().flatten(1).mean(1)
    return out


def entropy(weights: torch.Tensor) -> torch.Tensor:
    """(M,): the mean entropy in nats of weights (M, H, N, n), 0 to log n; finite gradients."""
    logs = weights.clamp_min(torch.finfo(weights.dtype).tiny).log()  # 0 log 0 is 0
    return -(weights * logs).sum(-1).flatten(1).mean(1)
