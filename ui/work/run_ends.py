"""Is a run of a page told to its end before one of its fragments runs again? Streamlit's, mended.

A script that has ended is told to the browser by the server's event loop, a moment later. When a
fragment's timer comes in between, Streamlit 1.67 (`AppSession.request_rerun`) starts another script
runner, and takes all that the one before has still to tell for that of a stranger: the page stays
half drawn, as if nobody had answered. The more visitors, the longer that moment. Here the fragment
waits for it.
"""

from __future__ import annotations

from functools import wraps

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

SECONDS = 0.01
TRIES = 300  # then it runs all the same


def mend(session: type[AppSession] = AppSession) -> None:
    """Let fragments of a ``session`` wait; twice is once."""
    original = session.request_rerun
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    def request_rerun(
        self: AppSession, client_state: ClientState | None, tries: int = TRIES
    ) -> None:
        if client_state is not None and client_state.fragment_id and tries and _untold(self):
            self._event_loop.call_later(SECONDS, request_rerun, self, client_state, tries - 1)
        else:
            original(self, client_state)

    session.request_rerun = request_rerun  # type: ignore[method-assign]


def _untold(session: AppSession) -> bool:
    """Whether a script runner has ended whose last events have not been handled."""
    runner = session._scriptrunner
    return runner is not None and runner._requests._state == ScriptRequestType.STOP
