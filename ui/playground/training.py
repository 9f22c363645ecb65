"""The playground's run: trained and measured as one job, gone on with, and what is known of it.

What is shown of a run may change while it is measured: whichever seed is looked at is measured
first.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import cachetools
import streamlit as st

from gating_core.experiments.comparison import (
    SHOWN,
    CurvatureAlong,
    FinalCurvature,
    Setting,
    TrainedRun,
    go_on,
    measure_run,
    shown_member,
    start,
)
from gating_core.training import TrainingDiverged
from ui.work import jobs
from ui.work.job import State

JOB, LAST, WISH, GO_ON = "playground", "playground_last", "playground_wish", "playground_go_on"
COMPLETE = "playground_complete"
REDRAWN_SECONDS = 1.0  # a picture of several megabytes is not sent more often while it trains
KNOWN_RUNS = 6  # complete ones, kept for all visitors: the same setting gives the same bits

_known: cachetools.LRUCache[Setting, Shown] = cachetools.LRUCache(KNOWN_RUNS)
_lock = threading.Lock()  # of what is known, which all visitors share
_serials: WeakKeyDictionary[TrainedRun, int] = WeakKeyDictionary()
_counter = itertools.count()


@dataclass
class Wish:
    """Which seed the visitor looks at: best, median, worst, or the picked one."""

    which: str = SHOWN[0]
    picked: str = ""

    def member(self, run: TrainedRun) -> int:
        """Its place among the seeds; the right-hand variant says which is best."""
        seeds = run.task.seeds
        if self.which == "picked" and self.picked in map(str, seeds):
            return seeds.index(int(self.picked))
        which = self.which if self.which in SHOWN else SHOWN[0]
        return shown_member(run.variants[run.setting.compared[-1]].ensemble, which)


@dataclass(eq=False)
class Shown:
    """A run as far as it got, and what is known of its curvature, by variant and member."""

    run: TrainedRun
    along: dict[tuple[str, int], CurvatureAlong] = field(default_factory=dict)
    final: dict[tuple[str, int], FinalCurvature] = field(default_factory=dict)
    drawn: float = 0.0  # time.monotonic() of when it came to be shown

    def lacks(self, wished: Wish) -> bool:
        """Whether there is something to measure of the seed that the visitor looks at."""
        if not self.run.frames:
            return False
        member = wished.member(self.run)
        return any((name, member) not in self.final for name in self.run.setting.compared)


def wish(which: str) -> Wish:
    """What this visitor wishes to see: one object for the session, read by its job as well."""
    found = st.session_state.setdefault(WISH, Wish())
    found.which = which
    found.picked = st.query_params.get("picked_seed", "")
    return found


def fetch(setting: Setting, wished: Wish) -> jobs.Job:
    """The job that runs ``setting``: the current one, or one that is started now.

    One that the visitor's leaving has stopped goes on; one that they cancelled waits for a click.
    """
    job = jobs.current(JOB)
    if job is not None:
        shown_of(job)  # what it has by now, before it gives way to another
    if job is None or job.about != setting or _goes_on(job, wished):
        before = _begun(setting)
        if before is not None:
            st.session_state[LAST] = before
        job = jobs.start(
            JOB, lambda: _work(setting, before, wished), about=setting,
            expected=(TrainingDiverged,), newest=(float, TrainedRun),
        )  # fmt: skip
    return job


def _goes_on(job: jobs.Job, wished: Wish) -> bool:
    asked = st.session_state.pop(GO_ON, False)
    if job.state is State.DONE:
        shown = shown_of(job)
        return shown is not None and shown.lacks(wished)
    if job.state is State.CANCELLED and not (asked or not job.declined):
        st.button("Go on", icon=":material/play_arrow:", key="go_on", on_click=_go_on,
                  help="From where it was stopped.")  # fmt: skip
    elif job.state is State.FAILED and not asked:
        st.button("Try again", icon=":material/restart_alt:", key="try_again", on_click=_go_on)
    else:
        return job.over
    return False


def _go_on() -> None:
    st.session_state[GO_ON] = True


def _begun(setting: Setting) -> Shown | None:
    """What there is of ``setting`` already: all of it, its beginning, or a run that was shorter."""
    last = st.session_state.get(LAST)
    with _lock:
        known = _known.get(setting)
    if last is None or not last.run.frames or (known and last.run.setting != setting):
        return known
    run = last.run
    if run.setting == setting:
        return last
    same = replace(run.setting, steps=setting.steps) == setting
    longer = run.frames[-1].step <= setting.steps and run.divergence is None
    return last if same and longer else None


def _work(setting: Setting, before: Shown | None, wished: Wish) -> Iterator[Any]:
    """Train as far as ``setting`` says, then measure: shares done, runs, and curvatures."""
    run: TrainedRun | None = None
    if before is None:
        events: Iterator[Any] = start(setting)
    else:
        run = before.run
        if run.setting == setting:  # a shorter one is complete, and this is not
            yield run
        ended = run.divergence is not None or run.frames[-1].step == setting.steps
        events = iter(()) if ended else go_on(run, setting.steps - run.frames[-1].step)
    for event in events:
        run = event if isinstance(event, TrainedRun) else run
        yield event
    if run is None or not run.frames:
        return
    trained, old = run, before if before is not None and before.run is run else Shown(run)
    yield from measure_run(
        trained, setting.compared, lambda: wished.member(trained), set(old.along), set(old.final)
    )


def serial(run: TrainedRun) -> int:
    """A number for ``run`` that no other ever gets: an ``id`` is used again once a run is gone."""
    return _serials.setdefault(run, next(_counter))


def newest_run(items: list[Any]) -> TrainedRun | None:
    """The run as far as it got, among a job's items."""
    return next((item for item in reversed(items) if isinstance(item, TrainedRun)), None)


def shown_of(job: jobs.Job) -> Shown | None:
    """The newest run of a job, with its curvatures; else the last one there was."""
    items = job.items
    run = newest_run(items)
    last = st.session_state.get(LAST)
    if run is None or (not job.over and _too_soon(run, last)):
        return last
    shown = last if last is not None and last.run is run else Shown(run, drawn=time.monotonic())
    for item in items:
        if isinstance(item, CurvatureAlong):
            shown.along[item.variant, item.member] = item
        if isinstance(item, FinalCurvature):
            shown.final[item.variant, item.member] = item
    st.session_state[LAST] = shown
    if job.state is State.DONE and run.setting.own is None:
        with _lock:
            _known[run.setting] = shown
    return shown


def numbers_of(job: jobs.Job) -> Shown | None:
    """The run whose numbers are told: a complete one, or what was left of one; else the last."""
    if job.over or trained(job.items):
        shown = shown_of(job)
        if shown is not None and shown.run.frames:
            st.session_state[COMPLETE] = shown
    return st.session_state.get(COMPLETE)


def _too_soon(run: TrainedRun, last: Shown | None) -> bool:
    """Whether ``run`` is a later moment of what is shown, and that was drawn a moment ago."""
    if last is None or last.run is run or run.divergence is not None or run.complete:
        return False
    grown = (
        last.run.setting == run.setting and last.run.frames == run.frames[: len(last.run.frames)]
    )
    return grown and time.monotonic() - last.drawn < REDRAWN_SECONDS


def trained(items: list[Any]) -> bool:
    """Whether the training is done, and the rest is measuring."""
    run = newest_run(items)
    return run is not None and (run.divergence is not None or run.complete)


def what(items: list[Any]) -> str:
    """What a job is doing."""
    return "Measuring curvature" if trained(items) else "Training"


def share_of(items: list[Any]) -> float:
    """How much of it is done."""
    run = newest_run(items)
    if run is None or not trained(items):
        return next((item for item in reversed(items) if isinstance(item, float)), 0.0)
    found = sum(isinstance(item, CurvatureAlong) for item in items)
    return found / (len(run.setting.compared) * len(run.task.seeds))
