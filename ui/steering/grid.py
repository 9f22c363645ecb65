"""The whole experiment on one model: shipped, or measured in a job, cached for all visitors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gating_core.steering import GridRequest, assembled, measure_parts, parts_of
from ui.steering.request import DEPTH
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE
from ui.work.cached_jobs import CachedJobs
from ui.work.job import Job
from ui.work.shared import split_over_workers

Arrays = Mapping[str, np.ndarray]  # outcomes of a model, by name
CORE_SECONDS = 120.0  # of one core, for a model
START, START_BUTTON = "Measure this model here", "measure_grid"


def _measure(request: GridRequest) -> Iterator[Any]:
    parts = parts_of(DEPTH)
    for item in split_over_workers(measure_parts, parts, request):
        yield assembled(DEPTH, parts, item) if isinstance(item, tuple) else item


GRID: CachedJobs[GridRequest, Arrays] = CachedJobs("steering_grid", _measure, NUMBERS_CACHE)


def minutes() -> int:
    """Return about how many minutes it takes when nothing else is computed."""
    return max(1, round(CORE_SECONDS / 60 / pool.POOL.size))


def draw_start() -> None:
    """Draw the button that starts a job."""
    unit = "minute" if minutes() == 1 else "minutes"
    jobs.draw_again(GRID.name, f"{START}, about {minutes()} {unit}", "play_arrow", START_BUTTON)


def measured_here(request: GridRequest | None) -> tuple[Arrays | None, Job | None]:
    """Return what was measured here, and the job that measures it, if the visitor has started it.

    A job about another request ends.
    """
    job, clicked = jobs.current(GRID.name), jobs.clicked_again(GRID.name)
    if request is None:
        if job is not None:
            job.cancel()
        return None, None
    if clicked:
        if job is not None:
            job.forget()
        return GRID.fetch(request)
    if job is not None and job.about == (request,):
        return GRID.fetch(request)
    if job is not None:
        job.cancel()
    return GRID.cached((request,)).get(request), None
