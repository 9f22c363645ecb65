"""What is known of depth already, and how does the page come to the rest? In jobs; others share it.

What was measured or trained once is kept for all visitors.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import cachetools
import streamlit as st

from gating_core.experiments.depth import (
    DepthResult,
    TrainedDepths,
    TrainedRequest,
    load_shipped,
    measure_regimes,
    replay,
    replay_trained,
    train_depths,
)
from gating_core.geometry import SurfaceResult
from gating_core.training import TrainingDiverged
from ui.depth.replay import REPLAY_GRID, Replay, replay_view
from ui.depth.request import SHIPPED, UNTRAINED, Request
from ui.limits import CACHED_STACKS
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE, cached
from ui.work.cached_jobs import CachedJobs
from ui.work.job import Job
from ui.work.shared import shared_stream

TRAINING = "depth_training"

_lock = threading.Lock()  # of what is trained
_trained: cachetools.LRUCache[TrainedRequest, TrainedDepths] = cachetools.LRUCache(CACHED_STACKS)


def _measure(name: str) -> Iterator[Any]:
    return shared_stream(measure_regimes, UNTRAINED, (name,))


RESULTS: CachedJobs[str, DepthResult] = CachedJobs("depth_measuring", _measure, NUMBERS_CACHE)


@st.cache_resource(show_spinner=False)
def shipped() -> TrainedDepths:
    """The stacks that the app brings."""
    return load_shipped()


def trained(request: TrainedRequest) -> TrainedDepths | None:
    """The trained stacks, if they are there: trained on this server, or shipped."""
    with _lock:
        found = _trained.get(request)
    return shipped() if found is None and request == SHIPPED else found


def trained_here(request: TrainedRequest) -> bool:
    """Whether they were trained on this server."""
    with _lock:
        return request in _trained


def train(request: TrainedRequest) -> None:
    """Train the stacks of ``request`` as a job: for callbacks."""
    jobs.start(TRAINING, lambda: _train(request), about=request,
               expected=(TrainingDiverged,), newest=(float,))  # fmt: skip


def _train(request: TrainedRequest) -> Iterator[Any]:
    for item in shared_stream(train_depths, request):
        if isinstance(item, TrainedDepths):
            with _lock:
                _trained[request] = item
        else:
            yield item


def training() -> Job | None:
    """The newest training of this visit."""
    return jobs.current(TRAINING)


def watch_training(job: Job) -> None:
    """How far it is, or how it ended; the page is run again at the end."""
    if job.over:
        jobs.draw_end(job, "Training", [])
    jobs.watch(job, lambda items: None, what="Training", share=jobs.share_of, ends=False)


@cached("Measuring curvature …")
def replayed(name: str, layers: int, member: int, first_seed: int, here: bool,
             _trained: TrainedDepths | None) -> SurfaceResult:  # fmt: skip
    """One stack's surface after every layer; of one that is trained where these are given.

    What was trained ``here`` is not what was shipped, if only in its last digits.
    """
    if _trained is None:
        return pool.POOL.call(replay, UNTRAINED, name, member, REPLAY_GRID)
    return pool.POOL.call(replay_trained, _trained, name, layers, member, REPLAY_GRID)


@cached()
def view_of(name: str, layers: int, member: int, first_seed: int, here: bool,
            _surface: SurfaceResult, sheet: bool) -> Replay:  # fmt: skip
    """The linked view of a replayed stack."""
    return replay_view(_surface, sheet)


def key_of(request: Request) -> tuple[str, int, int, int, bool]:
    """What a replay is kept under."""
    here = request.is_trained and trained_here(request.trained)
    first = request.first_seed if request.is_trained else UNTRAINED.seed
    return request.replayed, request.depth, request.member, first, here
