"""Long work of a page: started, shown, and ended when the visitor leaves.

    if st.button("Train"):
        jobs.start("training", lambda: POOL.stream(train, config), expected=(TrainingDiverged,))
    job = jobs.current("training")
    if job is not None:
        jobs.watch(job, draw_snapshots, what="Training", share=lambda items: items[-1].done)

A job's generator calls no Streamlit and yields often, if only ``None`` (see `Job`); worker
processes compute (`ui.work.pool`). A session has one job per key. It ends when a script of another
page runs (`arrive`), and a moment after the browser's connection has ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from math import inf
from typing import Any, TypeVar

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.limits import RETURN_SECONDS
from ui.work import pool
from ui.work.errors import reported
from ui.work.job import Job, State
from ui.work.pool import WorkerLost
from ui.work.semaphore import SCRIPTS

POLL_SECONDS = 0.25
QUIET_SECONDS = 1.0  # a shorter job shows neither progress nor a Cancel button
QUEUE_POLL_SECONDS = 1.0  # of a job that waits for a worker
CROWD_POLL_SECONDS = 0.6  # of a job that runs while others wait for a worker

T = TypeVar("T")
Draw = Callable[[list[T]], None]
Share = Callable[[list[T]], float]


def _jobs() -> dict[str, tuple[Job, str]]:
    """Return the session's jobs by name, each with its page."""
    # They belong to the session, which outlasts a connection that breaks and comes back.
    jobs: dict[str, tuple[Job, str]] = st.session_state.setdefault("_jobs", {})
    return jobs


def _presence() -> Callable[[], bool]:
    """Return what says whether this session's browser is connected, or was a moment ago."""
    context = get_script_run_ctx(suppress_warning=True)
    if not runtime.exists() or context is None:
        return lambda: True
    server, session, gone = runtime.get_instance(), context.session_id, inf  # time.monotonic()

    def is_there() -> bool:
        nonlocal gone
        now = time.monotonic()
        gone = inf if server.is_active_session(session) else min(gone, now)
        return now - gone < RETURN_SECONDS

    return is_there


def arrive(page: str) -> None:
    """Note which page this script run draws, and cancel the jobs of other pages."""
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
    newest: tuple[type, ...] = (),
) -> Job[T]:
    """Start a job in place of the one called ``key``, if any. Arguments: see `Job`."""
    return _put(
        key,
        Job(
            make,
            kind=key,
            about=about,
            expected=(WorkerLost, *expected),
            wanted=_presence(),
            newest=newest,
        ),
    ).start()


def have(key: str, items: list[T], about: object = None) -> Job[T]:
    """Put a job that is done already, with these ``items``, in place of the one called ``key``."""
    return _put(key, Job.done(items, kind=key, about=about))


def _put(key: str, job: Job[T]) -> Job[T]:
    jobs = _jobs()
    if key in jobs:
        jobs[key][0].cancel()
    jobs[key] = job, st.session_state.get("_page", "")
    return job


def current(key: str) -> Job[Any] | None:
    """Return the newest job called ``key``, running or over."""
    job, _ = _jobs().get(key, (None, ""))
    return None if job is None or job.forgotten else job


def watch(
    job: Job[T],
    draw: Draw[T],
    *,
    what: str | Callable[[list[T]], str],
    share: Share[T] | None = None,
) -> None:
    """Show how far ``job`` is and ``draw`` its items so far, until it is over.

    This is a fragment: while the job runs, only the fragment is run again. The whole page is run
    once when the job gets its worker, when ``what`` changes, and at the end.

    ``draw`` is called with an empty list before the first item. ``what`` begins the sentences
    ("Training"), or is a function of the items. ``share`` returns from at least one item the share
    done, 0 to 1. How the job was cancelled or failed the page says: it calls `draw_end`.
    """
    name = (lambda items: what) if isinstance(what, str) else what
    phase = _phase(job, name)
    # Only a run of the whole page changes the interval of a fragment, or stops its timer.
    busy = CROWD_POLL_SECONDS if pool.POOL.crowded else POLL_SECONDS
    seconds = {"queued": QUEUE_POLL_SECONDS, "over": None}.get(phase, busy)
    st.fragment(_draw, run_every=seconds)(job, draw, name, share, phase)


def _phase(job: Job[T], name: Callable[[list[T]], str]) -> str:
    if job.over:
        return "over"
    waits = job.state is State.WAITING and job.waiting
    return "queued" if waits else f"busy {name(job.items)}"


def _draw(
    job: Job[T],
    draw: Draw[T],
    what: Callable[[list[T]], str],
    share: Share[T] | None,
    phase: str,
) -> None:
    with SCRIPTS.acquired():
        if _phase(job, what) != phase:
            st.rerun()
        items = job.items
        name = what(items)
        with st.container():  # always there: else the picture below would be created anew
            if not job.over and (phase == "queued" or job.elapsed >= QUIET_SECONDS):
                _draw_progress(job, name, share and (share(items) if items else 0.0))
        with reported(name):
            draw(items)


def _draw_progress(job: Job, what: str, share: float | None) -> None:
    text = f"{what} … {job.elapsed:.0f} s"
    if job.waiting:
        begun = f" after {job.elapsed:.0f} s" if job.elapsed else ""
        text = f"{what}: waiting{begun} for a free worker"
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
    """Return the key of the job's container at the foot of the window, where it moves no picture.

    The key is unique, even if another job ends while the page is drawn.
    """
    going = [each for each, _ in _jobs().values() if not each.over]
    return f"dock-{going.index(job) if job in going else len(going)}-{job.id}"


def dock(key: str, about: object) -> AbstractContextManager[object]:
    """Return a container at the foot of the window for the end of the job ``key``.

    It is for the sentence on how the job ended and for the button that starts it again: they stand
    where its progress stood and move no picture. While the job needs no click, or is not ``about``
    this, whatever is drawn within stands where it is called.

        with jobs.dock("training", config):
            job = fetch(config)
            jobs.draw_end(job, "Training", job.items)
    """
    job = current(key)
    clicked = st.session_state.get(_again(key), False)
    if job is None or job.about != about or clicked or not job.needs_click:
        return nullcontext()
    return st.container(horizontal=True, vertical_alignment="center", key=f"dock-ended-{key}")


def draw_again(key: str, label: str, icon: str, button: str, hint: str | None = None) -> None:
    """Draw the button, with the key ``button``, that starts the job ``key`` again."""
    st.button(
        label,
        icon=f":material/{icon}:",
        key=button,
        help=hint,
        on_click=st.session_state.update,
        args=({_again(key): True},),
    )


def clicked_again(key: str) -> bool:
    """Return whether the visitor has clicked that button; a click counts once."""
    return st.session_state.pop(_again(key), False)


def starts_again(job: Job, clicked: bool) -> bool:
    """Return whether a job that is over starts again, by itself or as the visitor ``clicked``."""
    return job.over and (clicked or not job.needs_click)


def _again(key: str) -> str:
    return f"{key}_again"


def draw_end(job: Job, what: str, items: list) -> None:
    """Draw the sentence about a job that was cancelled or failed; ``items`` are what it made."""
    if text := end_text(job, what, items):
        (st.error if job.state is State.FAILED else st.info)(text)


def share_of(items: list[Any]) -> float:
    """Return the share done: the last float among the items."""
    return next((item for item in reversed(items) if isinstance(item, float)), 0.0)


def end_text(job: Job, what: str, items: list, where: str = "") -> str:
    """Return the sentence about a job that was cancelled, perhaps ``where``, or failed."""
    remark = "Results so far are kept." if items else "There are no results yet."
    if job.state is State.FAILED:
        return f"{what} failed: {job.error_text}. {remark}"
    if job.state is not State.CANCELLED:
        return ""
    if not job.elapsed:
        return f"{what} was cancelled before it began."
    return f"{what} was cancelled after {job.elapsed:.0f} s{where}. {remark}"
