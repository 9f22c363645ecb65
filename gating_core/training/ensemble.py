"""Ensembles of several variants, and all their weights as one vector.

Shapes: S seeds, V variants, M = V S members, P parameters of the whole ensemble.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import torch

from gating_core.attention.config import AttentionConfig
from gating_core.attention.stack import Attention, Classifier, build_classifier
from gating_core.tasks.task import Task


def ensemble_config(config: AttentionConfig, beside: Iterable[AttentionConfig]) -> AttentionConfig:
    """The configuration of the ensemble in which ``config`` is trained with those ``beside`` it.

    Models that differ only in the strength of the same gate are trained together. One without a
    gate joins the first that it fits, at strength 0.
    """
    if config.gate is not None:
        return replace(config, gate=replace(config.gate, strength=1.0))
    gated = (other for other in beside if other.gate is not None)
    fits = (ensemble_config(other, ()) for other in gated if replace(other, gate=None) == config)
    return next(fits, config)


def batches_of(configs: Mapping[str, AttentionConfig]) -> list[tuple[str, ...]]:
    """The names of ``configs``, gathered into those that are trained together; gated ones first."""
    names: dict[AttentionConfig, list[str]] = {}
    for name, config in configs.items():
        names.setdefault(ensemble_config(config, configs.values()), []).append(name)
    return [
        tuple(names[config]) for config in sorted(names, key=lambda config: config.gate is None)
    ]


def shared_model(configs: Sequence[AttentionConfig], task: Task) -> Classifier:
    """One ensemble for all configurations, at its initial weights, in float32."""
    if len(configs) == 1:
        return build_classifier(configs[0], task.seeds, task.class_count).float()
    whole, *others = {ensemble_config(config, configs): None for config in configs}
    if others:
        raise ValueError(
            f"configs hold {others[0]} and {whole}; all that are trained together must be equal"
            " but for the strength of the gate"
        )
    strengths = [0.0 if config.gate is None else config.gate.strength for config in configs]
    members = None if whole.gate is None else [x for x in strengths for _ in task.seeds]
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
