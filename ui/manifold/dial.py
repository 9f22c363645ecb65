"""At which strengths of its gate is a model shown, and how does the page come to all of them?

As many as two seconds or so allow, in a job: meanwhile the page shows the strength that was asked
for. What is measured once is kept for all visitors.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import cachetools
import streamlit as st

from gating_core.experiments import cost
from gating_core.experiments.specimen import MeasuredSpecimen, Specimen, measure_specimen
from ui.limits import DIAL_COST, DIALLED_KEPT
from ui.manifold.request import at_strength
from ui.work import jobs, pool
from ui.work.job import Job, State
from ui.work.together import together
from ui.work.turns import TURNS

STEPS = (20, 10, 5, 2, 1)  # from no gate to a full one
LEAST_COST = 128.0  # what a point costs at least: some of the work is the same for all models
JOB, AGAIN = "strengths", "strengths_again"
AT_ONCE_SECONDS = 0.5  # two idle cores need less for most models: then the page is drawn once
Dial = tuple[MeasuredSpecimen, ...]  # by strength


@dataclass(frozen=True)
class Wanted:
    """A model with a full gate, at all ``places`` of its strength, on a grid."""

    specimen: Specimen
    grid: int
    places: tuple[float, ...]


_lock = threading.Lock()
_known: cachetools.LRUCache[Wanted, Dial] = cachetools.LRUCache(DIALLED_KEPT)


def strengths(specimen: Specimen, grid: int) -> tuple[float, ...]:
    """Evenly spaced from 0 to 1, at a ``grid`` of so many points along each side."""
    each = max(cost(specimen.config), LEAST_COST) * grid**2
    steps = next((n for n in STEPS if (n + 1) * each <= DIAL_COST), STEPS[-1])
    return tuple(round(i / steps, 2) for i in range(steps + 1))


def dial_of(specimen: Specimen, grid: int) -> tuple[Dial, Job | None]:
    """A specimen at all strengths, whatever its own is; or none, and the job that measures them."""
    wanted = Wanted(at_strength(specimen, 1.0), grid, strengths(specimen, grid))
    again = st.session_state.pop(AGAIN, False)
    job = jobs.current(JOB)
    if found := known(wanted):
        if job is not None:
            job.cancel()  # of another model
        return found, None
    if job is None or job.about != wanted or _goes_on(job, again):
        job = jobs.start(JOB, lambda: _measure(wanted), about=wanted)
        if not pool.POOL.crowded:
            with TURNS.aside():
                job.join(AT_ONCE_SECONDS)
    found = known(wanted)
    return found, None if found else job


def known(wanted: Wanted) -> Dial:
    """What is measured already."""
    with _lock:
        return _known.get(wanted, ())


def watch_dial(job: Job) -> None:
    """How far it is; the page is run again at the end."""
    if job.state is State.DONE:  # since the page began to be drawn
        st.rerun()
    if job.over:
        st.button("Measure every strength", icon=":material/play_arrow:", key="measure_strengths",
                  on_click=lambda: st.session_state.update({AGAIN: True}))  # fmt: skip
    places = len(job.about.places)  # type: ignore[attr-defined]
    jobs.watch(job, lambda items: None, what="Measuring every strength of the gate",
               share=lambda items: len(items) / places)  # fmt: skip


def _goes_on(job: Job, again: bool) -> bool:
    """Whether a job that is over is to be started again: a visitor who cancelled it is asked."""
    return job.over and (again or not (job.declined or job.state is State.FAILED))


def _measure(wanted: Wanted) -> Iterator[Any]:
    """Measure all strengths, a share for every worker; one item for each that is there."""
    each = tuple(at_strength(wanted.specimen, place) for place in wanted.places)
    size = pool.POOL.size
    shares = [together(_measure_all, each[i::size], wanted.grid) for i in range(size)]
    found = {}
    for items in zip_longest(*shares):
        for item in items:
            if isinstance(item, MeasuredSpecimen):
                found[item.specimen] = item
                yield item.specimen  # its numbers are kept once, for all
            else:
                yield item
    with _lock:
        _known[wanted] = tuple(found[specimen] for specimen in each)


def _measure_all(specimens: tuple[Specimen, ...], grid: int) -> Iterator[MeasuredSpecimen]:
    for specimen in specimens:
        yield measure_specimen(specimen, grid)
