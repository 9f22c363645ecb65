"""Which runs are known already, and how does a page get the one that its visitor asks for?

    job = runs.fetch("page", setting)
    shown = runs.shown_of("page", job)  # as far as it got by now

A run is trained, and measured if the page says how, as one job. Whoever asks for the same setting
meanwhile is shown the same run, and a complete one is kept for all visitors of all pages: the same
setting gives the same bits. The shipped ones are known from the beginning.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

import cachetools
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
from ui.work.job import State
from ui.work.shared import shared_stream

REDRAWN_SECONDS = 1.0  # a picture of several megabytes is not sent more often while it trains

_lock = threading.Lock()  # of what is known, which all visitors share
_serials: WeakKeyDictionary[TrainedRun, int] = WeakKeyDictionary()
_counter = itertools.count()


@dataclass(frozen=True, eq=False)
class Shown:
    """A run as far as it got, and what was measured: curvatures by variant and member, a sweep.

    Other visitors' threads read the same one: it never changes, and what is measured later stands
    in a new one. (A lock would have to be held for as long as anybody draws.)
    """

    run: TrainedRun
    along: Mapping[tuple[str, int], CurvatureSummary] = field(default_factory=dict)
    final: Mapping[tuple[str, int], CurvatureSummary] = field(default_factory=dict)
    sweep: StrengthSweep | None = None
    drawn: float = 0.0  # time.monotonic() of when it came to be shown

    def __post_init__(self) -> None:
        for name in ("along", "final"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def grown(self, items: Iterable[Any]) -> Shown:
        """Add what ``items`` have measured of its run; itself where nothing of that is new."""
        along, final, sweep = dict(self.along), dict(self.final), self.sweep
        for item in items:
            if isinstance(item, CurvatureSummary):
                place = final if item.at_end else along
                place[item.variant, item.member] = item
            elif isinstance(item, StrengthSweep):
                sweep = item
        if sweep is self.sweep and _same(along, self.along) and _same(final, self.final):
            return self
        return replace(self, along=along, final=final, sweep=sweep)


def _same(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> bool:
    """Whether both hold the same objects."""
    return one.keys() == other.keys() and all(one[key] is other[key] for key in one)


def _size(shown: Shown) -> int:
    """Bytes of a run's weights and data and of its fields of curvature."""
    snapshots = [x for frame in shown.run.frames for x in frame.snapshots.values()]
    arrays = [array for snapshot in snapshots for array in snapshot.state.values()]
    arrays += [shown.run.task.train_points, shown.run.task.test_points]
    arrays += [found.known for found in shown.along.values() if found.known is not None]
    return sum(array.nbytes for array in arrays)


_known: cachetools.LRUCache[Setting, Shown] = cachetools.LRUCache(RUNS_BYTES, _size)


def known(setting: Setting) -> Shown | None:
    """The complete run of ``setting``, if it is there already."""
    with _lock:
        found = _known.get(setting)
        if found is None and (found := _shipped(setting)) is not None:
            _known[setting] = found
        return found


def _shipped(setting: Setting) -> Shown | None:
    """The run of ``setting``, with what is measured of it, if it comes with the app."""
    for name in (name for name, shipped in PRESETS.items() if shipped == setting):
        return Shown(load_preset(name), sweep=load_sweep(name))
    for name in (name for name, shipped in COMPARISONS.items() if shipped == setting):
        measured = load_measured(name)
        return Shown(load_preset(name), measured.along, measured.final)
    return None


def _remember(shown: Shown) -> None:
    """Let all visitors have it, with what others have measured of the same run meanwhile."""
    with _lock, contextlib.suppress(ValueError):  # one that is larger than all that is kept
        there = _known.get(shown.run.setting)
        if there is not None and there.run is shown.run:
            shown = there.grown([*shown.along.values(), *shown.final.values(), shown.sweep])
        _known[shown.run.setting] = shown


Measure = Callable[[Shown], Iterator[Any]]


def fetch(
    key: str,
    setting: Setting,
    measure: Measure = lambda shown: iter(()),
    lacks: Callable[[Shown], bool] = lambda shown: False,
) -> jobs.Job:
    """The job ``key`` of this session that runs ``setting``: the current one, or a new one.

    Once trained, a run is measured by ``measure``, whose curvatures `shown_of` collects. Where all
    is there already, nothing is started. A job that is done is started again if its run ``lacks``
    something; one that the visitor's leaving has stopped goes on; one that they cancelled waits for
    a click.
    """
    job = jobs.current(key)
    if job is not None:
        shown_of(key, job)  # what it has by now, before it gives way to another
    if job is None or job.about != setting or _goes_on(key, job, lacks):
        before = _begun(key, setting)
        if before is not None:
            st.session_state[last_key(key)] = before
            if before.run.setting == setting and before.run.ended and not lacks(before):
                return jobs.have(key, [before.run], about=setting)
        job = jobs.start(
            key, lambda: _work(setting, before, measure), about=setting,
            expected=(TrainingDiverged,), newest=(float, TrainedRun, StrengthSweep),
        )  # fmt: skip
    return job


def leave(key: str, setting: Setting) -> None:
    """Stop the job ``key`` of this session if it runs another setting; keep what it has."""
    job = jobs.current(key)
    if job is not None and job.about != setting:
        shown_of(key, job)
        job.cancel()


def _goes_on(key: str, job: jobs.Job, lacks: Callable[[Shown], bool]) -> bool:
    asked = st.session_state.pop(f"{key}_go_on", False)
    if job.state is State.DONE:
        shown = shown_of(key, job)
        return shown is not None and lacks(shown)
    if job.state is State.CANCELLED and not (asked or not job.declined):
        st.button("Go on", icon=":material/play_arrow:", key="go_on", on_click=_go_on,
                  args=(key,), help="From where it was stopped.")  # fmt: skip
    elif job.state is State.FAILED and not asked:
        st.button("Try again", icon=":material/restart_alt:", key="try_again", on_click=_go_on,
                  args=(key,))  # fmt: skip
    else:
        return job.over
    return False


def waits_for_a_click(key: str, job: jobs.Job) -> bool:
    """Whether the job ``key`` was stopped by its visitor or has failed, and nobody goes on."""
    stopped = job.state is State.FAILED or (job.state is State.CANCELLED and job.declined)
    return stopped and not st.session_state.get(f"{key}_go_on", False)


def _go_on(key: str) -> None:
    st.session_state[f"{key}_go_on"] = True


def _begun(key: str, setting: Setting) -> Shown | None:
    """What there is of ``setting`` already: all of it, its beginning, or a run that was shorter."""
    last = st.session_state.get(last_key(key))
    found = known(setting)
    if last is None or not last.run.frames or (found and last.run.setting != setting):
        return found
    run = last.run
    if run.setting == setting:
        return last
    same = replace(run.setting, steps=setting.steps) == setting
    return last if same and run.resumable and run.frames[-1].step <= setting.steps else None


def _work(setting: Setting, before: Shown | None, measure: Measure) -> Iterator[Any]:
    """Train as far as ``setting`` says, then measure: shares done, runs, and curvatures."""
    run: TrainedRun | None = None
    events: Iterator[Any]
    if before is None:
        events = shared_stream(train_setting, setting)
    else:
        run = before.run
        if run.setting == setting:  # a shorter one is complete, and this is not
            yield run
        done = run.divergence is not None or run.frames[-1].step == setting.steps
        more = setting.steps - run.frames[-1].step
        events = iter(()) if done else shared_stream(train_further, run, more)
    for event in events:
        run = event if isinstance(event, TrainedRun) else run
        yield event
    if run is not None and run.frames:
        same = before is not None and before.run is run
        yield from measure(before if before is not None and same else Shown(run))


def last_key(key: str) -> str:
    """Under which a session keeps what the job ``key`` had when it was last looked at."""
    return f"{key}_last"


def shown_of(key: str, job: jobs.Job) -> Shown | None:
    """The newest run of the job ``key``, with its curvatures; else the last one there was."""
    items = job.items
    run = newest_run(items)
    last = st.session_state.get(last_key(key))
    if run is None or (not job.over and _too_soon(run, last)):
        return last
    shown = last if last is not None and last.run is run else Shown(run, drawn=time.monotonic())
    shown = shown.grown(items)
    st.session_state[last_key(key)] = shown
    if job.state is State.DONE and run.setting.own is None:
        _remember(shown)
    return shown


def newest_run(items: list[Any]) -> TrainedRun | None:
    """The run as far as it got, among a job's items."""
    return next((item for item in reversed(items) if isinstance(item, TrainedRun)), None)


def _too_soon(run: TrainedRun, last: Shown | None) -> bool:
    """Whether ``run`` is a later moment of what is shown, and others need the workers more.

    Or one that is there already: what cannot be trained further, as from a file, begins anew.
    """
    if last is None or last.run is run or run.ended:
        return False
    same = replace(last.run.setting, steps=run.setting.steps) == run.setting
    if same and last.run.frames and run.steps[-1] < last.run.steps[-1]:
        return True
    before, now = last.run.steps, run.steps
    grown = last.run.setting == run.setting and now[: len(before)].tolist() == before.tolist()
    lately = time.monotonic() - last.drawn < REDRAWN_SECONDS
    return grown and (lately or pool.POOL.crowded)


def trained(items: list[Any]) -> bool:
    """Whether the training is done, and the rest is measuring."""
    run = newest_run(items)
    return run is not None and run.ended


def serial(run: TrainedRun) -> int:
    """A number for ``run`` that no other ever gets: an ``id`` is used again once a run is gone."""
    return _serials.setdefault(run, next(_counter))
