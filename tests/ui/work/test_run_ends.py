"""Does a fragment wait until the run before it has been told, and nothing else wait?"""

from collections import deque

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
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
        self._browser_queue = ForwardMsgQueue()

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


def drawn(fragment, place):
    """A number that ``fragment`` has drawn."""
    message = ForwardMsg()
    message.metadata.delta_path[:] = [0, place]
    message.delta.fragment_id = fragment
    message.delta.new_element.metric.body = f"{fragment} {place}"
    return message


def finished(status):
    return ForwardMsg(script_finished=status)


def told(session):
    """What is to be sent: numbers, and how runs ended."""
    return [
        x.delta.new_element.metric.body if x.HasField("delta")
        else ForwardMsg.ScriptFinishedStatus.Name(x.script_finished)
        for x in session._browser_queue.flush()
    ]  # fmt: skip


def fill(session, *messages):
    for message in messages:
        session._browser_queue.enqueue(message)


def test_what_a_finished_page_shows_is_sent_though_one_of_its_fragments_begins_again(session):
    whole = [drawn("f", 0), drawn("g", 1), finished(ForwardMsg.FINISHED_SUCCESSFULLY)]
    fill(session, *whole, drawn("f", 0))
    session._clear_queue(["f"])
    fill(session, drawn("f", 0))  # a number of the next run, and not in the place of the first
    assert told(session) == ["f 0", "g 1", "FINISHED_SUCCESSFULLY", "f 0"]


def test_without_the_mend_a_number_is_lost_under_a_finished_page():
    """What is mended: should Streamlit mend it, too, this is the line to delete first."""
    session = Session()
    fill(session, drawn("f", 0), drawn("g", 1), finished(ForwardMsg.FINISHED_SUCCESSFULLY))
    plain = getattr(AppSession._clear_queue, "__wrapped__", AppSession._clear_queue)
    plain(session, ["f"])
    assert told(session) == ["g 1", "FINISHED_SUCCESSFULLY"]


def test_what_a_fragment_has_drawn_twice_is_sent_once(session):
    fragment = finished(ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
    fill(session, drawn("f", 0), drawn("g", 1), fragment)
    session._clear_queue(["f"])
    assert told(session) == ["g 1", "FINISHED_EARLY_FOR_RERUN"]


def test_a_page_that_is_drawn_anew_takes_back_all_that_was_not_sent(session):
    fill(session, drawn("f", 0), finished(ForwardMsg.FINISHED_SUCCESSFULLY))
    session._clear_queue()
    assert told(session) == ["FINISHED_EARLY_FOR_RERUN"]


def test_pages_mend_it():
    import ui.common.page  # noqa: F401

    assert hasattr(AppSession.request_rerun, "__wrapped__")
    assert hasattr(AppSession._clear_queue, "__wrapped__")
