"""How do several variants become one ensemble, and all its weights one vector?

Shapes: S seeds, V variants, M = V S members, P parameters of the whole ensemble.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from gating_core.attention.classifier import Classifier, build_classifier
from gating_core.attention.config import AttentionConfig
from gating_core.attention.stack import Attention
from gating_core.tasks.task import Task


def shared_model(configs: Sequence[AttentionConfig], task: Task) -> Classifier:
    """One ensemble for all configurations, at its initial weights, in float32."""
    if len(configs) == 1:
        return build_classifier(configs[0], task.seeds, task.class_count).float()
    gates = [config.gate for config in configs]
    gate = next((gate for gate in gates if gate is not None), None)
    whole = replace(configs[0], gate=None if gate is None else replace(gate, strength=1.0))
    strengths = [0.0 if gate is None else gate.strength for gate in gates]
    for config in configs:
        alike = gate if config.gate is None else config.gate
        full = None if alike is None else replace(alike, strength=1.0)
        if replace(config, gate=full) != whole:
            raise ValueError(
                f"configs hold {config} and {configs[0]}; all that are trained together must be"
                " equal but for the strength of the gate"
            )
    members = None if gate is None else [x for x in strengths for _ in task.seeds]
    attention = Attention(whole, task.seeds * len(configs), members)
    return Classifier(attention, task.class_count).requires_grad_(False).float()


def flatten(model: Classifier) -> tuple[torch.Tensor, torch.Tensor]:
    """All weights as one vector (P,) and their gradients as another.

    The model's parameters become parts of the first, and gradients are added to the second: the
    optimiser then moves one tensor instead of ten.
    """
    parameters = list(model.parameters())
    weights = torch.cat([parameter.detach().flatten() for parameter in parameters])
    gradient = torch.zeros_like(weights)
    first = 0
    for parameter in parameters:
        part = slice(first, first + parameter.numel())
        parameter.data = weights[part].view(parameter.shape)
        parameter.requires_grad_(True).grad = gradient[part].view(parameter.shape)
        first += parameter.numel()
    return weights, gradient


def batches_of(configs: Mapping[str, AttentionConfig]) -> list[tuple[str, ...]]:
    """The names of ``configs``, gathered into those that can be trained as one batch.

    Together go models that differ in nothing but the strength of the same gate; one without a gate
    goes with the first that it fits, at strength 0.
    """
    found: dict[AttentionConfig, list[str]] = {}
    for name, config in configs.items():
        if config.gate is not None:
            key = replace(config, gate=replace(config.gate, strength=1.0))
            found.setdefault(key, []).append(name)
    for name, config in configs.items():
        if config.gate is None:
            fits = (key for key in found if replace(key, gate=None) == config)
            found.setdefault(next(fits, config), []).append(name)
    return [tuple(sorted(names, key=list(configs).index)) for names in found.values()]
