"""Training of one ensemble: all seeds in one batched computation, snapshot by snapshot.

The caller stops training by taking no more snapshots.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from gating_core.attention.config import AttentionConfig
from gating_core.checks import check_integer, check_seeds
from gating_core.pauses import drained
from gating_core.tasks.task import Task
from gating_core.training.recipe import BATCH_SIZE, LEARNING_RATE, Recipe
from gating_core.training.trainer import Snapshot, Trainer

SNAPSHOTS = 40
STEPS_RANGE = (1, 1_000_000)


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
    check_integer("snapshots", snapshots, 1, 1000)
    recipe = Recipe("adam", learning_rate, 0.0, batch_size, weight_decay)
    trainer = Trainer([config], task, recipe)
    return _run(trainer, snapshot_steps(steps, snapshots))


def _run(trainer: Trainer, marks: list[int]) -> Iterator[Snapshot]:
    for mark in marks:
        for _ in trainer.advance(mark):
            pass
        yield drained(trainer.snapshots())[0]
