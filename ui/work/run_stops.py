"""When does a run of a page end that was stopped while it waits? Once nobody needs what it makes.

Streamlit 1.67 stops a run, since the visitor has moved a control or has left, at the next thing
that it draws or looks up. One that waits for a worker does neither: it would wait to the end, and
what it asked for would stand in the queue before all that somebody still looks at. So whoever
waits calls `end_if_stopped` again and again.

What one run makes, others may wait for: it says so by `making`, and goes on while they do. It also
goes on for a moment, as the run that takes its place often asks for the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

POLL_SECONDS = 0.1  # whoever waits looks that often whether it was stopped
AGAIN_SECONDS = 0.5  # for the next run of the same visitor to come to the same place


class _Own(threading.local):
    """What is known of the run in this thread."""

    def __init__(self) -> None:
        self.needed: list[Callable[[], bool]] = []  # of all that it makes, the outermost first
        self.since: float | None = None  # time.monotonic() of when it was first seen to be useless


_own = _Own()


@contextmanager
def making(needed: Callable[[], bool]) -> Iterator[None]:
    """Make something within, which somebody else waits for as long as it is ``needed``."""
    _own.needed.append(needed)
    try:
        yield
    finally:
        _own.needed.pop()


def end_if_stopped() -> None:
    """End the run of a page in this thread if it was stopped and nobody needs what it makes.

    Other threads, those of jobs among them, are left alone.
    """
    if not _stopped() or any(needed() for needed in _own.needed):
        _own.since = None
        return
    now = time.monotonic()
    if _own.since is None:
        _own.since = now
    if now - _own.since >= AGAIN_SECONDS:
        st.stop()


def _stopped() -> bool:
    """Whether another run has taken this one's place, or the visitor has gone."""
    context = get_script_run_ctx(suppress_warning=True)
    requests = context.script_requests if context is not None else None
    return requests is not None and requests._state == ScriptRequestType.STOP
