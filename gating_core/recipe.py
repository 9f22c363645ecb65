"""How are weights moved? The optimiser and its numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from gating_core.config import check_choice, check_integer, check_number

LEARNING_RATE = 0.02
BATCH_SIZE = 64
LARGEST_RATE = 1e12  # of learning and decay: finite, however foolish
MOMENTUM_RANGE = (0.0, 0.999)
BATCH_SIZE_RANGE = (1, 100_000)


@dataclass(frozen=True)
class Recipe:
    """How weights are moved. ``momentum`` is for "sgd" alone.

    ``weight_decay`` is decoupled: each step first shrinks every weight by the factor
    1 - learning_rate * weight_decay, whatever the optimiser.
    """

    optimiser: str = "adam"  # one of OPTIMISERS
    learning_rate: float = LEARNING_RATE
    momentum: float = 0.0  # 0 to .999
    batch_size: int = BATCH_SIZE
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        check_choice("optimiser", self.optimiser, OPTIMISERS)
        check_number("learning_rate", self.learning_rate, 0.0, LARGEST_RATE)
        check_number("momentum", self.momentum, *MOMENTUM_RANGE)
        check_integer("batch_size", self.batch_size, *BATCH_SIZE_RANGE)
        check_number("weight_decay", self.weight_decay, 0.0, LARGEST_RATE)


OPTIMISERS: dict[str, Callable[[nn.Parameter, Recipe], torch.optim.Optimizer]] = {
    "adam": lambda weights, recipe: torch.optim.Adam(
        [weights], lr=recipe.learning_rate, fused=True
    ),
    "sgd": lambda weights, recipe: torch.optim.SGD(
        [weights], lr=recipe.learning_rate, momentum=recipe.momentum, fused=True
    ),
}
