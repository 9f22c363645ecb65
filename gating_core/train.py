"""Training an ensemble: all seeds in one batched computation, as an iterator of snapshots.

Shapes: S seeds, N points, D model dimension, C classes. The trainer yields and never draws;
whoever consumes it decides how often to look, and stops it by not asking for more.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gating_core.attention import Attention, build_attention
from gating_core.config import AttentionConfig, check_integer, check_number, check_seeds
from gating_core.randomness import generator, normal
from gating_core.tasks import Task

LEARNING_RATE = 0.02
BATCH_SIZE = 64
SNAPSHOTS = 40
LARGEST_RATE = 1e12  # of learning and decay: finite, however foolish
STEPS_RANGE = (1, 1_000_000)


class TrainingDiverged(ArithmeticError):
    """The loss stopped being a finite number. The snapshots yielded before remain valid."""

    def __init__(self, step: int, seeds: tuple[int, ...], learning_rate: float) -> None:
        names = ", ".join(map(str, seeds))
        super().__init__(
            f"training diverged at step {step} for seed {names}: the loss is no longer finite;"
            f" try a learning rate below {learning_rate:g}"
        )
        self.step = step
        self.seeds = seeds


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
        return outputs @ self.weight + self.bias.unsqueeze(1)

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return self.read_out(self.attention(points))


def build_classifier(
    config: AttentionConfig, seeds: Iterable[int], class_count: int = 2
) -> Classifier:
    """A float64 classifier at its initial weights, gradients off."""
    check_integer("class_count", class_count, 2, 16)
    return Classifier(build_attention(config, seeds), class_count).requires_grad_(False)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """An ensemble after ``step`` training steps; arrays (S,), ``state`` float32 by name."""

    step: int
    train_loss: np.ndarray
    train_accuracy: np.ndarray
    test_accuracy: np.ndarray
    state: dict[str, np.ndarray]


def restore(
    config: AttentionConfig, seeds: Iterable[int], state: dict[str, np.ndarray]
) -> Classifier:
    """The float64 classifier that a snapshot's ``state`` describes: measure in float64."""
    model = build_classifier(config, seeds, state["bias"].shape[-1])
    model.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()})
    return model


def snapshot_steps(steps: int, count: int = SNAPSHOTS) -> list[int]:
    """About ``count`` steps from 0 to ``steps``, dense early (quadratic spacing)."""
    spaced = steps * np.linspace(0, 1, count + 1) ** 2
    return sorted({*np.round(spaced).astype(int).tolist(), 0, steps})


def train_ensemble(
    config: AttentionConfig,
    task: Task,
    seeds: Iterable[int],
    steps: int,
    learning_rate: float = LEARNING_RATE,
    batch_size: int = BATCH_SIZE,
    weight_decay: float = 0.0,
    snapshots: int = SNAPSHOTS,
) -> Iterator[Snapshot]:
    """Train one model per seed with Adam on cross-entropy, in float32; yield about 40 snapshots.

    ``weight_decay`` is decoupled (AdamW): each step shrinks every weight by the factor
    1 - learning_rate * weight_decay. ``seeds`` must be the task's. The first snapshot is the
    initial state, the last one has ``step == steps``. Raises ``ValueError`` for arguments out of
    range at once, and `TrainingDiverged` with step and seed when a loss is no longer finite.
    """
    seeds = check_seeds(seeds)
    if seeds != task.seeds:
        raise ValueError(f"seeds is {seeds}; it must be the task's seeds, {task.seeds}")
    check_integer("steps", steps, *STEPS_RANGE)
    check_integer("batch_size", batch_size, 1, task.train_points.shape[1])
    check_integer("snapshots", snapshots, 1, 1000)
    check_number("learning_rate", learning_rate, 0.0, LARGEST_RATE)
    check_number("weight_decay", weight_decay, 0.0, LARGEST_RATE)
    model = build_classifier(config, seeds, task.class_count).float().requires_grad_(True)
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=learning_rate, weight_decay=weight_decay, fused=True
    )
    return _run(model, optimiser, task, snapshot_steps(steps, snapshots), batch_size)


def _run(
    model: Classifier,
    optimiser: torch.optim.Optimizer,
    task: Task,
    marks: list[int],
    batch_size: int,
) -> Iterator[Snapshot]:
    train = _tensors(task.train_points, task.train_labels)
    test = _tensors(task.test_points, task.test_labels)
    batches = _Batches(task, *train, batch_size)
    learning_rate = optimiser.defaults["lr"]
    yield _snapshot(model, 0, train, test)
    for begin, end in itertools.pairwise(marks):
        for step, (points, labels) in enumerate(batches.take(end - begin), begin + 1):
            optimiser.zero_grad(set_to_none=True)
            losses = _losses(model(points), labels)
            losses.sum().backward()
            optimiser.step()
            if not losses.isfinite().all():
                raise _diverged(losses, step, task.seeds, learning_rate)
        snapshot = _snapshot(model, end, train, test)
        losses = torch.from_numpy(snapshot.train_loss)
        if not losses.isfinite().all():
            raise _diverged(losses, end, task.seeds, learning_rate)
        yield snapshot


def _diverged(
    losses: torch.Tensor, step: int, seeds: tuple[int, ...], learning_rate: float
) -> TrainingDiverged:
    bad = tuple(seed for seed, ok in zip(seeds, losses.isfinite(), strict=True) if not ok)
    return TrainingDiverged(step, bad, learning_rate)


def _tensors(points: np.ndarray, labels: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(points).float(), torch.from_numpy(labels)


def _losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """(S,): mean cross-entropy of logits (S, N, C)."""
    return functional.cross_entropy(logits.transpose(1, 2), labels, reduction="none").mean(-1)


class _Batches:
    """Minibatches: every seed shuffles its own points, epoch after epoch."""

    def __init__(
        self, task: Task, points: torch.Tensor, labels: torch.Tensor, batch_size: int
    ) -> None:
        self.points, self.labels, self.batch_size = points, labels, batch_size
        self.generators = [generator(seed, "batches") for seed in task.seeds]
        self.queue = torch.empty(len(task.seeds), 0, dtype=torch.int64)

    def take(self, count: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """``count`` batches: points (S, B, 2) and labels (S, B)."""
        wanted = count * self.batch_size
        total = self.points.shape[1]
        epochs = [self.queue]
        while sum(e.shape[1] for e in epochs) < wanted:
            epochs.append(
                torch.stack([torch.randperm(total, generator=g) for g in self.generators])
            )
        order = torch.cat(epochs, 1)
        order, self.queue = order[:, :wanted], order[:, wanted:]
        rows = torch.arange(len(order)).unsqueeze(1)
        yield from zip(
            self.points[rows, order].split(self.batch_size, 1),
            self.labels[rows, order].split(self.batch_size, 1),
            strict=True,
        )


@torch.no_grad()
def _snapshot(
    model: Classifier,
    step: int,
    train: tuple[torch.Tensor, torch.Tensor],
    test: tuple[torch.Tensor, torch.Tensor],
) -> Snapshot:
    logits = model(train[0])
    return Snapshot(
        step=step,
        train_loss=_losses(logits, train[1]).numpy(),
        train_accuracy=accuracy(logits, train[1]),
        test_accuracy=accuracy(model(test[0]), test[1]),
        state={name: value.numpy().copy() for name, value in model.state_dict().items()},
    )


def accuracy(logits: torch.Tensor, labels: torch.Tensor) -> np.ndarray:
    """(S,): the share of points (S, N) whose largest logit is their label's."""
    return (logits.argmax(-1) == labels).double().mean(-1).numpy()
