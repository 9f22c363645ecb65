"""Texts that appear step by step: written by a worker, in a job, and cached for all visitors."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from ui.work import jobs
from ui.work.cache import NUMBERS_CACHE
from ui.work.job import Job, QueuePosition
from ui.work.shared import shared_stream

PACE_SECONDS = 0.03  # between two characters, so that they can be read as they come


def written(
    name: str, write: Callable[..., Any], request: Hashable, shipped: Sequence[Any] = ()
) -> Job:
    """Return the job ``name`` that writes: a new one, unless this text is written or was stopped.

    ``write`` yields the steps of a request; those that are ``shipped`` are there at once.
    """
    job = jobs.current(name)
    again = jobs.clicked_again(name)
    if job is not None and job.about == request and not again:
        return job
    key = name, request
    if steps := shipped or NUMBERS_CACHE.find([key]).get(key):
        return jobs.have(name, list(steps), about=request)
    return jobs.start(name, lambda: _write(name, write, request), about=request)


def _write(name: str, write: Callable[..., Any], request: Hashable) -> Iterator[Any]:
    steps = []
    for item in shared_stream(write, request):
        yield item
        if not isinstance(item, QueuePosition):
            steps.append(item)
            time.sleep(PACE_SECONDS)
    NUMBERS_CACHE.put((name, request), tuple(steps))
