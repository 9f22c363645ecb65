"""The data of the sections on data: shipped, cached for all visitors, or made in jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import streamlit as st

from gating_core.experts import (
    COUNTS,
    CurvesRequest,
    Learned,
    LearningCurves,
    SampleRequest,
    accuracies_at,
    curves_of,
    gathered,
    learn,
    load_curves,
    load_samples,
)
from gating_core.training import TrainingDiverged
from ui.work.cache import NUMBERS_CACHE
from ui.work.cached_jobs import CachedJobs
from ui.work.job import Job
from ui.work.shared import split_over_workers

Key = tuple[SampleRequest, str]  # with the gate


@st.cache_resource(show_spinner=False)
def shipped_samples() -> dict[str, Learned]:
    """Load what comes with the app, by gate."""
    return load_samples()


@st.cache_resource(show_spinner=False)
def shipped_curves() -> LearningCurves:
    """Load the learning curves that come with the app."""
    return load_curves()


def _learn(key: Key) -> Iterator[Any]:
    request, gate = key
    for item in split_over_workers(learn, request.seeds, request, gate):
        yield gathered(item) if isinstance(item, tuple) else item


def _train(request: CurvesRequest) -> Iterator[Any]:
    for item in split_over_workers(accuracies_at, COUNTS, request):
        yield curves_of(request, item) if isinstance(item, tuple) else item


LEARNED: CachedJobs[Key, Learned] = CachedJobs("experts_learning", _learn, NUMBERS_CACHE)
CURVES: CachedJobs[CurvesRequest, LearningCurves] = CachedJobs(
    "experts_curves", _train, NUMBERS_CACHE, expected=(TrainingDiverged,)
)


def learned(
    request: SampleRequest, gates: tuple[str, ...]
) -> tuple[dict[str, Learned], Job | None]:
    """Return the results so far by gate, and the job that makes the others, if any."""
    if request == SampleRequest():
        return {gate: shipped_samples()[gate] for gate in gates}, None
    results, job = LEARNED.fetch_all(tuple((request, gate) for gate in gates))
    return {gate: results[request, gate] for gate in gates if (request, gate) in results}, job


def curves(request: CurvesRequest) -> tuple[LearningCurves | None, Job | None]:
    """Return the learning curves, or the job that makes them."""
    if request == CurvesRequest():
        return shipped_curves(), None
    return CURVES.fetch(request)
