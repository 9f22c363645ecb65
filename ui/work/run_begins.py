"""Does a run that was stopped as it began leave alone what the page goes by? Streamlit's, mended.

When a visitor moves a control in the moment in which a fragment's timer has begun a run, Streamlit
1.67 stops that one and starts another beside it. Each tells the session what the browser has said:
controls (`SafeSessionState.on_script_will_rerun`) and the link (`ScriptRunContext.reset`). The one
that was stopped looks for that a moment before, or not at all, and may come last: the page is drawn
as it was before the move, and stays so. Here looking and telling are one step, under a lock that
all runs of a session share, and a stopped run tells nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state import SafeSessionState, SessionState

LOCK = "_gating_lock"


def mend() -> None:
    """Let all runs of a session tell it one after the other; twice is once."""
    if hasattr(SafeSessionState.on_script_will_rerun, "__wrapped__"):
        return
    make, tell = SafeSessionState.__init__, SafeSessionState.on_script_will_rerun
    reset = ScriptRunContext.reset

    @wraps(make)
    def with_shared_lock(
        self: SafeSessionState, state: SessionState, yield_callback: Callable[[], None]
    ) -> None:
        make(self, state, yield_callback)
        shared = vars(state.query_params).setdefault(LOCK, threading.RLock())
        object.__setattr__(self, "_lock", shared)

    @wraps(tell)
    def tell_controls(self: SafeSessionState, *said: Any, **more: Any) -> None:
        with self._lock:
            tell(self, *said, **more)

    @wraps(reset)
    def tell_link(self: ScriptRunContext, query_string: str = "", *said: Any, **more: Any) -> None:
        requests = self.script_requests
        with self.session_state._lock:
            if requests is not None and requests._state == ScriptRequestType.STOP:
                with self.session_state.query_params() as link:
                    query_string = urlencode(link._query_params, doseq=True)
            reset(self, query_string, *said, **more)

    SafeSessionState.__init__ = with_shared_lock  # type: ignore[method-assign]
    SafeSessionState.on_script_will_rerun = tell_controls  # type: ignore[method-assign]
    ScriptRunContext.reset = tell_link  # type: ignore[method-assign]
