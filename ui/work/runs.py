"""Training runs that pages show: started or continued in a job, cached for all visitors.

    job = runs.fetch("page", setting)
    shown = runs.shown_of("page", job)  # as far as it got by now

A run is trained, and measured if the page says how, as one job. Visitors who request the same
setting meanwhile share that run; a complete run is cached for all visitors of all pages, as the
same setting gives the same bits. The shipped runs are there from the start.

`CachedJobs` serves results that are there whole or not at all. A run is shown while it grows, goes
on from what its visitor has, and gains curvatures from several visitors: so this module has its own
`fetch`, on the same cache, jobs and buttons.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st

from gating_core.experiments.comparison import (
    COMPARISONS,
    PRESETS,
    CurvatureSummary,
    Setting,
    StrengthSweep,
    TrainedRun,
    load_measured,
    load_preset,
    load_sweep,
    train_further,
    train_setting,
)
from gating_core.training import TrainingDiverged
from ui.limits import RUNS_BYTES
from ui.work import jobs, pool
from ui.work.cache import Cache
from ui.work.job import State
from ui.work.shared import shared_stream

REDRAWN_SECONDS = 1.0  # a picture of several megabytes is not sent more often while it trains
CACHED_RUNS = Cache(RUNS_BYTES)  # complete runs by setting

_lock = threading.Lock()  # of what is added to them
_serials: WeakKeyDictionary[TrainedRun, int] = WeakKeyDictionary()
_counter = itertools.count()


@dataclass(frozen=True, eq=False)
class Shown:
    """A run as far as it got, with its curvatures by variant and member, and its sweep.

    Threads of other visitors read the same one, so it never changes: see `grown`.
    """

    run: TrainedRun
    along: Mapping[tuple[str, int], CurvatureSummary] = field(default_factory=dict)
    final: Mapping[tuple[str, int], CurvatureSummary] = field(default_factory=dict)
    sweep: StrengthSweep | None = None
    since: float = 0.0  # time.monotonic() of when it was first shown

    def __post_init__(self) -> None:
        for name in ("along", "final"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def grown(self, items: Iterable[Any]) -> Shown:
        """Return a copy with the measurements among ``items``; itself if none of them is new."""
        along, final, sweep = dict(self.along), dict(self.final), self.sweep
        for item in items:
            if isinstance(item, CurvatureSummary):
                by_member = final if item.at_end else along
                by_member[item.variant, item.member] = item
            elif isinstance(item, StrengthSweep):
                sweep = item
        if sweep is self.sweep and along == self.along and final == self.final:
            return self
        return replace(self, along=along, final=final, sweep=sweep)


def cached_run(setting: Setting) -> Shown | None:
    """Return the complete run of ``setting``, if it is cached or shipped."""
    with _lock:
        cached = CACHED_RUNS.find((setting,)).get(setting)
        if cached is None and (cached := _shipped(setting)) is not None:
            CACHED_RUNS.put(setting, cached)
        return cached


def _shipped(setting: Setting) -> Shown | None:
    for name in (name for name, shipped in PRESETS.items() if shipped == setting):
        return Shown(load_preset(name), sweep=load_sweep(name))
    for name in (name for name, shipped in COMPARISONS.items() if shipped == setting):
        measured = load_measured(name)
        return Shown(load_preset(name), measured.along, measured.final)
    return None


def _add_to_cache(shown: Shown) -> None:
    """Cache a complete run, with what other visitors have measured of the same run."""
    setting = shown.run.setting
    with _lock:
        cached = CACHED_RUNS.find((setting,)).get(setting)
        if cached is not None and cached.run is shown.run:
            shown = cached.grown([*shown.along.values(), *shown.final.values(), shown.sweep])
        if shown is not cached:
            CACHED_RUNS.put(setting, shown)


Measure = Callable[[Shown], Iterator[Any]]


def fetch(
    key: str,
    setting: Setting,
    measure: Measure = lambda shown: iter(()),
    lacks: Callable[[Shown], bool] = lambda shown: False,
) -> jobs.Job:
    """Return this session's job ``key`` that runs ``setting``: the current one, or a new one.

    After training, ``measure`` yields curvatures of the run, which `shown_of` collects. A job that
    is done is started again if its run ``lacks`` some; one that ended as the visitor left goes on;
    for one that they cancelled, or that failed, a button is drawn. Where nothing is left to do, the
    job is done already.
    """
    job = jobs.current(key)
    if job is not None:
        shown_of(key, job)  # into the session, before another job takes its place
    if job is None or job.about != setting or _starts_again(key, job, lacks):
        before = _begun(key, setting)
        if before is not None:
            st.session_state[last_key(key)] = before
            if before.run.setting == setting and before.run.ended and not lacks(before):
                return jobs.have(key, [before.run], about=setting)
        job = jobs.start(
            key,
            lambda: _work(setting, before, measure),
            about=setting,
            expected=(TrainingDiverged,),
            newest=(float, TrainedRun, StrengthSweep),
        )
    return job


def leave(key: str, setting: Setting) -> None:
    """Cancel the job ``key`` of this session if it runs another setting; keep its results."""
    job = jobs.current(key)
    if job is not None and job.about != setting:
        shown_of(key, job)
        job.cancel()


def _starts_again(key: str, job: jobs.Job, lacks: Callable[[Shown], bool]) -> bool:
    again = jobs.clicked_again(key)
    if job.state is State.DONE:
        shown = shown_of(key, job)
        return shown is not None and lacks(shown)
    if job.needs_click and not again:
        if job.state is State.FAILED:
            jobs.draw_again(key, "Try again", "restart_alt", "try_again")
        else:
            jobs.draw_again(key, "Go on", "play_arrow", "go_on", "From where it was stopped.")
    return jobs.starts_again(job, again)


def _begun(key: str, setting: Setting) -> Shown | None:
    """Return what there is of ``setting``: all of it, its beginning, or a run of fewer steps."""
    last = st.session_state.get(last_key(key))
    cached = cached_run(setting)
    if last is None or not last.run.frames or (cached and last.run.setting != setting):
        return cached
    run = last.run
    if run.setting == setting:
        return last
    same = replace(run.setting, steps=setting.steps) == setting
    return last if same and run.resumable and run.frames[-1].step <= setting.steps else None


def _work(setting: Setting, before: Shown | None, measure: Measure) -> Iterator[Any]:
    """Train as far as ``setting`` says, then measure: yield shares done, runs and curvatures."""
    run = before.run if before is not None else None
    events: Iterator[Any] = iter(())
    if run is None:
        events = shared_stream(train_setting, setting)
    else:
        if run.setting == setting:
            yield run
        steps = setting.steps - run.frames[-1].step
        if steps and run.divergence is None:
            events = shared_stream(train_further, run, steps)
    for event in events:
        run = event if isinstance(event, TrainedRun) else run
        yield event
    if run is not None and run.frames:
        same = before is not None and before.run is run
        yield from measure(before if before is not None and same else Shown(run))


def last_key(key: str) -> str:
    """Return the key of the session's state that holds what the job ``key`` last showed."""
    return f"{key}_last"


def shown_of(key: str, job: jobs.Job) -> Shown | None:
    """Return the newest run of the job ``key``, with its curvatures; else the last one shown."""
    items = job.items
    run = newest_run(items)
    last = st.session_state.get(last_key(key))
    if run is None or (not job.over and _too_soon(run, last)):
        return last
    shown = last if last is not None and last.run is run else Shown(run, since=time.monotonic())
    shown = shown.grown(items)
    st.session_state[last_key(key)] = shown
    if job.state is State.DONE and run.setting.own is None:
        _add_to_cache(shown)
    return shown


def newest_run(items: list[Any]) -> TrainedRun | None:
    """Return the run as far as it got, from a job's items."""
    return next((item for item in reversed(items) if isinstance(item, TrainedRun)), None)


def _too_soon(run: TrainedRun, last: Shown | None) -> bool:
    """Return whether ``last`` stays on the page though ``run`` is newer.

    It stays for `REDRAWN_SECONDS`, and longer while others wait for workers, if ``run`` continues
    it; and until ``run`` has got as far, if it could not be continued and is trained anew.
    """
    if last is None or last.run is run or run.ended:
        return False
    before, now = last.run.steps, run.steps
    same = replace(last.run.setting, steps=run.setting.steps) == run.setting
    if same and last.run.frames and now[-1] < before[-1]:
        return True
    grown = last.run.setting == run.setting and now[: len(before)].tolist() == before.tolist()
    return grown and (time.monotonic() - last.since < REDRAWN_SECONDS or pool.POOL.crowded)


def trained(items: list[Any]) -> bool:
    """Return whether training is over, so that the job measures."""
    run = newest_run(items)
    return run is not None and run.ended


def serial(run: TrainedRun) -> int:
    """Return a number of ``run`` that no other run ever gets, unlike an ``id``."""
    return _serials.setdefault(run, next(_counter))
