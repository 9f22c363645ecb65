"""What the Depth page shows: cached for all visitors, or made in jobs.

Curves are measured in a job as soon as they are requested; stacks are trained on a click.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import streamlit as st

import gating_core.experiments.depth as core
from gating_core.experiments.depth import DepthResult, TrainedDepths, TrainedRequest, train_depths
from gating_core.geometry import SurfaceResult
from gating_core.training import TrainingDiverged
from ui.depth.replay import REPLAY_GRID, Replay, replay_view
from ui.depth.request import SHIPPED, UNTRAINED, DepthSelection
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE, cached
from ui.work.cached_jobs import CachedJobs
from ui.work.job import Job
from ui.work.shared import shared_stream

TRAINING = "depth_training"
ReplayKey = tuple[str, int, int, int, bool]  # regime, layers, member, first seed, trained here


RESULTS: CachedJobs[str, DepthResult] = CachedJobs(
    "depth_measuring",
    lambda name: shared_stream(core.measure_regimes, UNTRAINED, (name,)),
    NUMBERS_CACHE,
)


@st.cache_resource(show_spinner=False)
def shipped() -> TrainedDepths:
    """Load the stacks that come with the app."""
    return core.load_shipped()


@st.cache_resource(show_spinner=False)
def shipped_gates() -> dict[str, DepthResult]:
    """Load the curves of gates that come with the app."""
    return core.load_gates()


def trained_here(request: TrainedRequest) -> TrainedDepths | None:
    """Return the stacks that were trained on this server, if they are cached."""
    return NUMBERS_CACHE.find([(TRAINING, request)]).get((TRAINING, request))


def trained(request: TrainedRequest) -> TrainedDepths | None:
    """Return the stacks that were trained on this server, or shipped, if there are any."""
    return trained_here(request) or (shipped() if request == SHIPPED else None)


def train(request: TrainedRequest) -> None:
    """Train the stacks of ``request`` in a job; a callback."""
    jobs.start(TRAINING, lambda: _train(request), about=request,
               expected=(TrainingDiverged,), newest=(float,))  # fmt: skip


def _train(request: TrainedRequest) -> Iterator[Any]:
    for item in shared_stream(train_depths, request):
        if isinstance(item, TrainedDepths):
            NUMBERS_CACHE.put((TRAINING, request), item)
        else:
            yield item


def training() -> Job | None:
    """Return the newest training of this visit."""
    return jobs.current(TRAINING)


def results_of(selection: DepthSelection) -> dict[str, DepthResult] | None:
    """Return the results of all regimes of ``selection``, if all are there."""
    if selection.is_trained:
        stacks = trained(selection.trained)
        return stacks.results if stacks else None
    results = RESULTS.cached(selection.curves)
    return results if len(results) == len(selection.curves) else None


def replay_key(selection: DepthSelection) -> ReplayKey:
    """Return what a replay is cached by.

    Stacks trained on this server differ from the shipped ones, if only in the last digits.
    """
    first, here = UNTRAINED.seed, False
    if selection.is_trained:
        first, here = selection.first_seed, trained_here(selection.trained) is not None
    return selection.replayed, selection.depth, selection.member, first, here


@cached("Measuring curvature …")
def replayed(key: ReplayKey, _trained: TrainedDepths | None) -> SurfaceResult:
    """Measure one stack's surface after every layer: a trained one, where these are given."""
    name, layers, member, *_ = key
    if _trained is None:
        return pool.POOL.call(core.replay, UNTRAINED, name, member, REPLAY_GRID)
    return pool.POOL.call(core.replay_trained, _trained, name, layers, member, REPLAY_GRID)


@cached()
def view_of(key: ReplayKey, _surface: SurfaceResult) -> Replay:
    """Draw a replayed stack."""
    regime = core.REGIMES.get(key[0])
    return replay_view(_surface, sheet=regime is not None and regime.arrangement is None)
