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
from ui.limits import DEPTHS_KEPT, TRAINED_KEPT
from ui.work import jobs, pool
from ui.work.job import Job, State
from ui.work.shelf import shelved
from ui.work.together import together
from ui.work.turns import TURNS

MEASURING, TRAINING = "depth_measuring", "depth_training"
AT_ONCE_SECONDS = 0.5  # one regime of an idle machine: then the page need not be drawn again

_lock = threading.Lock()  # of what is known
_results: cachetools.LRUCache[str, DepthResult] = cachetools.LRUCache(DEPTHS_KEPT)
_trained: cachetools.LRUCache[TrainedRequest, TrainedDepths] = cachetools.LRUCache(TRAINED_KEPT)


def known(names: tuple[str, ...]) -> dict[str, DepthResult]:
    """What is measured already of the regimes called ``names``."""
    with _lock:
        return {name: _results[name] for name in names if name in _results}


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


def measuring(names: tuple[str, ...]) -> Job | None:
    """The job that measures what is missing of ``names``; ``None`` once nothing is.

    A visitor who has cancelled it is asked first.
    """
    if len(known(names)) == len(names):
        return None
    job = jobs.current(MEASURING)
    asked = st.session_state.pop(f"{MEASURING}_again", False)
    if job is None or job.about != names or _goes_on(job, asked):
        job = jobs.start(MEASURING, lambda: _measure(names), about=names, newest=(float,))
        with TURNS.aside():
            job.join(AT_ONCE_SECONDS)
        if len(known(names)) == len(names):
            return None
    return job


def watch_measuring(job: Job, what: str) -> None:
    """How far it is; the page is run again at the end."""
    _offer(job, what, f"{MEASURING}_again", list(known(job.about)))  # type: ignore[arg-type]
    jobs.watch(job, lambda items: None, what=what, share=_share, ends=False)


def _goes_on(job: Job, asked: bool) -> bool:
    return job.over and (asked or not (job.declined or job.state is State.FAILED))


def _offer(job: Job, what: str, again: str, kept: list[str]) -> None:
    """After an end without all results: what is ``kept``, and a click that goes on."""
    if job.over and job.state is not State.DONE:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.info(jobs.end_text(job, what, kept))
            st.button("Measure", icon=":material/play_arrow:", key=f"{again}_button",
                      on_click=lambda: st.session_state.update({again: True}))  # fmt: skip


def _measure(names: tuple[str, ...]) -> Iterator[Any]:
    missing = tuple(name for name in names if not known((name,)))
    for item in together(measure_regimes, UNTRAINED, missing):
        if isinstance(item, DepthResult):
            with _lock:
                _results[item.regime] = item
        else:
            yield item


def train(request: TrainedRequest) -> None:
    """Train the stacks of ``request`` as a job: for callbacks."""
    jobs.start(TRAINING, lambda: _train(request), about=request,
               expected=(TrainingDiverged,), newest=(float,))  # fmt: skip


def _train(request: TrainedRequest) -> Iterator[Any]:
    for item in together(train_depths, request):
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
    if job.over and (text := jobs.end_text(job, "Training", [])):
        st.info(text)
    jobs.watch(job, lambda items: None, what="Training", share=_share, ends=False)


def _share(items: list[Any]) -> float:
    return next((item for item in reversed(items) if isinstance(item, float)), 0.0)


@shelved("Measuring curvature …")
def replayed(name: str, layers: int, member: int, first_seed: int, here: bool,
             _trained: TrainedDepths | None) -> SurfaceResult:  # fmt: skip
    """One stack's surface after every layer; of one that is trained where these are given.

    What was trained ``here`` is not what was shipped, if only in its last digits.
    """
    if _trained is None:
        return pool.POOL.call(replay, UNTRAINED, name, member, REPLAY_GRID)
    return pool.POOL.call(replay_trained, _trained, name, layers, member, REPLAY_GRID)


@shelved()
def view_of(name: str, layers: int, member: int, first_seed: int, here: bool,
            _surface: SurfaceResult, sheet: bool) -> Replay:  # fmt: skip
    """The linked view of a replayed stack."""
    return replay_view(_surface, sheet)


def key_of(request: Request) -> tuple[str, int, int, int, bool]:
    """What a replay is kept under."""
    here = request.is_trained and trained_here(request.trained)
    first = request.first_seed if request.is_trained else UNTRAINED.seed
    return request.replayed, request.depth, request.member, first, here
