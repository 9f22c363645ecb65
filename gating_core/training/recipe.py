"""The optimisers and their settings, on one vector of weights (P,), and terms added to the loss.

The functional forms of torch's optimisers are fused like its classes, whose import takes a second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from gating_core.attention.layer import LayerRecord
from gating_core.checks import check_choice, check_flag, check_integer, check_number

LEARNING_RATE = 0.02
BATCH_SIZE = 64
LARGEST_RATE = 1e12  # of learning and decay
GOOD_START = {"adam": (0.02, 0.0), "sgd": (0.1, 0.9)}  # rate and momentum to begin with


@dataclass(frozen=True)
class Recipe:
    """A training configuration. ``momentum`` is for "sgd" alone.

    ``weight_decay`` is decoupled: each step first shrinks every weight by the factor
    1 - learning_rate * weight_decay, whatever the optimiser. ``entropy_bonus``, ``gate_penalty``
    and ``spread_bonus`` are the weights of the terms of `penalties`: those of the last layer, or of
    ``every_layer``.
    """

    optimiser: str = "adam"  # one of OPTIMISERS
    learning_rate: float = LEARNING_RATE
    momentum: float = 0.0  # 0 to .999
    batch_size: int = BATCH_SIZE
    weight_decay: float = 0.0
    entropy_bonus: float = 0.0  # per nat
    gate_penalty: float = 0.0  # per square of a gate's logit
    spread_bonus: float = 0.0  # per e-fold of the area over which attention weights spread
    every_layer: bool = False

    def __post_init__(self) -> None:
        check_choice("optimiser", self.optimiser, OPTIMISERS)
        check_number("learning_rate", self.learning_rate, 0.0, LARGEST_RATE)
        check_number("momentum", self.momentum, 0.0, 0.999)
        check_integer("batch_size", self.batch_size, 1, 100_000)
        check_number("weight_decay", self.weight_decay, 0.0, LARGEST_RATE)
        for name in ("entropy_bonus", "gate_penalty", "spread_bonus"):
            # Beside a cross-entropy of a nat or two nothing else would be learned.
            check_number(name, getattr(self, name), 0.0, 10.0)
        check_flag("every_layer", self.every_layer)


@dataclass(frozen=True, eq=False)
class Moments:
    """The state of an optimiser: moments (P,) of the gradients, and the number of its steps."""

    first: torch.Tensor
    second: torch.Tensor
    steps: torch.Tensor  # (), float32

    def copy(self) -> Moments:
        """Return a copy whose tensors later steps do not change."""
        return Moments(self.first.clone(), self.second.clone(), self.steps.clone())


def move(weights: torch.Tensor, gradient: torch.Tensor, moments: Moments, recipe: Recipe) -> None:
    """Take one step: ``weights`` (P,) and ``moments`` change in place."""
    if recipe.weight_decay:
        weights *= 1 - recipe.learning_rate * recipe.weight_decay
    OPTIMISERS[recipe.optimiser](weights, gradient, moments, recipe)


def _adam(weights: torch.Tensor, gradient: torch.Tensor, moments: Moments, recipe: Recipe) -> None:
    adam(
        [weights],
        [gradient],
        [moments.first],
        [moments.second],
        [],
        [moments.steps],
        fused=True,
        lr=recipe.learning_rate,
        beta1=0.9,
        beta2=0.999,
        eps=1e-8,
        weight_decay=0.0,
        amsgrad=False,
        maximize=False,
    )


def _sgd(weights: torch.Tensor, gradient: torch.Tensor, moments: Moments, recipe: Recipe) -> None:
    sgd(
        [weights],
        [gradient],
        [moments.first if recipe.momentum else None],
        fused=True,
        lr=recipe.learning_rate,
        momentum=recipe.momentum,
        dampening=0.0,
        weight_decay=0.0,
        nesterov=False,
        maximize=False,
    )


OPTIMISERS: dict[str, Callable[[torch.Tensor, torch.Tensor, Moments, Recipe], None]] = {
    "adam": _adam,
    "sgd": _sgd,
}


# --- Terms added to the loss ----------------------------------------------------------------------

NARROWEST = 0.01  # a standard deviation of weights; what is narrower counts as that


def penalties(layers: Sequence[LayerRecord], recipe: Recipe) -> torch.Tensor:
    """(M,): the penalty of each member's loss, from the records of its ``layers`` in order.

    Training adds these terms to the loss; the losses that are shown leave them out.

    - Entropy bonus: the mean entropy of the attention weights, in nats. Surfaces stay broad within
      the space of their values.
    - Spread bonus: the logarithm of the area over which the weights spread in their simplex. No
      layer of a deep model squeezes its input into a curve.
    - Gate penalty: the mean square of the gates' logits. Gates stay away from their ends, and
      surfaces have no high-curvature ridges.

    They are those of the last layer, or of every layer. In every layer the entropy bonus needs the
    spread bonus beside it: equal weights have the largest entropy, and a deep model then learns
    nothing. Weights are taken as shares of their sum. Shapes: M members, H heads, N points, n
    values.
    """
    last, others = layers[-1], layers[:-1] if recipe.every_layer else ()
    return sum((penalty(record, recipe) for record in others), penalty(last, recipe))


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
