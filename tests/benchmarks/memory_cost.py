"""What does it cost to ask the system for memory again and again, while curvature is measured?

Three processes take turns: one keeps at hand what it has freed, as a worker of the app; one leaves
the allocator as it is; one is set as the process that serves pages, which keeps little.
"""

from __future__ import annotations

import importlib
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import cache

import torch

from gating_core.experiments.comparison import (
    FILM_GRID,
    Setting,
    TrainedRun,
    drawn_frames,
    train_setting,
)
from gating_core.experiments.comparison.along import curvature_along
from gating_core.memory import keep_at_hand
from gating_core.pauses import drained
from tests.benchmarks.table import Row, compare
from tests.benchmarks.timing import interleaved

ROUNDS = 12
AT_HAND, AS_IT_IS, SERVING = "memory at hand", "as it is", "as the server"
DEPTHS = (1, 4)


def memory_cost() -> list[Row]:
    """Curvature along a run, in a process that keeps memory at hand and in two that do not."""
    spawn = multiprocessing.get_context("spawn")  # nothing of this process's memory
    begins = {AT_HAND: _at_hand, AS_IT_IS: _as_it_is, SERVING: _serving}
    with ExitStack() as stack:
        processes = {name: stack.enter_context(ProcessPoolExecutor(1, spawn, begin))
                     for name, begin in begins.items()}  # fmt: skip
        return [row for depth in DEPTHS for row in _at_depth(processes, depth)]


def _at_depth(processes: dict[str, ProcessPoolExecutor], depth: int) -> list[Row]:
    def along(name: str) -> Callable[[int], object]:
        return lambda member: processes[name].submit(_measure, depth, member).result()

    seconds = interleaved(
        {name: along(name) for name in processes}, lambda number: number, ROUNDS, limit_s=60
    )
    frames = len(drawn_frames(_run(depth)))
    sizes = f"{frames} x {FILM_GRID}² points, tokens, L={depth}"
    return [
        compare(seconds, AT_HAND, other, sizes, label=f"curvature along a run, {AT_HAND}")
        for other in (AS_IT_IS, SERVING)
    ]


def _at_hand() -> None:
    _as_it_is()
    keep_at_hand()


def _as_it_is() -> None:
    torch.set_num_threads(1)


def _serving() -> None:
    importlib.import_module("ui.work.runtime")


def _measure(depth: int, member: int) -> None:
    drained(curvature_along(_run(depth), "sigmoid", member))


@cache
def _run(depth: int) -> TrainedRun:
    setting = Setting(source="tokens", depth=depth, steps=100)
    return [run for run in train_setting(setting) if run is not None][-1]
