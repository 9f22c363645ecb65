"""The cost of asking the system for memory again and again, while curvature is measured.

Three processes measure by turns: a worker, which has memory at hand; one that leaves the allocator
as it is; and one set up as the process that serves pages, which gives memory back.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache

from gating_core.experiments.comparison import (
    FRAME_GRID,
    Setting,
    TrainedRun,
    drawn_frames,
    train_setting,
)
from gating_core.experiments.comparison.run_curvature import curvature_along
from gating_core.pauses import drained
from tests.benchmarks.process import LIBRARY, SERVER, WORKER, started
from tests.benchmarks.table import Row, compare
from tests.benchmarks.timing import interleaved, torch_threads

ROUNDS = 12
DEPTHS = (1, 4)


def rows(process: str) -> list[Row]:
    """Curvature along a run, in a worker and in the two other processes."""
    with started(WORKER, LIBRARY, SERVER) as processes:
        return [row for depth in DEPTHS for row in _at_depth(processes, depth)]


def _at_depth(processes: dict[str, ProcessPoolExecutor], depth: int) -> list[Row]:
    def along(name: str) -> Callable[[int], object]:
        return lambda member: processes[name].submit(_measure, depth, member).result()

    seconds = interleaved(
        {name: along(name) for name in processes}, lambda number: number, ROUNDS, limit_s=60
    )
    frames = len(drawn_frames(_run(depth)))
    sizes = f"{frames} x {FRAME_GRID}² points, tokens, L={depth}"
    return [
        replace(compare(seconds, WORKER, other, sizes, "curvature along a run"), process=WORKER)
        for other in (LIBRARY, SERVER)
    ]


def _measure(depth: int, member: int) -> None:
    with torch_threads(1):
        drained(curvature_along(_run(depth), "sigmoid", member))


@cache
def _run(depth: int) -> TrainedRun:
    setting = Setting(source="tokens", depth=depth, steps=100)
    return [run for run in train_setting(setting) if run is not None][-1]
