"""How does the page come to refined totals, which may take many seconds? In a job; others share it.

What is refined once is kept for all visitors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import cachetools
import streamlit as st

from gating_core.experiments.specimen import Specimen, integrate_steps
from gating_core.geometry import SurfaceIntegrals
from ui.limits import INTEGRALS_KEPT
from ui.work import jobs
from ui.work.job import Job, State
from ui.work.pool import Rank
from ui.work.together import together
from ui.work.turns import TURNS

JOB = "totals"
AT_ONCE_SECONDS = 0.5  # most models need less: then the page need not be drawn again
Totals = Mapping[Specimen, SurfaceIntegrals]

_lock = threading.Lock()
_known: cachetools.LRUCache[Specimen, SurfaceIntegrals] = cachetools.LRUCache(INTEGRALS_KEPT)


def known(specimens: tuple[Specimen, ...]) -> Totals:
    """Those that are refined already."""
    with _lock:
        return {each: _known[each] for each in specimens if each in _known}


def watch_totals(specimens: tuple[Specimen, ...], draw: Callable[[Totals], None]) -> None:
    """Refine the totals of ``specimens``; ``draw`` what there is of them, and again at the end."""
    found, job = known(specimens), jobs.current(JOB)
    if len(found) == len(specimens):
        if job is not None:
            job.cancel()  # of other models
        draw(found)
        return
    if job is None or job.about != specimens or _again(job):
        job = jobs.start(JOB, lambda: _refine(specimens), about=specimens)
        with TURNS.aside():
            job.join(AT_ONCE_SECONDS)
        if len(found := known(specimens)) == len(specimens):
            draw(found)
            return
    jobs.watch(job, lambda items: draw(known(specimens)), what="Refining totals")


def _again(job: Job) -> bool:
    """Whether a job that is over is to be started again: a visitor who cancelled it is asked."""
    if job.over and (job.declined or job.state is State.FAILED):
        return st.button("Refine", icon=":material/play_arrow:", key="refine")
    return job.over


def _refine(specimens: tuple[Specimen, ...]) -> Iterator[Any]:
    for specimen in specimens:
        if specimen in known((specimen,)):
            continue
        for item in together(integrate_steps, specimen, rank=Rank.REST):
            if isinstance(item, SurfaceIntegrals):
                with _lock:
                    _known[specimen] = item
            yield item
