"""Corrections of four errors of Streamlit 1.67 in the order of script runs and their messages.

A stopped run changes the page (`_fix_stopped_runs`). When a visitor moves a control just as a
fragment's timer has begun a run, Streamlit stops that run and starts another beside it. Each writes
controls (`SafeSessionState.on_script_will_rerun`) and the link (`ScriptRunContext.reset`) into the
session. The stopped run checks whether it was stopped a moment before, or not at all, so it may
write last, and the page shows the state before the move. Here checking and writing are one step,
under a lock that all runs of a session share, and a stopped run writes nothing.

A page stays half drawn (`_fix_early_fragments`). The server's event loop handles the last events of
a script a moment after its end. When a fragment's timer comes in between, Streamlit
(`AppSession.request_rerun`) starts another script runner and ignores those events. Here the
fragment waits for them.

A change is taken back (`_fix_timers`). A fragment's timer sends the browser's link and controls.
What it sends before the browser knows what a callback has changed may be handled after that
callback: Streamlit then writes the old link and controls into the session, and an uploaded table,
for example, is lost. Here the run of a timer writes nothing: what a visitor changes has come with
an earlier message (or with one that Streamlit has joined with the timer's: `_fix_joined_requests`).
A timer's message also names the page that the browser shows, which a click has perhaps just left.
Streamlit joins the two to a run of the old page, and the click is lost. Here the click's page,
link and controls stay. A timer that comes while the new page is drawn runs after it, finds its
fragment gone, and has yet told the session that the old page is shown, which drops the controls of
the new one. Here a run of fragments that are all gone does nothing.

An element is lost (`_fix_queue`). A fragment that begins removes from the queue what it drew before
(`AppSession._clear_queue`), but not the message that the page is finished, at which browsers remove
what they did not get. Here what belongs to a finished page is sent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import (
    RerunData,
    ScriptRequests,
    ScriptRequestType,
)
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state import SafeSessionState, SessionState

LOCK = "_gating_lock"
SECONDS = 0.01
TRIES = 300  # then the fragment runs in any case


def apply(session: type[AppSession] = AppSession) -> None:
    """Apply all corrections; a second call does nothing."""
    if not hasattr(SafeSessionState.on_script_will_rerun, "__wrapped__"):
        _fix_stopped_runs()
        _fix_joined_requests()
        _fix_timers(ScriptRunner)
    if not hasattr(session.request_rerun, "__wrapped__"):
        _fix_early_fragments(session)
        _fix_queue(session)


def _fix_stopped_runs() -> None:
    make, write = SafeSessionState.__init__, SafeSessionState.on_script_will_rerun
    reset = ScriptRunContext.reset

    @wraps(make)
    def with_shared_lock(
        self: SafeSessionState, state: SessionState, yield_callback: Callable[[], None]
    ) -> None:
        make(self, state, yield_callback)
        shared = vars(state.query_params).setdefault(LOCK, threading.RLock())
        object.__setattr__(self, "_lock", shared)

    @wraps(write)
    def write_controls(self: SafeSessionState, *arguments: Any, **more: Any) -> None:
        with self._lock:
            write(self, *arguments, **more)

    @wraps(reset)
    def write_link(
        self: ScriptRunContext, query_string: str = "", *arguments: Any, **more: Any
    ) -> None:
        requests = self.script_requests
        with self.session_state._lock:
            if requests is not None and requests._state == ScriptRequestType.STOP:
                query_string = _link_of(self.session_state)
            reset(self, query_string, *arguments, **more)

    SafeSessionState.__init__ = with_shared_lock  # type: ignore[method-assign]
    SafeSessionState.on_script_will_rerun = write_controls  # type: ignore[method-assign]
    ScriptRunContext.reset = write_link  # type: ignore[method-assign]


def _link_of(state: SafeSessionState) -> str:
    """The link as the session has it."""
    with state.query_params() as link:
        return urlencode(link._query_params, doseq=True)


def _fix_joined_requests() -> None:
    request = ScriptRequests._request_rerun_locked

    @wraps(request)
    def request_rerun(self: ScriptRequests, new_data: RerunData) -> bool:
        pending = self._rerun_data if self._state == ScriptRequestType.RERUN else None
        accepted = request(self, new_data)
        if pending is not None and not pending.is_auto_rerun:  # both are one request now
            clicked = pending if new_data.is_auto_rerun else self._rerun_data
            self._rerun_data = replace(
                self._rerun_data, is_auto_rerun=False, query_string=clicked.query_string,
                widget_states=clicked.widget_states, page_script_hash=clicked.page_script_hash,
                page_name=clicked.page_name,
            )  # fmt: skip
        return accepted

    ScriptRequests._request_rerun_locked = request_rerun  # type: ignore[method-assign]


def _fix_timers(runner: type[ScriptRunner]) -> None:
    run = runner._run_script

    @wraps(run)
    def run_script(self: ScriptRunner, rerun_data: RerunData) -> None:
        if rerun_data.fragment_id_queue and rerun_data.is_auto_rerun:
            if not any(map(self._fragment_storage.contains, rerun_data.fragment_id_queue)):
                return
            link = _link_of(self._session_state)
            rerun_data = replace(rerun_data, query_string=link, widget_states=None)
        run(self, rerun_data)

    runner._run_script = run_script  # type: ignore[method-assign]


def _fix_early_fragments(session: type[AppSession]) -> None:
    original = session.request_rerun

    @wraps(original)
    def request_rerun(self: AppSession, client_state: ClientState | None) -> None:
        waiting = _waiting(self)
        if client_state is not None and client_state.fragment_id:
            waiting.append(client_state)
            if len(waiting) == 1:
                go_on(self, TRIES)
            return
        # The whole page draws what timers wait for; a click must be handled before that.
        clicks = [each for each in waiting if not each.is_auto_rerun]
        waiting.clear()
        for each in clicks:
            original(self, each)
        original(self, client_state)

    def go_on(self: AppSession, tries: int) -> None:
        if tries and _has_unhandled_events(self):
            self._event_loop.call_later(SECONDS, go_on, self, tries - 1)
            return
        due = [*_waiting(self)]
        _waiting(self).clear()
        for each in due:
            original(self, each)

    session.request_rerun = request_rerun  # type: ignore[method-assign]


def _waiting(session: AppSession) -> list[ClientState]:
    """Requests of fragments since the last run of the ``session`` ended."""
    return vars(session).setdefault("_gating_waiting", [])


def _has_unhandled_events(session: AppSession) -> bool:
    runner = session._scriptrunner
    return runner is not None and runner._requests._state == ScriptRequestType.STOP


def _fix_queue(session: type[AppSession]) -> None:
    original = session._clear_queue

    @wraps(original)
    def clear_queue(self: AppSession, fragment_ids_this_run: list[str] | None = None) -> None:
        queue = self._browser_queue
        finished = _finished_length(queue._queue) if fragment_ids_this_run else 0
        page = queue._queue[:finished]
        queue._queue = queue._queue[finished:]
        original(self, fragment_ids_this_run)
        queue._queue[:0] = page

    session._clear_queue = clear_queue  # type: ignore[method-assign]


def _finished_length(messages: list[ForwardMsg]) -> int:
    """Count the ``messages`` up to the last one that says that the whole page is drawn."""
    ends = (m.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
            and m.WhichOneof("type") == "script_finished" for m in reversed(messages))  # fmt: skip
    return len(messages) - next((i for i, end in enumerate(ends) if end), len(messages))
