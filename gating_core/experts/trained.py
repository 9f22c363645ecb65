"""A layer that has learned a task, with the data and the recipe of the default comparison."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gating_core.attention import Attention, AttentionConfig, restore
from gating_core.tasks import make_task
from gating_core.training.recipe import Recipe
from gating_core.training.trainer import train_ensemble

POINTS, TEST_POINTS = 256, 768  # of the task
STEPS = 400
WEIGHT_DECAY = 0.06


def trained_state(config: AttentionConfig, task: str, seed: int) -> dict[str, np.ndarray]:
    """Train one classifier on ``task``, a key of `TASKS`; return its weights by name, (1, ...).

    Its gate is trained at full strength, whatever that of ``config`` is. Adam, 400 steps, weight
    decay 0.06: the member ``seed`` of a comparison's ensemble, up to the rounding of larger
    batches. `TrainingDiverged` where a loss is no longer finite.
    """
    if config.gate is not None:
        config = replace(config, gate=replace(config.gate, strength=1.0))
    data = make_task(task, POINTS, test_points=TEST_POINTS, seeds=(seed,))
    *_, last = train_ensemble(config, data, STEPS, Recipe(weight_decay=WEIGHT_DECAY), 1)
    return last.state


def with_state(config: AttentionConfig, seed: int, state: dict[str, np.ndarray]) -> Attention:
    """Return the layer of a trained classifier in float64, with the gate of ``config``."""
    return restore(config, (seed,), state).attention
