"""The speed of training an ensemble together, against its members one after the other.

Speed is counted in model-examples per second: members x steps x batch size over seconds. Every
round trains members with other seeds on other data; the data are drawn outside the measured time,
except in the row for a whole run, which is what a worker does for a page. One thread, as in the
app, unless a row says two; on a machine that is busy otherwise their barriers can make training
many times slower. The neural network of scikit-learn has one hidden layer of as many units as give
it the parameters of the gated model, and trains with the same optimiser, rate, batches and epochs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import parameter_count
from gating_core.experiments.comparison.run import train_setting
from gating_core.experiments.comparison.setting import Setting
from gating_core.tasks.task import Task, make_task
from gating_core.training.recipe import BATCH_SIZE, LEARNING_RATE
from gating_core.training.trainer import SNAPSHOTS, train_ensemble
from tests.benchmarks.process import WORKER
from tests.benchmarks.table import Row, compare, significant
from tests.benchmarks.timing import THREADS, interleaved, spread, torch_threads

CONFIG = AttentionConfig(model_dim=8, value_count=3, gate=GateConfig())
TASK = "circle"
TOGETHER = 64
ALONE = 4  # how many are timed one after the other; their rate stands for that of all 64
STEPS = 400
FEW_STEPS = 200  # so that looking costs as much as learning
POINTS = 256  # of each seed: the network trains for STEPS * BATCH_SIZE / POINTS epochs
ROUNDS = 5
RUN = dict(task=TASK, model_dim=8, steps=STEPS)

Tasks = tuple[Task, tuple[Task, ...]]


def rows(process: str) -> list[Row]:
    """Together against one after the other, on one and two threads; a run; scikit-learn."""
    if process == WORKER:
        return [_together(1), _together(SNAPSHOTS), _whole_run()]
    return [
        _together(1),
        _together(1, threads=2),
        _together(SNAPSHOTS),
        _together(SNAPSHOTS, steps=FEW_STEPS),
        _together(SNAPSHOTS, threads=2, steps=FEW_STEPS),
        _two_threads(f"{TOGETHER} together", lambda tasks: tasks[:1]),
        _two_threads("one", lambda tasks: tasks[1][:1]),
        *_network(),
    ]


def _tasks(number: int) -> Tasks:
    """The ensemble's task, and the same members' tasks one by one, for a round."""
    seeds = range(TOGETHER * number, TOGETHER * (number + 1))
    return make_task(TASK, POINTS, seeds=seeds), tuple(
        make_task(TASK, POINTS, seeds=[seed]) for seed in seeds[:ALONE]
    )


def _train(task: Task, snapshots: int, steps: int = STEPS) -> None:
    for _ in train_ensemble(CONFIG, task, task.seeds, steps, snapshots=snapshots):
        pass


def _speed(models: int, seconds: np.ndarray, steps: int = STEPS) -> np.ndarray:
    return models * steps * BATCH_SIZE / seconds


def _together(snapshots: int, threads: int = 1, steps: int = STEPS) -> Row:
    def together(tasks: Tasks) -> None:
        _train(tasks[0], snapshots, steps)

    def alone(tasks: Tasks) -> None:
        for task in tasks[1]:
            _train(task, snapshots, steps)

    seconds = interleaved({"together": together, "alone": alone}, _tasks, ROUNDS, threads)
    fast = _speed(TOGETHER, seconds["together"], steps)
    slow = _speed(ALONE, seconds["alone"], steps)
    looks = f"about {snapshots} snapshots" if snapshots > 1 else "first and last only"
    return Row(
        what=f"speed of training {TOGETHER} together, {looks}{THREADS[threads]}",
        time=_rate(fast),
        reference=f"one after the other ({ALONE} timed)",
        reference_time=_rate(slow),
        ratio=spread(fast / slow),
        sizes=_sizes(steps),
        speed=True,
    )


def _two_threads(what: str, chosen: Callable[[Tasks], tuple[Task, ...]]) -> Row:
    def on_one(tasks: Tasks) -> None:
        for task in chosen(tasks):
            _train(task, 1)

    def on_two(tasks: Tasks) -> None:
        with torch_threads(2):
            on_one(tasks)

    alternatives = {"one thread": on_one, "two threads": on_two}
    seconds = interleaved(alternatives, _tasks, ROUNDS)
    return compare(
        seconds, "two threads", "one thread", _sizes(), f"training {what} on two threads"
    )


def _whole_run() -> Row:
    """What Decision boundary does for sixteen seeds with and without gate, against one model."""

    def settings(number: int) -> tuple[Setting, Setting]:
        seed = 16 * number
        return Setting(seed=seed, **RUN), Setting(
            seed=seed, seed_count=1, variants=("sigmoid",), **RUN
        )

    names = ("run of 16 seeds x 2 variants", "run of one model")
    runs = {
        name: (lambda pair, place=place: [None for _ in train_setting(pair[place])])
        for place, name in enumerate(names)
    }
    seconds = interleaved(runs, settings, 3 * ROUNDS)
    return compare(seconds, *names, f"{_sizes()}, about {SNAPSHOTS} snapshots")


def _network() -> list[Row]:
    """Together, and one alone, against scikit-learn's network with as many parameters."""
    units = (parameter_count(CONFIG) - 1) // 4  # 2 x units + units, and units + 1 for the output

    def network(tasks: Tasks) -> None:
        task = tasks[1][0]
        model = MLPClassifier(
            (units,), batch_size=BATCH_SIZE, learning_rate_init=LEARNING_RATE, alpha=0.0,
            max_iter=STEPS * BATCH_SIZE // POINTS, tol=0.0, n_iter_no_change=STEPS,
            random_state=task.seeds[0],
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it is to stop where we do
            model.fit(task.train_points[0], task.train_labels[0])

    seconds = interleaved(
        {
            "together": lambda tasks: _train(tasks[0], 1),
            "one": lambda tasks: _train(tasks[1][0], 1),
            "network": network,
        },
        _tasks,
        ROUNDS,
    )
    slow = _speed(1, seconds["network"])
    return [
        Row(
            what=f"speed of training {'one' if models == 1 else f'{models} together'}",
            time=_rate(_speed(models, seconds[name])),
            reference=f"MLPClassifier, {units} hidden units",
            reference_time=_rate(slow),
            ratio=spread(_speed(models, seconds[name]) / slow),
            sizes=f"{_sizes()}, {parameter_count(CONFIG)} parameters",
            speed=True,
        )
        for name, models in (("together", TOGETHER), ("one", 1))
    ]


def _rate(per_second: np.ndarray) -> str:
    return f"{significant(float(np.median(per_second)) / 1e3)} k/s"


def _sizes(steps: int = STEPS) -> str:
    sizes = f"D {CONFIG.model_dim}, n {CONFIG.value_count}, L {CONFIG.depth}, float32"
    return f"{TASK}, {steps} steps, batch {BATCH_SIZE}, {sizes}"
