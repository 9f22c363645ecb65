"""How does a page start long work, show how it goes, and end it when the visitor leaves?

    if st.button("Train"):
        jobs.start("training", lambda: POOL.stream(train, config), expected=(TrainingDiverged,))
    job = jobs.current("training")
    if job is not None:
        jobs.watch(job, draw_snapshots, what="Training", share=lambda items: items[-1].done)

What runs knows no Streamlit and yields often, if only ``None`` (see `Job`); what takes time is
computed by a worker process (`ui.work.pool`). A session has one job
per key. Three things end it when the visitor leaves: a script run of another page (`arrive`), the
end of the browser's connection, and, should both go unnoticed, nobody having looked for long.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st

from ui.limits import DEPARTED_KEPT, PATIENCE_SECONDS, RETURN_SECONDS
from ui.work import pool
from ui.work.errors import reported
from ui.work.job import Job, State
from ui.work.pool import WorkerLost
from ui.work.semaphore import SCRIPTS

POLL_SECONDS = 0.25
QUIET_SECONDS = 1.0  # what takes no longer shows neither progress nor a Cancel button
QUEUE_POLL_SECONDS = 1.0  # thirty who wait must not slow down the two who compute
CROWD_POLL_SECONDS = 0.6  # nor those who look: how a job goes, while others wait for a worker

T = TypeVar("T")
Draw = Callable[[list[T]], None]
Share = Callable[[list[T]], float]

_lock = threading.Lock()
_departed: deque[Job] = deque()  # oldest first


@dataclass
class _Visit:
    """A connection of a browser: Streamlit releases it when that ends."""

    jobs: dict[str, tuple[Job, str]] = field(default_factory=dict)  # each with its page


def _depart(visit: _Visit) -> None:
    with _lock:
        for job, _ in list(visit.jobs.values()):  # its own thread may be adding one
            job.desert(RETURN_SECONDS)
            if job not in _departed:
                _departed.append(job)
        while len(_departed) > DEPARTED_KEPT:
            _departed.popleft().forget()


@st.cache_resource(scope="session", show_spinner=False, on_release=_depart)
def _visit() -> _Visit:
    return _Visit()


def _jobs() -> dict[str, tuple[Job, str]]:
    # They live with the session, which outlasts a connection that breaks and comes back.
    visit = _visit()
    visit.jobs = st.session_state.setdefault("_jobs", {})
    return visit.jobs


def _ask(job: Job) -> None:
    job.ask()
    with _lock:
        if job in _departed:
            _departed.remove(job)


def arrive(page: str) -> None:
    """Say which page this script run is; jobs of other pages are cancelled."""
    st.session_state["_page"] = page
    for job, home in _jobs().values():
        if home != page:
            job.cancel()


def start(
    key: str,
    make: Callable[[], Iterator[T | None]],
    *,
    about: object = None,
    expected: tuple[type[Exception], ...] = (),
    patience: float = PATIENCE_SECONDS,
    newest: tuple[type, ...] = (),
) -> Job[T]:
    """Start a job in place of the one called ``key``, if any; see `Job` for the arguments."""
    jobs = _jobs()
    if key in jobs:
        jobs[key][0].cancel()
    job = Job(
        make, kind=key, about=about, expected=(WorkerLost, *expected), patience=patience,
        newest=newest,
    ).start()  # fmt: skip
    jobs[key] = job, st.session_state.get("_page", "")
    return job


def have(key: str, items: list[T], about: object = None) -> Job[T]:
    """Put one that is done already, with these ``items``, in place of the job called ``key``."""
    jobs = _jobs()
    if key in jobs:
        jobs[key][0].cancel()
    job = Job.done(items, kind=key, about=about)
    jobs[key] = job, st.session_state.get("_page", "")
    return job


def current(key: str) -> Job[Any] | None:
    """The newest job called ``key``, running or over."""
    jobs = _jobs()
    if key not in jobs:
        return None
    job, _ = jobs[key]
    _ask(job)
    if job.forgotten:
        del jobs[key]
        return None
    return job


def watch(
    job: Job[T],
    draw: Draw[T],
    *,
    what: str | Callable[[list[T]], str],
    share: Share[T] | None = None,
    every: float = POLL_SECONDS,
    ends: bool = True,
) -> None:
    """Show how ``job`` goes and ``draw`` its items so far, again and again until it is over.

    This is a fragment: only it runs again while the job does; the whole page once when the job's
    turn comes after a wait, when ``what`` changes, and at the end. ``draw`` hears an empty list
    before the first item. ``what`` opens its sentences ("Training"), or says from the items what
    does; ``share`` tells from them, which are one at least, how much is done. Unless it ``ends``
    with a word about a job that was cancelled or failed, that is the page's: `draw_end`.
    """
    name = (lambda items: what) if isinstance(what, str) else what
    phase = _phase(job, name)
    # Only a run of the whole page changes the interval of a fragment, or stops its timer.
    busy = max(every, CROWD_POLL_SECONDS) if pool.POOL.crowded else every
    seconds = {"queued": max(every, QUEUE_POLL_SECONDS), "over": None}.get(phase, busy)
    st.fragment(_look, run_every=seconds)(job, draw, name, share, phase, ends)


def _phase(job: Job[T], name: Callable[[list[T]], str]) -> str:
    if job.over:
        return "over"
    waits = job.state is State.WAITING and job.position
    return "queued" if waits else f"busy {name(job.items)}"


def _look(
    job: Job[T],
    draw: Draw[T],
    what: Callable[[list[T]], str],
    share: Share[T] | None,
    phase: str,
    ends: bool,
) -> None:
    with SCRIPTS.acquired():
        _jobs()
        _ask(job)
        if _phase(job, what) != phase:
            st.rerun()
        items = job.items
        name = what(items)
        with st.container():  # always there: a picture whose place in the page shifts is made anew
            if job.over:
                if ends:
                    draw_end(job, name, items)
            elif phase == "queued" or job.elapsed >= QUIET_SECONDS:
                _draw_progress(job, name, share and (share(items) if items else 0.0))
        with reported(name):
            draw(items)


def _draw_progress(job: Job, what: str, share: float | None) -> None:
    text = f"{what} … {job.elapsed:.0f} s"
    if position := job.position:
        begun = f" after {job.elapsed:.0f} s" if job.elapsed else ""
        text = f"{what}: waiting{begun} for a free place, number {position} in the queue"
    with st.container(horizontal=True, vertical_alignment="center", key=_dock_of(job)):
        if share is None:
            st.markdown(text)
        else:
            st.progress(min(max(share, 0.0), 1.0), text=text)
        st.button(
            "Stopping …" if job.stopping else "Cancel",
            key=f"cancel {what}",
            on_click=job.cancel,
            args=(True,),
            disabled=job.stopping,
        )


def _dock_of(job: Job) -> str:
    """Key of its place in the dock at the foot of the window: progress moves nothing on the page.

    No other job has this key, even where one that stood below ends while a page is drawn.
    """
    going = [each for each, _ in _jobs().values() if not each.over]
    return f"dock-{going.index(job) if job in going else len(going)}-{job.id}"


def draw_end(job: Job, what: str, items: list) -> None:
    """Say of a job that it was cancelled or failed, and what there is of it: ``items``."""
    text = end_text(job, what, items)
    if text:
        (st.error if job.state is State.FAILED else st.info)(text)


def share_of(items: list[Any]) -> float:
    """How much is done, where floats among the items say so."""
    return next((item for item in reversed(items) if isinstance(item, float)), 0.0)


def end_text(job: Job, what: str, items: list, where: str = "") -> str:
    """What is said of a job that was cancelled or failed, perhaps ``where``; nothing of others."""
    kept = "What it had by then is kept." if items else "There was nothing to show yet."
    if job.state is State.CANCELLED and not job.elapsed:
        return f"{what} was cancelled before its turn came."
    if job.state is State.CANCELLED:
        return f"{what} was cancelled after {job.elapsed:.0f} s{where}. {kept}"
    if job.state is State.FAILED:
        return f"{what} failed: {job.trouble}. {kept}"
    return ""
