"""How much faster does an ensemble train together than its members one after the other?

Speed is counted in model-examples per second: members x steps x batch size over seconds. Every
round trains members with other seeds on other data; the data are drawn outside the measured time.
One thread, as in the app. The last row says what a second thread does: on a machine that is busy
otherwise its barriers can make training many times slower.
"""

from __future__ import annotations

import numpy as np

from gating_core.config import AttentionConfig, GateConfig
from gating_core.tasks import Task, make_task
from gating_core.train import BATCH_SIZE, SNAPSHOTS, train_ensemble
from tests.benchmarks.table import Row, compare, significant
from tests.benchmarks.timing import interleaved, spread, torch_threads

CONFIG = AttentionConfig(model_dim=8, value_count=3, gate=GateConfig())
TASK = "circle"
TOGETHER = 32
ALONE = 4  # how many are timed one after the other; their rate stands for that of all 32
STEPS = 400
ROUNDS = 5
THREADS_STEPS = 20
THREADS_ROUNDS = 7
THREADS_LIMIT_S = 10.0

Tasks = tuple[Task, tuple[Task, ...]]


def training_speed() -> list[Row]:
    """Together against one after the other, with 40 snapshots and with two; threads."""
    return [_together(SNAPSHOTS), _together(1), _two_threads()]


def _tasks(number: int) -> Tasks:
    """The ensemble's task, and the same members' tasks one by one, for a round."""
    seeds = range(TOGETHER * number, TOGETHER * (number + 1))
    return make_task(TASK, seeds=seeds), tuple(
        make_task(TASK, seeds=[seed]) for seed in seeds[:ALONE]
    )


def _train(task: Task, steps: int, snapshots: int) -> None:
    for _ in train_ensemble(CONFIG, task, task.seeds, steps, snapshots=snapshots):
        pass


def _together(snapshots: int) -> Row:
    def together(tasks: Tasks) -> None:
        _train(tasks[0], STEPS, snapshots)

    def alone(tasks: Tasks) -> None:
        for task in tasks[1]:
            _train(task, STEPS, snapshots)

    seconds = interleaved({"together": together, "alone": alone}, _tasks, ROUNDS)
    fast = TOGETHER * STEPS * BATCH_SIZE / seconds["together"]
    slow = ALONE * STEPS * BATCH_SIZE / seconds["alone"]
    return Row(
        what=f"speed of training {TOGETHER} together, {_snapshots(snapshots)}",
        time=_rate(fast),
        reference=f"one after the other ({ALONE} timed): {_rate(slow)}",
        ratio=spread(fast / slow),
        sizes=_sizes(STEPS),
    )


def _two_threads() -> Row:
    def on_one(tasks: Tasks) -> None:
        _train(tasks[0], THREADS_STEPS, 1)

    def on_two(tasks: Tasks) -> None:
        with torch_threads(2):
            on_one(tasks)

    seconds = interleaved(
        {"one thread": on_one, "two threads": on_two},
        _tasks,
        THREADS_ROUNDS,
        limit_s=THREADS_LIMIT_S,
    )
    label = f"training {TOGETHER} together on two threads"
    return compare(seconds, "two threads", "one thread", _sizes(THREADS_STEPS), label)


def _snapshots(count: int) -> str:
    return f"about {count} snapshots" if count > 1 else "first and last only"


def _rate(per_second: np.ndarray) -> str:
    return f"{significant(float(np.median(per_second)) / 1e3)} k/s"


def _sizes(steps: int) -> str:
    sizes = f"D {CONFIG.model_dim}, n {CONFIG.value_count}, L {CONFIG.depth}, float32"
    return f"{TASK}, {steps} steps, batch {BATCH_SIZE}, {sizes}"
