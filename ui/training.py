"""The playground's run: trained and measured as one job, gone on with, and what is known of it.

What is shown of a run may change while it is measured: whichever seed is looked at is measured
first.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st

from gating_core import film
from gating_core.along import CurvatureAlong, FinalCurvature, measure_run
from gating_core.playground import go_on, start
from gating_core.runs import TrainedRun
from gating_core.setting import Setting
from gating_core.trainer import TrainingDiverged
from ui import jobs
from ui.job import State

JOB, LAST, WISH = "playground", "playground_last", "playground_wish"
REDRAWN_SECONDS = 1.0  # a picture of several megabytes is not sent more often while it trains

_serials: WeakKeyDictionary[TrainedRun, int] = WeakKeyDictionary()
_counter = itertools.count()


@dataclass
class Wish:
    """Which seed the visitor looks at: best, median, worst, or the picked one."""

    which: str = film.SHOWN[0]
    picked: str = ""

    def member(self, run: TrainedRun) -> int:
        """Its place among the seeds; the right-hand variant says which is best."""
        seeds = run.task.seeds
        if self.which == "picked" and self.picked in map(str, seeds):
            return seeds.index(int(self.picked))
        which = self.which if self.which in film.SHOWN else film.SHOWN[0]
        return film.shown_member(run.variants[run.setting.compared[-1]].ensemble, which)


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
    if job is None or job.about != setting or _goes_on(job, wished):
        before = _begun(setting)
        job = jobs.start(
            JOB, lambda: _work(setting, before, wished), about=setting,
            expected=(TrainingDiverged,),
        )  # fmt: skip
    return job


def _goes_on(job: jobs.Job, wished: Wish) -> bool:
    shown = shown_of(job.items)
    if job.state is State.DONE:
        return shown is not None and shown.lacks(wished)
    if job.state is State.CANCELLED:
        return not job.declined or st.button(
            "Go on", icon=":material/play_arrow:", key="go_on", help="From where it was stopped."
        )
    return job.state is State.FAILED and st.button(
        "Try again", icon=":material/restart_alt:", key="try_again"
    )


def _begun(setting: Setting) -> Shown | None:
    """The last run, if ``setting`` is its own, or its own with more steps."""
    last = st.session_state.get(LAST)
    if last is None or not last.run.frames:
        return None
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


def shown_of(items: list[Any]) -> Shown | None:
    """The newest run among a job's items, with its curvatures; else the last one there was."""
    run = newest_run(items)
    last = st.session_state.get(LAST)
    if run is None or _too_soon(run, last):
        return last
    shown = last if last is not None and last.run is run else Shown(run, drawn=time.monotonic())
    for item in items:
        if isinstance(item, CurvatureAlong):
            shown.along[item.variant, item.member] = item
        if isinstance(item, FinalCurvature):
            shown.final[item.variant, item.member] = item
    st.session_state[LAST] = shown
    return shown


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
    return run is not None and (run.complete or run.divergence is not None)


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
