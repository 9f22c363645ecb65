"""The server's own work with its allocator setting, against the same with the system's own.

The setting gives memory back as soon as it is free, and asks the system for it again. That makes
views and words some milliseconds slower, by a factor of up to 1.7; without it the server keeps what
thirty visitors have once needed.

The server and a process that differs from it in the allocator alone measure by turns, each in a
thread, as scripts of pages run. Sizes are those that the pages open with.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from tests.benchmarks.process import PLAIN_SERVER, SERVER, started
from tests.benchmarks.table import Row, compare

ROUNDS = 12
REPEATS = 4  # in a round, of what takes milliseconds
PARTS = {  # by what a row says: a function of this module that makes what is timed
    "landing page, view made and packed": "landing_view",
    "landing page, words": "landing_words",
    "Manifold at 21 strengths, view made and packed": "manifold_view",
    "Manifold at 21 strengths, words": "manifold_words",
}


def rows(process: str) -> list[Row]:
    """Each part in the server against the same with the system's allocator."""
    with started(SERVER, PLAIN_SERVER) as processes:
        return [_row(processes, what, part) for what, part in PARTS.items()]


def _row(processes: dict[str, ProcessPoolExecutor], what: str, part: str) -> Row:
    rounds = [
        [executor.submit(timed, part).result() for executor in processes.values()]
        for _ in range(ROUNDS + 1)
    ][1:]  # the first of each warms up
    seconds = dict(zip(processes, np.array(rounds).T, strict=True))
    return replace(compare(seconds, SERVER, PLAIN_SERVER, "grid 61, float32", what), process=SERVER)


def timed(part: str) -> float:
    """Seconds that one call of ``part`` takes in a thread of this process."""
    work = _work(part)

    def repeated() -> float:
        begin = time.perf_counter()
        for _ in range(REPEATS):
            work()
        return (time.perf_counter() - begin) / REPEATS

    return _thread().submit(repeated).result()


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1)


@cache
def _work(part: str) -> Callable[[], Any]:
    return globals()[part]()


def landing_view() -> Callable[[], Any]:
    """What the landing page sends of its first look."""
    picture, view3d = import_module("ui.landing.pair"), import_module("ui.components.view3d")
    pair = _landing_pair()

    def work() -> Any:
        view = picture.pair_view(pair)
        return view3d.pack(view.arrays, view.framed)

    return work


def landing_words() -> Callable[[], Any]:
    """What it says below it, at every strength."""
    page, pair = import_module("ui.landing.pair"), _landing_pair()
    readings = page.readings.__wrapped__  # not through the cache
    return lambda: readings(None, "same", pair)


@cache
def _landing_pair() -> Any:
    comparison = import_module("gating_core.experiments.comparison")
    runs = import_module("ui.work.runs")
    shown = runs.cached_run(comparison.FIRST_SETTING)
    return comparison.measure_pair("same", shown.run, shown.sweep)


def manifold_view() -> Callable[[], Any]:
    """What Manifold sends when it is opened and all strengths are measured."""
    picture, view3d = import_module("ui.manifold.picture"), import_module("ui.components.view3d")
    resolved, variants = _manifold_variants()

    def work() -> Any:
        view = picture.manifold_picture(variants, resolved.axes, picture.ManifoldView()).view
        return view3d.pack(view.arrays, view.framed)

    return work


def manifold_words() -> Callable[[], Any]:
    """What it says above and below at every strength."""
    surface = import_module("ui.manifold.surface")
    _, variants = _manifold_variants()
    return lambda: (
        surface.readings(variants[0][0], variants[1]),
        [[surface.caption(frame) for frame in frames] for frames in variants],
    )


@cache
def _manifold_variants() -> tuple[Any, Any]:
    request, page = import_module("ui.manifold.model"), import_module("ui.manifold.shared")
    specimen = import_module("gating_core.experiments.specimen")
    resolved = request.resolve(request.ManifoldRequest())
    ungated, gated = resolved.variants
    places = page.strengths(gated, resolved.grid)
    models = [ungated, *(request.at_strength(gated, place) for place in places)]
    measured = [specimen.measure_specimen(model, resolved.grid) for model in models]
    return resolved, [measured[:1], measured[1:]]
