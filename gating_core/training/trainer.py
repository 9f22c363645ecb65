"""Training, step by step: all members of an ensemble in one batched computation.

Shapes: S seeds, V variants, M = V S members (the seeds of the first variant come first), N points,
C classes, P parameters of the whole ensemble. Everything is float32. The caller decides how far
training goes; ``progress`` is called with ``None`` after every step and block of points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.attention.config import AttentionConfig
from gating_core.attention.layer import LayerRecord
from gating_core.attention.stack import Attention
from gating_core.checks import check_integer
from gating_core.progress import Progress, silent
from gating_core.tasks.task import Task
from gating_core.training.ensemble import Batches, BatchOrder, flatten, shared_model
from gating_core.training.recipe import Moments, Recipe, move, penalties
from gating_core.training.trained import Examples, TrainedEnsemble, cross_entropies, scores

STEPS_AT_ONCE = 16  # whose batches are gathered together
GATE_PART = ".gate."  # in the names of a gate's weights
# Of the price's gradient in each member's weights, in norm. It has spikes where a surface is about
# to fold, which Adam's second moments would remember for a thousand steps: with 10 in place of 1 a
# price on K takes two islands at D = 16 from 95 to 84 % instead of 94.
LARGEST_PRICE_GRADIENT = 1.0

# A price (M,) of an ensemble's surfaces at a step, weight included, or None where none is due.
Price = Callable[[Attention, int], torch.Tensor | None]


class TrainingDiverged(ArithmeticError):
    """The loss stopped being a finite number. The snapshots yielded before remain valid.

    ``seeds`` are those of the members that diverged; ``indices`` are the indices of the trainer's
    configurations that they belong to.
    """

    def __init__(
        self,
        step: int,
        seeds: tuple[int, ...],
        learning_rate: float,
        indices: tuple[int, ...] = (),
    ) -> None:
        names = ", ".join(map(str, dict.fromkeys(seeds)))
        super().__init__(
            f"training diverged at step {step} for seed {names}: the loss is no longer finite;"
            f" try a learning rate below {learning_rate:g}"
        )
        self.step = step
        self.seeds = seeds
        self.indices = indices


@dataclass(frozen=True, eq=False)
class Snapshot:
    """An ensemble after ``step`` training steps; arrays (S,), ``state`` float32 by name."""

    step: int
    train_loss: np.ndarray
    test_loss: np.ndarray
    train_accuracy: np.ndarray
    test_accuracy: np.ndarray
    state: dict[str, np.ndarray]


def ensemble_of(
    config: AttentionConfig, seeds: tuple[int, ...], snapshots: Sequence[Snapshot]
) -> TrainedEnsemble:
    """Gather the ``snapshots`` of one configuration, in order; the last one has its weights."""
    return TrainedEnsemble(
        config=config,
        seeds=seeds,
        steps=np.array([s.step for s in snapshots]),
        train_loss=np.stack([s.train_loss for s in snapshots]),
        train_accuracy=np.stack([s.train_accuracy for s in snapshots]),
        test_accuracy=np.stack([s.test_accuracy for s in snapshots]),
        state=snapshots[-1].state,
    )


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state of a trainer, enough to continue as if it had never stopped; it never changes."""

    step: int
    weights: torch.Tensor  # (P,)
    memory: Moments
    order: BatchOrder


class Trainer:
    """Trains one model for each configuration and seed; they start where ``checkpoint`` ended.

    The ``configs`` differ in nothing but the gate's strength, 0 where there is no gate. Models of
    one seed share data, order of the data and all initial weights that they have in common.
    ``price`` is added to the loss of training. ``ValueError`` for configurations that differ in
    more, and for batches larger than the data.

    >>> trainer = Trainer([config], make_task("circle", seeds=(0, 1)), Recipe())
    >>> trainer.advance(100)
    >>> (snapshot,) = trainer.snapshots()
    """

    def __init__(
        self,
        configs: Sequence[AttentionConfig],
        task: Task,
        recipe: Recipe,
        checkpoint: Checkpoint | None = None,
        price: Price | None = None,
    ) -> None:
        self.configs, self.task, self.recipe, self.price = tuple(configs), task, recipe, price
        copies = len(self.configs)
        check_integer("batch_size", recipe.batch_size, 1, task.train_points.shape[1])
        self.batches = Batches(task, recipe.batch_size, copies)
        self.step = 0
        self.model = shared_model(self.configs, task)
        self.weights, self.gradient = flatten(self.model)
        self.memory = Moments.fresh(self.weights)
        self.train_examples = Examples.of(task.train_points, task.train_labels, copies)
        self.test_examples = Examples.of(task.test_points, task.test_labels, copies)
        if checkpoint is not None:
            self._resume(checkpoint)

    # --- Learning ---

    def advance(self, step: int, progress: Progress = silent) -> None:
        """Train until ``step`` steps are done in all.

        Raises `TrainingDiverged` as soon as a loss is not finite, before it moves any weights.
        """
        while self.step < step:
            for points, labels in self.batches.take(min(STEPS_AT_ONCE, step - self.step)):
                self._learn(points, labels)
                progress(None)

    def _learn(self, points: torch.Tensor, labels: torch.Tensor) -> None:
        records: list[LayerRecord] | None = [] if self.recipe.has_penalties else None
        outputs = self.model.attention(points, records)
        losses = cross_entropies(self.model.read_out(outputs), labels)
        total = losses.sum() / losses[0].numel()  # members do not mix: each has its own gradient
        members = losses.flatten(1).sum(-1)
        if records:
            extra = penalties(records, self.recipe)
            total, members = total + extra.sum(), members + extra
        self.gradient.zero_()
        price = self.price and self.price(self.model.attention, self.step)
        if price is not None:
            members = members + price
            price.sum().backward()
            self._clip()
            total = total + price.detach().sum()
        if not math.isfinite(total.item()):
            self._check(members, self.step + 1)
        total.backward()
        move(self.weights, self.gradient, self.memory, self.recipe)
        self.step += 1

    def _clip(self) -> None:
        """Shorten each member's part of the gradient, so far the price's, to the largest norm."""
        parts = [x.grad.flatten(1) for x in self.model.parameters() if x.grad is not None]
        norms = torch.stack([part.square().sum(1) for part in parts]).sum(0).sqrt()
        factors = (LARGEST_PRICE_GRADIENT / norms).clamp(max=1.0).unsqueeze(1)
        for part in parts:
            part *= factors

    def _check(self, losses: torch.Tensor, step: int) -> None:
        """Raise `TrainingDiverged` unless all losses (M,) are finite."""
        seeds = self.task.seeds
        bad = [member for member, fine in enumerate(losses.isfinite().tolist()) if not fine]
        if bad:
            raise TrainingDiverged(
                step,
                tuple(seeds[member % len(seeds)] for member in bad),
                self.recipe.learning_rate,
                tuple(member // len(seeds) for member in bad),
            )

    @property
    def checkpoint(self) -> Checkpoint:
        """Return the state from which training continues."""
        return Checkpoint(self.step, self.weights.clone(), self.memory.copy(), self.batches.order)

    def _resume(self, checkpoint: Checkpoint) -> None:
        self.step = checkpoint.step
        self.weights.copy_(checkpoint.weights)
        self.memory = checkpoint.memory.copy()
        self.batches.resume(checkpoint.order)

    # --- Measuring ---

    def snapshots(self, progress: Progress = silent) -> list[Snapshot]:
        """One snapshot for each configuration, as its models are now.

        Raises `TrainingDiverged` where a training loss is not finite.
        """
        (train_loss, train_accuracy), (test_loss, test_accuracy) = (
            scores(self.model, examples, progress)
            for examples in (self.train_examples, self.test_examples)
        )
        self._check(torch.from_numpy(train_loss), self.step)
        return [
            Snapshot(
                step=self.step,
                train_loss=train_loss[part],
                test_loss=test_loss[part],
                train_accuracy=train_accuracy[part],
                test_accuracy=test_accuracy[part],
                state={
                    name: array[part].numpy().copy()
                    for name, array in self.model.state_dict().items()
                    if config.gate is not None or GATE_PART not in name
                },
            )
            for part, config in self._variants()
        ]

    def _variants(self) -> Iterator[tuple[slice, AttentionConfig]]:
        """The members of each variant, and its configuration."""
        count = len(self.task.seeds)
        for variant, config in enumerate(self.configs):
            yield slice(variant * count, (variant + 1) * count), config


# --- A whole training -----------------------------------------------------------------------------

SNAPSHOTS = 40
STEPS_RANGE = (1, 1_000_000)
USUAL = Recipe()


def snapshot_steps(steps: int, count: int = SNAPSHOTS) -> list[int]:
    """About ``count`` steps from 0 to ``steps``, dense early (quadratic spacing)."""
    spaced = steps * np.linspace(0, 1, count + 1) ** 2
    return sorted({*np.round(spaced).astype(int).tolist(), 0, steps})


def train_ensemble(
    config: AttentionConfig,
    task: Task,
    steps: int,
    recipe: Recipe = USUAL,
    snapshots: int = SNAPSHOTS,
) -> Iterator[Snapshot]:
    """Train one model per seed on cross-entropy, in float32; yield about 40 snapshots.

    The first one is the initial state, the last one has ``step == steps``. Raises
    `TrainingDiverged` with step and seed when a loss is no longer finite.
    """
    check_integer("steps", steps, *STEPS_RANGE)
    trainer = Trainer([config], task, recipe)
    for mark in snapshot_steps(steps, snapshots):
        trainer.advance(mark)
        yield trainer.snapshots()[0]
