"""A price on the curvature of a surface while it is trained: when it is due, and at which points.

It begins after some steps without a price and rises slowly: Adam loses at once what it could keep
(rings at D = 16: 79 % at once, 97 % slowly). It is computed at every second step, with twice its
weight, because it takes several times as long as the rest of a step.

References:
    Karras et al., *Analyzing and Improving the Image Quality of StyleGAN*, arXiv 1912.04958,
    section 3.1: lazy regularisation.
    Roberts (2018), *The unreasonable effectiveness of quasirandom sequences*: the R2 sequence;
    Cranley & Patterson (1976), SIAM J. Numer. Anal. 13, 904: its random shift.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

from gating_core.attention.stack import Attention
from gating_core.checks import check_choice, check_number
from gating_core.geometry.price import PRICES, curvature_price
from gating_core.randomness import generator

NO_PRICE = "none"
PRICE_POINTS = 48  # of each member, other ones at each step
PRICE_EVERY = 2  # steps
PRICE_START, PRICE_FULL = 125, 375  # steps at which it begins to rise, and has its whole weight
LARGEST_PRICE_WEIGHT = 100.0
PLASTIC = 1.324717957244746  # the root of x³ = x + 1


@dataclass(frozen=True)
class TrainingPrice:
    """``weight`` times the price of kind ``of``, rising from step 125 until step 375."""

    of: str  # one of PRICES
    weight: float  # nats per unit; prices have no unit

    def __post_init__(self) -> None:
        check_choice("price", self.of, PRICES)
        check_number("price_weight", self.weight, 0.0, LARGEST_PRICE_WEIGHT)

    def __call__(self, attention: Attention, step: int) -> torch.Tensor | None:
        """(M,): what the members pay at ``step``, in nats; ``None`` where nothing is due."""
        risen = min((step - PRICE_START) / (PRICE_FULL - PRICE_START), 1.0)
        if risen <= 0 or self.weight == 0 or step % PRICE_EVERY:
            return None
        points = price_points(attention.seeds, step).to(attention.input_map.dtype)
        price = curvature_price(attention, points, self.of)
        return PRICE_EVERY * risen * self.weight * price


def price_points(seeds: Sequence[int], step: int) -> torch.Tensor:
    """(M, 48, 2): points in [-1, 1]^2: the next ones of a sequence that each seed has shifted.

    Any stretch of the sequence covers the square evenly: the mean over 48 points varies less than
    that over random ones. A seed's points depend on it and on the step alone.
    """
    count = torch.arange(PRICE_POINTS, dtype=torch.float64) + PRICE_POINTS * step
    sequence = count.unsqueeze(-1) / torch.tensor([PLASTIC, PLASTIC**2], dtype=torch.float64)
    return 2 * ((sequence + _shifts(tuple(seeds)).unsqueeze(1)) % 1) - 1


@lru_cache(maxsize=64)
def _shifts(seeds: tuple[int, ...]) -> torch.Tensor:
    """(M, 2): the shift of each seed's sequence."""
    draws = [torch.rand(2, generator=generator(s, "price"), dtype=torch.float64) for s in seeds]
    return torch.stack(draws)
