"""The end of a page run that was stopped while it waits: once nobody needs what it makes.

Streamlit 1.67 stops a run, because the visitor has moved a control or has left, at its next call of
Streamlit. A run that waits for a worker makes none: it would wait to the end, and its task would
stand in the queue before those of visitors who still look. So whoever waits calls `end_if_stopped`
again and again.

Others may wait for what a run makes: it declares that with `making`, and goes on while they do. It
also goes on for a moment, as the run that takes its place often requests the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

POLL_SECONDS = 0.1  # between two checks whether the run was stopped
AGAIN_SECONDS = 0.5  # for the next run of the same visitor to request the same


class _Own(threading.local):
    """State of the run in this thread."""

    def __init__(self) -> None:
        self.needed: list[
            Callable[[], bool]
        ] = []  # for each thing that it makes, the outermost first
        self.since: float | None = None  # time.monotonic() of when it was first useless


_own = _Own()


@contextmanager
def making(needed: Callable[[], bool]) -> Iterator[None]:
    """Declare that something is made within; ``needed`` says whether others wait for it."""
    _own.needed.append(needed)
    try:
        yield
    finally:
        _own.needed.pop()


def end_if_stopped() -> None:
    """End the run of a page in this thread if it was stopped and nobody needs what it makes.

    Other threads, such as those of jobs, are not affected.
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
