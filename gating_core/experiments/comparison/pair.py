"""Flat beside curved: an ungated and a gated ensemble that differ in the gate alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gating_core.attention.config import AttentionConfig
from gating_core.checks import check_choice, check_integer, check_number
from gating_core.experiments.comparison.variants import VARIANTS
from gating_core.tasks.task import Task, make_task
from gating_core.training.train import train_ensemble
from gating_core.training.trained import TrainedEnsemble
from gating_core.training.trainer import Snapshot

TASK_NAMES = ("linear", "xor", "circle", "moons")  # few, for a first look
DEPTH_RANGE = (1, 4)
SEED_RANGE = (0, 9999)
GATES = ("sigmoid", "headwise")  # few, too


@dataclass(frozen=True)
class Comparison:
    """One question: does this gate help on this task? D = n = 3, one head, no residual or norm."""

    task: str = "circle"  # one of TASK_NAMES
    depth: int = 1  # 1 to 4 layers
    gate: str = "sigmoid"  # one of GATES
    seed: int = 2688  # the first of the seeds
    seed_count: int = 16  # models trained together, with seeds seed, seed + 1, ...
    steps: int = 600
    points: int = 512  # training points of each seed
    weight_decay: float = 0.06  # keeps softmax and gates from saturating into creases

    def __post_init__(self) -> None:
        check_choice("task", self.task, TASK_NAMES)
        check_integer("depth", self.depth, *DEPTH_RANGE)
        check_choice("gate", self.gate, GATES)
        check_integer("seed", self.seed, *SEED_RANGE)
        check_integer("seed_count", self.seed_count, 2, 64)
        check_integer("steps", self.steps, 1, 100_000)
        check_integer("points", self.points, 64, 10_000)
        check_number("weight_decay", self.weight_decay, 0.0, 10.0)

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(range(self.seed, self.seed + self.seed_count))

    @property
    def configs(self) -> tuple[AttentionConfig, AttentionConfig]:
        """The ungated and the gated model."""
        ungated = AttentionConfig(depth=self.depth)
        return ungated, replace(ungated, gate=VARIANTS[self.gate])

    def make_task(self) -> Task:
        return make_task(self.task, points=self.points, seeds=self.seeds)


@dataclass(frozen=True, eq=False)
class TrainedPair:
    """The answer: both ensembles, trained on the same data from the same shared weights."""

    comparison: Comparison
    ungated: TrainedEnsemble
    gated: TrainedEnsemble


def train_pair(comparison: Comparison) -> Iterator[float | TrainedPair]:
    """Train both ensembles; yields the share done so far, and last of all the `TrainedPair`.

    Raises `TrainingDiverged` as the trainer does. Stop it by not asking for more.
    """
    task = comparison.make_task()
    ensembles = []
    for half, config in enumerate(comparison.configs):
        snapshots = []
        run = train_ensemble(
            config,
            task,
            comparison.seeds,
            comparison.steps,
            weight_decay=comparison.weight_decay,
        )
        for snapshot in run:
            snapshots.append(snapshot)
            yield (half + snapshot.step / comparison.steps) / 2
        ensembles.append(_ensemble(config, comparison.seeds, snapshots))
    yield TrainedPair(comparison, *ensembles)


def _ensemble(
    config: AttentionConfig, seeds: tuple[int, ...], snapshots: list[Snapshot]
) -> TrainedEnsemble:
    return TrainedEnsemble(
        config=config,
        seeds=seeds,
        steps=np.array([s.step for s in snapshots]),
        train_loss=np.stack([s.train_loss for s in snapshots]),
        train_accuracy=np.stack([s.train_accuracy for s in snapshots]),
        test_accuracy=np.stack([s.test_accuracy for s in snapshots]),
        state=snapshots[-1].state,
    )
