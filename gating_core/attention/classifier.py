"""A classifier: an attention ensemble with a linear read-out.

Shapes: S seeds, N points, D model dimension, C classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import torch
from torch import nn

from gating_core.attention.config import AttentionConfig
from gating_core.attention.stack import Attention, build_attention
from gating_core.checks import check_integer
from gating_core.points_last import product
from gating_core.randomness import normal

CLASS_COUNT_RANGE = (2, 16)


class Classifier(nn.Module):
    """An attention ensemble and a linear read-out: ``logits = y W + b``.

    ``attention`` gives the surface y (S, N, D); forward gives logits (S, N, C).
    """

    def __init__(self, attention: Attention, class_count: int) -> None:
        super().__init__()
        self.attention = attention
        dim, seeds = attention.config.model_dim, attention.seeds
        self.weight = nn.Parameter(
            normal(seeds, "classifier.weight", (dim, class_count), dim**-0.5)
        )
        self.bias = nn.Parameter(torch.zeros(len(seeds), class_count, dtype=torch.float64))

    def read_out(self, outputs: torch.Tensor) -> torch.Tensor:
        """Logits (S, N, C) of representations (S, N, D)."""
        return product(outputs, self.weight) + self.bias.unsqueeze(1)

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return self.read_out(self.attention(points))


def build_classifier(
    config: AttentionConfig, seeds: Iterable[int], class_count: int = 2
) -> Classifier:
    """A float64 classifier at its initial weights, gradients off."""
    check_integer("class_count", class_count, *CLASS_COUNT_RANGE)
    return Classifier(build_attention(config, seeds), class_count).requires_grad_(False)


def restore(
    config: AttentionConfig, seeds: Iterable[int], state: dict[str, np.ndarray]
) -> Classifier:
    """The float64 classifier that a snapshot's ``state`` describes: measure in float64."""
    model = build_classifier(config, seeds, state["bias"].shape[-1])
    model.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()})
    return model


@lru_cache(1000)  # a model is built to be counted
def parameter_count(config: AttentionConfig, class_count: int = 2) -> int:
    """Trainable numbers of one member, classifier included."""
    member = build_classifier(config, (0,), class_count)
    return sum(parameter.numel() for parameter in member.parameters())
