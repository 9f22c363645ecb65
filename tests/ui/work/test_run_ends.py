"""Does a fragment wait until the run before it has been told, and nothing else wait?"""

from collections import deque

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests

from ui.work import run_ends


class Runner:
    """A script runner that is over, but for its last events."""

    def __init__(self):
        self._requests = ScriptRequests()
        self._requests.on_scriptrunner_ready()

    def request_rerun(self, data):
        return self._requests.request_rerun(data)

    def request_stop(self):
        self._requests.request_stop()


class Session(AppSession):
    """As much of a session as a request needs."""

    def __init__(self):
        self._state, self._scriptrunner = None, Runner()
        self._event_loop, self.later, self.started = self, deque(), []

    def __del__(self):
        """There is nothing to shut down."""

    def call_later(self, seconds, call, *arguments):
        self.later.append((call, arguments))

    def go_on(self):
        call, arguments = self.later.popleft()
        call(*arguments)

    def has_fragment(self, fragment):
        return True

    def _create_scriptrunner(self, data):
        self.started.append(data)


@pytest.fixture
def session():
    run_ends.mend(Session)
    return Session()


def wish(**fields):
    return ClientState(**fields)


def test_a_fragment_waits_for_the_end_of_the_run_before(session):
    session.request_rerun(wish(fragment_id="f", is_auto_rerun=True))
    session.go_on()
    assert not session.started
    session._scriptrunner = None  # all its events have been handled
    session.go_on()
    assert [data.fragment_id for data in session.started] == ["f"]
    assert not session.later


def test_the_whole_page_waits_for_nobody(session):
    session.request_rerun(wish())
    assert [data.fragment_id for data in session.started] == [None]
    assert not session.later


def test_the_whole_page_takes_the_place_of_timers_that_wait(session):
    session.request_rerun(wish(fragment_id="f", is_auto_rerun=True, query_string="before"))
    session.request_rerun(wish(query_string="after"))
    session._scriptrunner = None
    session.go_on()
    assert [data.query_string for data in session.started] == ["after"]


def test_a_click_that_waits_is_heard_before_what_comes_later(session):
    session.request_rerun(wish(fragment_id="f", query_string="click"))
    session.request_rerun(wish(fragment_id="g", query_string="next"))
    assert not session.started
    session.request_rerun(wish(query_string="page"))
    assert [data.query_string for data in session.started] == ["click", "next", "page"]
    session.go_on()
    assert len(session.started) == 3


def test_a_script_that_runs_takes_the_fragment_next(session):
    session._scriptrunner._requests = ScriptRequests()
    session.request_rerun(wish(fragment_id="f"))
    assert not session.started
    assert not session.later
    assert session._scriptrunner._requests._rerun_data.fragment_id_queue == ["f"]


def test_an_end_that_is_never_told_is_not_waited_for_for_good(session):
    session.request_rerun(wish(fragment_id="f"))
    for _ in range(run_ends.TRIES):
        session.go_on()
    assert [data.fragment_id for data in session.started] == ["f"]


def test_without_the_mend_the_run_before_is_a_stranger():
    """What is mended: should Streamlit mend it, too, this is the line to delete first."""
    session = Session()
    plain = getattr(AppSession.request_rerun, "__wrapped__", AppSession.request_rerun)
    plain(session, wish(fragment_id="f"))
    assert [type(data) for data in session.started] == [RerunData]


def test_pages_mend_it():
    import ui.common.page  # noqa: F401

    assert hasattr(AppSession.request_rerun, "__wrapped__")
