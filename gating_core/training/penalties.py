"""Terms that training adds to the loss; the losses that are shown leave them out.

- Entropy bonus: the mean entropy of the attention weights, in nats. Surfaces stay broad within the
  space of their values.
- Spread bonus: the logarithm of the area over which the weights spread in their simplex. No layer
  of a deep model squeezes its input into a curve.
- Gate penalty: the mean square of the gates' logits. Gates stay away from their ends, and surfaces
  have no creases.

They are those of the last layer, or of every layer. In every layer the entropy bonus needs the
spread bonus beside it: equal weights have the largest entropy, and a deep model then learns
nothing. Weights are taken as shares of their sum. Shapes: M members, H heads, N points, n values.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from gating_core.attention.layer import LayerRecord
from gating_core.training.recipe import Recipe

NARROWEST = 0.01  # a standard deviation of weights; what is narrower counts as that


def penalties(layers: Sequence[LayerRecord], recipe: Recipe) -> torch.Tensor:
    """(M,): the penalty of each member's loss, from the records of its ``layers`` in order."""
    last = penalty(layers[-1], recipe)
    if not recipe.every_layer:
        return last
    return sum((penalty(record, recipe) for record in layers[:-1]), last)


def penalty(record: LayerRecord, recipe: Recipe) -> torch.Tensor:
    """(M,): the same for one layer."""
    out = -recipe.entropy_bonus * entropy(record.shares)
    if recipe.spread_bonus:
        out = out - recipe.spread_bonus * log_spread(record.shares)
    if record.gate_logits is not None:
        out = out + recipe.gate_penalty * record.gate_logits.square().flatten(1).mean(1)
    return out


def entropy(weights: torch.Tensor) -> torch.Tensor:
    """(M,): the mean entropy in nats of weights (M, H, N, n), 0 to log n; finite gradients."""
    logs = weights.clamp_min(torch.finfo(weights.dtype).tiny).log()  # 0 log 0 is 0
    return -(weights * logs).sum(-1).flatten(1).mean(1)


def log_spread(weights: torch.Tensor) -> torch.Tensor:
    """(M,): the logarithm of the area over which weights (M, H, N, n) spread, mean over heads.

    With three values it is half the log determinant of their covariance within the simplex, each
    of its two variances larger by ``NARROWEST`` squared: finite, with finite gradients, where all
    points lie on a line or in one place. With more values, the same of the second elementary
    symmetric function of the variances, which no change of axes moves.
    """
    centred = weights - weights.mean(-2, keepdim=True)
    covariance = centred.mT @ centred / weights.shape[-2]
    trace = covariance.diagonal(dim1=-2, dim2=-1).sum(-1)
    square = (trace.square() - covariance.square().sum((-2, -1))) / 2
    least = NARROWEST**2
    softened = square.clamp_min(0.0) + least * trace + least**2
    return softened.log().flatten(1).mean(1) / 2
