"""Language models whose gates, gains and scores are far from where they start."""

import torch

from gating_core.attention import GateConfig
from gating_core.lm.model import LanguageModel

GATES = (
    None,
    GateConfig(),
    GateConfig(granularity="headwise"),
    GateConfig(position="G2"),
)


def lively(config, seed=0, scale=8.0, noise=0.0):
    """In float64: all weights times ``scale``, plus so much normal ``noise``."""
    model = LanguageModel(config, seed).double().requires_grad_(False)
    draw = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        weight.mul_(scale).add_(torch.randn(weight.shape, generator=draw).double(), alpha=noise)
    return model
