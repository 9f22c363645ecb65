"""The data of the page At work: shipped measurements, readings, and results of jobs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

import gating_core.at_work as core
from ui.common.language_models import TITLES, UNGATED
from ui.language.loaded import loaded
from ui.language.selection import Model
from ui.limits import READINGS_BYTES
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE, Cache, cached
from ui.work.job import Job, QueuePosition, State
from ui.work.shared import stream_together

TOY, WRITING = "toy_training", "writing"
READINGS_CACHE = Cache(READINGS_BYTES)  # what is typed displaces nothing else


@st.cache_resource(show_spinner=False)
def table() -> dict[Model, dict[str, Any]]:
    """Return the shipped measurements: arrays by model and name."""
    return core.load_measured()


def models() -> list[Model]:
    """Return the models that can be compared: those whose ungated twin of the same seed exists."""
    return [model for model in table() if model[0] in TITLES and (UNGATED, model[1]) in table()]


def seeds(name: str) -> list[int]:
    """Return the seeds of the models called ``name`` that can be compared."""
    return [seed for of, seed in models() if of == name]


def over_seeds(name: str, measurement: str, model_seeds: list[int]) -> np.ndarray:
    """Return a measurement of the models called ``name`` with seeds ``model_seeds``, (S, ...)."""
    return np.stack([table()[name, seed][measurement] for seed in model_seeds])


@cached(on=READINGS_CACHE)
def reading(model: Model, text: str, strength: float) -> core.Reading:
    """Read a text, in this process: it takes some ten milliseconds."""
    return core.read_text(loaded(model), text, strength)


@st.cache_resource(show_spinner=False)
def shipped_toy() -> core.ToyRun:
    """Load the training that comes with the app."""
    return core.load_toy()


def toy(request: core.ToyRequest) -> tuple[core.ToyRun | None, Job | None]:
    """Return the toys that were trained here or are shipped, and the job that trains them.

    Without any, the job is started, unless the visitor has cancelled it.
    """
    cached = NUMBERS_CACHE.find([(TOY, request)]).get((TOY, request))
    run = cached or (shipped_toy() if request == shipped_toy().request else None)
    job = jobs.current(TOY)
    if run is None and (job is None or job.about != request or jobs.starts_again(job, False)):
        train(request)
        job = jobs.current(TOY)
    ours = job is not None and job.about == request and job.state is not State.DONE
    return run, job if ours else None


def train(request: core.ToyRequest) -> None:
    """Train toys in a job; also a callback."""
    jobs.start(TOY, lambda: _train(request), about=request, newest=(core.ToyRun,))


def _train(request: core.ToyRequest) -> Iterator[core.ToyRun | QueuePosition]:
    """Train some of the kinds on each worker, and yield the run of all, step by step."""
    size = min(pool.POOL.size, len(request.kinds))
    parts = [replace(request, kinds=request.kinds[i::size]) for i in range(size)]
    # Runs of each part that are ahead of the part that is furthest behind.
    ahead: list[deque[core.ToyRun]] = [deque() for _ in parts]
    for event in stream_together(core.train_toy, [(part,) for part in parts]):
        if isinstance(event, QueuePosition):
            yield event
            continue
        number, run = event
        ahead[number].append(run)
        if all(ahead):
            run = core.joined(request, [runs.popleft() for runs in ahead])
            if run.share == 1:
                NUMBERS_CACHE.put((TOY, request), run)
            yield run
