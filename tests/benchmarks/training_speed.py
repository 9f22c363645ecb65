"""The speed of training an ensemble together: against its members one by one, and scikit-learn.

Speed is counted in model-examples per second: members x steps x batch size over seconds. Every
round trains members with other seeds on other data, which are drawn outside the measured time. The
neural network of scikit-learn has one hidden layer of as many units as give it the parameters of
the gated model, and trains with the same optimiser, rate, batches and epochs.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import parameter_count
from gating_core.tasks.task import Task, make_task
from gating_core.training.recipe import BATCH_SIZE, LEARNING_RATE
from gating_core.training.trainer import train_ensemble
from tests.benchmarks.table import Row, significant
from tests.benchmarks.timing import interleaved, spread

CONFIG = AttentionConfig(model_dim=8, value_count=3, gate=GateConfig())
TASK = "circle"
TOGETHER = 64
ALONE = 4  # how many are timed one after the other; their rate stands for that of all 64
STEPS = 400
POINTS = 256  # of each seed: the network trains for STEPS * BATCH_SIZE / POINTS epochs
ROUNDS = 5
UNITS = (parameter_count(CONFIG) - 1) // 4  # 2 x units + units, and units + 1 for the output

Tasks = tuple[Task, tuple[Task, ...]]


def rows(process: str) -> list[Row]:
    """Together against one after the other and against scikit-learn's network."""
    alternatives = {
        "together": lambda tasks: _train(tasks[0]),
        "alone": lambda tasks: [_train(task) for task in tasks[1]],
        "network": lambda tasks: _fit_network(tasks[1][0]),
    }
    seconds = interleaved(alternatives, _tasks, ROUNDS)
    fast = _speed(TOGETHER, seconds["together"])
    peers = {
        f"one after the other ({ALONE} timed)": _speed(ALONE, seconds["alone"]),
        f"MLPClassifier, {UNITS} hidden units": _speed(1, seconds["network"]),
    }
    sizes = (
        f"{TASK}, {STEPS} steps, batch {BATCH_SIZE}, D {CONFIG.model_dim}, n {CONFIG.value_count},"
        f" L {CONFIG.depth}, float32, {parameter_count(CONFIG)} parameters"
    )
    return [
        Row(
            f"speed of training {TOGETHER} together",
            _rate(fast),
            peer,
            _rate(slow),
            spread(fast / slow),
            sizes,
            speed=True,
        )
        for peer, slow in peers.items()
    ]


def _tasks(number: int) -> Tasks:
    """The ensemble's task, and the same members' tasks one by one, for a round."""
    seeds = range(TOGETHER * number, TOGETHER * (number + 1))
    return make_task(TASK, POINTS, seeds=seeds), tuple(
        make_task(TASK, POINTS, seeds=[seed]) for seed in seeds[:ALONE]
    )


def _train(task: Task) -> None:
    for _ in train_ensemble(CONFIG, task, task.seeds, STEPS, snapshots=1):
        pass


def _fit_network(task: Task) -> None:
    model = MLPClassifier(
        (UNITS,),
        batch_size=BATCH_SIZE,
        learning_rate_init=LEARNING_RATE,
        alpha=0.0,
        max_iter=STEPS * BATCH_SIZE // POINTS,
        tol=0.0,
        n_iter_no_change=STEPS,
        random_state=task.seeds[0],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is to stop where we do
        model.fit(task.train_points[0], task.train_labels[0])


def _speed(models: int, seconds: np.ndarray) -> np.ndarray:
    return models * STEPS * BATCH_SIZE / seconds


def _rate(per_second: np.ndarray) -> str:
    return f"{significant(float(np.median(per_second)) / 1e3)} k/s"
