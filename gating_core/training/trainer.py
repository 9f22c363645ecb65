"""Training, step by step: all members of an ensemble in one batched computation.

Ensembles of several variants have all their weights as one vector. Shapes: S seeds, V variants,
M = V S members (the seeds of the first variant come first), N points, B points of a batch, C
classes, P parameters of the whole ensemble. Everything is float32. The caller decides how far
training goes; ``progress`` is called with ``None`` after every step and block of points.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from gating_core.attention.config import AttentionConfig
from gating_core.attention.layer import LayerRecord
from gating_core.attention.stack import Attention, Classifier, build_classifier
from gating_core.checks import check_integer
from gating_core.progress import Progress, silent
from gating_core.randomness import generator
from gating_core.tasks.task import Task
from gating_core.training.recipe import Moments, Recipe, move, penalties
from gating_core.training.trained import Examples, TrainedEnsemble, cross_entropies, scores

# --- Ensembles ------------------------------------------------------------------------------------


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


# Points (S, Q) of drawn epochs that no batch has used yet, and the states of the generators: enough
# to continue as if training had not stopped.
BatchOrder = tuple[torch.Tensor, tuple[torch.Tensor, ...]]


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
        return self.queue.clone(), tuple(g.get_state() for g in self.generators)

    def resume(self, order: BatchOrder) -> None:
        """Continue from where ``order`` was taken."""
        self.queue, states = order
        for rng, state in zip(self.generators, states, strict=True):
            rng.set_state(state)


# --- Training -------------------------------------------------------------------------------------


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
        super().__init__(
            f"training diverged at step {step} for seed"
            f" {', '.join(map(str, dict.fromkeys(seeds)))}: the loss is no longer finite;"
            f" try a learning rate below {learning_rate:g}"
        )
        self.step, self.seeds, self.indices = step, seeds, indices


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
        nothing = torch.zeros_like(self.weights)
        self.memory = Moments(nothing, nothing.clone(), torch.zeros(()))
        self.train_examples = Examples.of(task.train_points, task.train_labels, copies)
        self.test_examples = Examples.of(task.test_points, task.test_labels, copies)
        if checkpoint is not None:
            self.step = checkpoint.step
            self.weights.copy_(checkpoint.weights)
            self.memory = checkpoint.memory.copy()
            self.batches.resume(checkpoint.order)

    # --- Learning ---

    def advance(self, step: int, progress: Progress = silent) -> None:
        """Train until ``step`` steps are done in all.

        Raises `TrainingDiverged` as soon as a loss is not finite, before it moves any weights.
        """
        while self.step < step:
            # Batches are gathered for 16 steps at once.
            for points, labels in self.batches.take(min(16, step - self.step)):
                self._learn(points, labels)
                progress(None)

    def _learn(self, points: torch.Tensor, labels: torch.Tensor) -> None:
        recipe = self.recipe
        added = max(recipe.entropy_bonus, recipe.gate_penalty, recipe.spread_bonus) > 0
        records: list[LayerRecord] | None = [] if added else None
        outputs = self.model.attention(points, records)
        losses = cross_entropies(self.model.read_out(outputs), labels)
        total = losses.sum() / losses[0].numel()  # members do not mix: each has its own gradient
        members = losses.flatten(1).sum(-1)
        if records:
            extra = penalties(records, recipe)
            total, members = total + extra.sum(), members + extra
        self.gradient.zero_()
        price = self.price and self.price(self.model.attention, self.step)
        if price is not None:
            members = members + price
            price.sum().backward()
            # Shorten each member's part of the gradient, so far the price's, to the largest norm.
            parts = [x.grad.flatten(1) for x in self.model.parameters() if x.grad is not None]
            norms = torch.stack([part.square().sum(1) for part in parts]).sum(0).sqrt()
            factors = (LARGEST_PRICE_GRADIENT / norms).clamp(max=1.0).unsqueeze(1)
            for part in parts:
                part *= factors
            total = total + price.detach().sum()
        if not math.isfinite(total.item()):
            self._check(members, self.step + 1)
        total.backward()
        move(self.weights, self.gradient, self.memory, recipe)
        self.step += 1

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
        count = len(self.task.seeds)
        parts = [slice(i * count, (i + 1) * count) for i in range(len(self.configs))]
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
                    if config.gate is not None or ".gate." not in name
                },
            )
            for part, config in zip(parts, self.configs, strict=True)
        ]


# --- A whole training -----------------------------------------------------------------------------

SNAPSHOTS = 40
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
    check_integer("steps", steps, 1, 1_000_000)
    trainer = Trainer([config], task, recipe)
    for mark in snapshot_steps(steps, snapshots):
        trainer.advance(mark)
        yield trainer.snapshots()[0]
