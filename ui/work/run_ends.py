"""Is a run of a page told to its end before one of its fragments runs again? Streamlit's, mended.

A script that has ended is told to the browser by the server's event loop, a moment later. When a
fragment's timer comes in between, Streamlit 1.67 (`AppSession.request_rerun`) starts another script
runner, and takes all that the one before has still to tell for that of a stranger: the page stays
half drawn, as if nobody had answered. The more visitors, the longer that moment. Here the fragment
waits for it.

What has been told, but not sent, is another loss: a fragment that begins takes back what it drew
before (`AppSession._clear_queue`), but not the word that the page is finished, upon which browsers
remove what they did not get. Here what belongs to a finished page is sent.
"""

from __future__ import annotations

from functools import wraps

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

SECONDS = 0.01
TRIES = 300  # then it runs all the same


def mend(session: type[AppSession] = AppSession) -> None:
    """Let fragments of a ``session`` wait, and nothing overtake them; twice is once."""
    original = session.request_rerun
    if hasattr(original, "__wrapped__"):
        return
    _mend_queue(session)

    @wraps(original)
    def request_rerun(self: AppSession, client_state: ClientState | None) -> None:
        waiting = _waiting(self)
        if client_state is not None and client_state.fragment_id:
            waiting.append(client_state)
            if len(waiting) == 1:
                go_on(self, TRIES)
            return
        # The whole page draws what timers wait for; a click must have been heard before that.
        clicks = [each for each in waiting if not each.is_auto_rerun]
        waiting.clear()
        for each in clicks:
            original(self, each)
        original(self, client_state)

    def go_on(self: AppSession, tries: int) -> None:
        if tries and _untold(self):
            self._event_loop.call_later(SECONDS, go_on, self, tries - 1)
            return
        due = [*_waiting(self)]
        _waiting(self).clear()
        for each in due:
            original(self, each)

    session.request_rerun = request_rerun  # type: ignore[method-assign]


def _mend_queue(session: type[AppSession]) -> None:
    """Let what a ``session`` has to say of a finished page be sent, whoever runs next of it."""
    original = session._clear_queue

    @wraps(original)
    def clear_queue(self: AppSession, fragment_ids_this_run: list[str] | None = None) -> None:
        queue = self._browser_queue
        finished = _place_of_finish(queue._queue) if fragment_ids_this_run else 0
        page = queue._queue[:finished]
        queue._queue = queue._queue[finished:]
        original(self, fragment_ids_this_run)
        queue._queue[:0] = page

    session._clear_queue = clear_queue  # type: ignore[method-assign]


def _place_of_finish(messages: list[ForwardMsg]) -> int:
    """How many of the ``messages`` come up to the last that says that the whole page is drawn."""
    ends = (m.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
            and m.WhichOneof("type") == "script_finished" for m in reversed(messages))  # fmt: skip
    return len(messages) - next((place for place, end in enumerate(ends) if end), len(messages))


def _waiting(session: AppSession) -> list[ClientState]:
    """What fragments have asked of the ``session`` since its last run ended."""
    return vars(session).setdefault("_gating_waiting", [])


def _untold(session: AppSession) -> bool:
    """Whether a script runner has ended whose last events have not been handled."""
    runner = session._scriptrunner
    return runner is not None and runner._requests._state == ScriptRequestType.STOP
