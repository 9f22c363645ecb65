"""Ensembles of several variants, all their weights as one vector, and minibatches of points.

Shapes: S seeds, V variants, M = V S members, P parameters of the whole ensemble, N points, B points
of a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from gating_core.attention.config import AttentionConfig
from gating_core.attention.stack import Attention, Classifier, build_classifier
from gating_core.randomness import generator
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


# --- Minibatches ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BatchOrder:
    """The state of `Batches`: enough to continue as if training had not stopped.

    ``queue`` (S, Q) are the points of drawn epochs that no batch has used yet.
    """

    queue: torch.Tensor
    generator_states: tuple[torch.Tensor, ...]


class Batches:
    """Minibatches: every seed shuffles its own points, epoch after epoch.

    With ``copies`` there are several models to a seed, M = copies x S, and all of them see the
    same points in the same order.
    """

    def __init__(self, task: Task, batch_size: int, copies: int = 1) -> None:
        x, y = torch.from_numpy(task.train_points).float().unbind(-1)
        self.columns = (x.contiguous(), y.contiguous(), torch.from_numpy(task.train_labels))
        self.batch_size, self.copies = batch_size, copies
        self.generators = [generator(seed, "batches") for seed in task.seeds]
        self.queue = torch.empty(len(task.seeds), 0, dtype=torch.int64)

    def take(self, count: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """``count`` batches: points (M, B, 2) with the points last in memory, and labels (M, B)."""
        needed = count * self.batch_size
        total = self.columns[0].shape[1]
        epochs = -((self.queue.shape[1] - needed) // total)
        for _ in range(epochs):
            drawn = [torch.randperm(total, generator=g) for g in self.generators]
            self.queue = torch.cat([self.queue, torch.stack(drawn)], 1)
        order, self.queue = self.queue[:, :needed], self.queue[:, needed:]
        # Column by column: ten times faster than rows of points.
        chosen = [column.gather(1, order).repeat(self.copies, 1) for column in self.columns]
        for batch in zip(*(column.split(self.batch_size, 1) for column in chosen), strict=True):
            x, y, labels = batch
            yield torch.stack([x, y], 1).mT, labels

    @property
    def order(self) -> BatchOrder:
        """The state of the order, to `resume` from."""
        return BatchOrder(self.queue.clone(), tuple(g.get_state() for g in self.generators))

    def resume(self, order: BatchOrder) -> None:
        """Continue from where ``order`` was taken."""
        self.queue = order.queue
        for rng, state in zip(self.generators, order.generator_states, strict=True):
            rng.set_state(state)
