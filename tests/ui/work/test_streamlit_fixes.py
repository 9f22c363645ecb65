"""Streamlit's order of script runs and messages, as corrected."""

import inspect
import threading
from collections import deque
from dataclasses import replace

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.exceptions import StopException
from streamlit.runtime.scriptrunner_utils.script_requests import (
    RerunData,
    ScriptRequests,
    ScriptRequestType,
)
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state import SafeSessionState, SessionState

from ui.work import streamlit_fixes

LAYERS = "$$ID-layers-layers"
SECONDS = 0.3  # in which a thread that does not wait has long come first

streamlit_fixes.apply()


def controls(layers):
    return WidgetStates(widgets=[WidgetState(id=LAYERS, double_value=layers)])


def layers_in(state):
    return state._new_widget_state.states[LAYERS].value.double_value


def test_later_controls_stay_although_the_run_before_had_checked_already():
    state = SessionState()
    after = SafeSessionState(state, lambda: None)
    later = threading.Thread(target=after.on_script_will_rerun, args=(controls(3.0),))

    def check_then_stop():
        later.start()
        later.join(SECONDS)

    before = SafeSessionState(state, check_then_stop)
    before.on_script_will_rerun(controls(1.0))
    later.join()
    assert layers_in(state) == 3.0


def test_a_stopped_run_writes_no_controls():
    def stopped():
        raise StopException

    state = SessionState()
    SafeSessionState(state, lambda: None).on_script_will_rerun(controls(3.0))
    with pytest.raises(StopException):
        SafeSessionState(state, stopped).on_script_will_rerun(controls(1.0))
    assert layers_in(state) == 3.0


def run_of(state):
    """A run of a page."""
    return ScriptRunContext(
        session_id="session",
        _enqueue=lambda message: None,
        query_string="",
        session_state=SafeSessionState(state, lambda: None),
        uploaded_file_mgr=None,
        main_script_path="app.py",
        user_info={},
        fragment_storage=MemoryFragmentStorage(),
        pages_manager=PagesManager(""),
        script_requests=ScriptRequests(),
    )


@pytest.mark.parametrize("stopped", [False, True])
def test_a_stopped_run_leaves_the_link_alone(stopped):
    state = SessionState()
    before, after = run_of(state), run_of(state)
    after.reset("lambda=0.5&point=3.4&point=5.6")
    if stopped:
        before.script_requests.request_stop()
    before.reset("lambda=1")
    link = state.query_params
    values = {name: link.get_all(name) for name in link}
    expected = {"lambda": ["0.5"], "point": ["3.4", "5.6"]} if stopped else {"lambda": ["1"]}
    assert values == link._initial_query_params == expected


def test_runs_of_two_sessions_do_not_wait_for_each_other():
    first, second = (SafeSessionState(SessionState(), lambda: None) for _ in range(2))
    again = SafeSessionState(first._state, lambda: None)
    assert first._lock is again._lock is not second._lock


# --- Timers of fragments ------------------------------------------------------------------------


class Timed:
    """A script runner that notes what it is to run."""

    def __init__(self, state):
        self._session_state, self.ran = SafeSessionState(state, lambda: None), []
        self._fragment_storage = MemoryFragmentStorage()
        self._fragment_storage.register("f", lambda: None)

    def _run_script(self, rerun_data):
        self.ran.append(rerun_data)


def test_script_runners_are_corrected():
    assert hasattr(ScriptRunner._run_script, "__wrapped__")


streamlit_fixes._fix_timers(Timed)
BEFORE = RerunData(query_string="data=circle", widget_states=controls(1.0))


@pytest.mark.parametrize(("fragment", "timer"), [("f", True), ("f", False), ("", False)])
def test_only_a_timers_run_brings_no_link_and_no_controls(fragment, timer):
    state = SessionState()
    run_of(state).reset("data=own&table=a&table=b")
    runner = Timed(state)
    runner._run_script(replace(BEFORE, fragment_id_queue=[*fragment], is_auto_rerun=timer))
    (ran,) = runner.ran
    assert ran.query_string == ("data=own&table=a&table=b" if timer else "data=circle")
    assert ran.widget_states == (None if timer else controls(1.0))


@pytest.mark.parametrize(("queue", "timer", "runs"), [
    (["gone"], True, False), (["gone", "f"], True, True), (["gone"], False, True), ([], True, True),
])  # fmt: skip
def test_a_timers_run_of_fragments_that_are_gone_does_nothing(queue, timer, runs):
    runner = Timed(SessionState())
    runner._run_script(replace(BEFORE, fragment_id_queue=queue, is_auto_rerun=timer))
    assert len(runner.ran) == runs


@pytest.mark.parametrize(("first", "second"), [(True, False), (False, True), (True, True)])
def test_a_timer_and_a_click_that_are_joined_are_a_click(first, second):
    requests = ScriptRequests()
    for name, timer in (("f", first), ("g", second)):
        requests.request_rerun(replace(BEFORE, fragment_id=name, is_auto_rerun=timer))
    data = requests.on_scriptrunner_ready().rerun_data
    assert data.fragment_id_queue == ["f", "g"]
    assert data.is_auto_rerun == (first and second)


AFTER = RerunData(query_string="data=xor", page_script_hash="new", page_name="New")


@pytest.mark.parametrize("states", [controls(3.0), None])  # a click's and those of `st.rerun`
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("timer_first", [True, False])
def test_of_a_timer_and_a_click_that_are_joined_the_click_says_page_link_and_controls(
    states, whole, timer_first
):
    timer = replace(BEFORE, fragment_id="f", is_auto_rerun=True, page_script_hash="old")
    click = replace(AFTER, widget_states=states, fragment_id=None if whole else "g")
    requests = ScriptRequests()
    for request in (timer, click) if timer_first else (click, timer):
        requests.request_rerun(request)
    data = requests.on_scriptrunner_ready().rerun_data
    assert (data.query_string, data.page_script_hash, data.page_name) == ("data=xor", "new", "New")
    assert data.widget_states == states
    assert not data.is_auto_rerun
    if whole:
        assert data.fragment_id_queue == []
    else:
        assert data.fragment_id_queue == (["f", "g"] if timer_first else ["g", "f"])


# --- Fragments ----------------------------------------------------------------------------------


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
        self._browser_queue, self._session_state = ForwardMsgQueue(), SessionState()

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
    streamlit_fixes.apply(Session)
    return Session()


def request(**fields):
    return ClientState(**fields)


def test_a_fragment_waits_for_the_last_events_of_the_run_before(session):
    session.request_rerun(request(fragment_id="f", is_auto_rerun=True))
    session.go_on()
    assert not session.started
    session._scriptrunner = None  # all its events have been handled
    session.go_on()
    assert [data.fragment_id for data in session.started] == ["f"]
    assert not session.later


def test_the_whole_page_does_not_wait(session):
    session.request_rerun(request())
    assert [data.fragment_id for data in session.started] == [None]
    assert not session.later


def test_the_whole_page_replaces_waiting_timers(session):
    session.request_rerun(request(fragment_id="f", is_auto_rerun=True, query_string="before"))
    session.request_rerun(request(query_string="after"))
    session._scriptrunner = None
    session.go_on()
    assert [data.query_string for data in session.started] == ["after"]


def test_a_waiting_click_is_handled_before_later_requests(session):
    session.request_rerun(request(fragment_id="f", query_string="click"))
    session.request_rerun(request(fragment_id="g", query_string="next"))
    assert not session.started
    session.request_rerun(request(query_string="page"))
    assert [data.query_string for data in session.started] == ["click", "next", "page"]
    session.go_on()
    assert len(session.started) == 3


CLICK = "$$ID-end-class_end"


def clicked():
    return WidgetStates(widgets=[WidgetState(id=CLICK, trigger_value=True)])


def clicks_of(data):
    return [each.id for each in data.widget_states.widgets if each.trigger_value]


@pytest.mark.parametrize("fragment", ["f", ""])
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("written", [False, True])
def test_a_click_whose_run_the_whole_page_stops_is_handled_once(session, fragment, begun, written):
    states = clicked()
    runner = session._scriptrunner
    runner._requests = ScriptRequests()
    runner.request_rerun(RerunData(fragment_id=fragment, widget_states=states))
    if begun or written:
        runner._requests.on_scriptrunner_ready()
    if written:
        SafeSessionState(session._session_state, lambda: None).on_script_will_rerun(states)
    session.request_rerun(request(query_string="a picture has played"))
    assert runner._requests._state == ScriptRequestType.STOP
    (data,) = session.started
    assert clicks_of(data) == ([] if written else [CLICK])


def test_uncorrected_streamlit_forgets_the_click():
    """If this fails, Streamlit has corrected it and the correction can go."""
    session = Session()
    session._scriptrunner._requests = ScriptRequests()
    plain = inspect.unwrap(AppSession.request_rerun)
    plain(session, request(fragment_id="f", widget_states=clicked()))
    plain(session, request())
    (data,) = session.started
    assert clicks_of(data) == []


def test_a_running_script_takes_the_fragment_next(session):
    session._scriptrunner._requests = ScriptRequests()
    session.request_rerun(request(fragment_id="f"))
    assert not session.started
    assert not session.later
    assert session._scriptrunner._requests._rerun_data.fragment_id_queue == ["f"]


def test_the_wait_for_last_events_is_bounded(session):
    session.request_rerun(request(fragment_id="f"))
    for _ in range(streamlit_fixes.TRIES):
        session.go_on()
    assert [data.fragment_id for data in session.started] == ["f"]


def test_uncorrected_streamlit_starts_the_fragment_at_once():
    """If this fails, Streamlit has corrected it and the correction can go."""
    session = Session()
    plain = inspect.unwrap(AppSession.request_rerun)
    plain(session, request(fragment_id="f"))
    assert [type(data) for data in session.started] == [RerunData]


def drawn(fragment, place):
    """The message of a number that ``fragment`` draws."""
    message = ForwardMsg()
    message.metadata.delta_path[:] = [0, place]
    message.delta.fragment_id = fragment
    message.delta.new_element.metric.body = f"{fragment} {place}"
    return message


def finished(status):
    return ForwardMsg(script_finished=status)


def sent(session):
    """What is to be sent: numbers, and how runs ended."""
    return [
        x.delta.new_element.metric.body
        if x.HasField("delta")
        else ForwardMsg.ScriptFinishedStatus.Name(x.script_finished)
        for x in session._browser_queue.flush()
    ]


def fill(session, *messages):
    for message in messages:
        session._browser_queue.enqueue(message)


def test_a_finished_page_is_sent_although_one_of_its_fragments_begins_again(session):
    whole = [drawn("f", 0), drawn("g", 1), finished(ForwardMsg.FINISHED_SUCCESSFULLY)]
    fill(session, *whole, drawn("f", 0))
    session._clear_queue(["f"])
    fill(session, drawn("f", 0))  # of the next run, beside the first
    assert sent(session) == ["f 0", "g 1", "FINISHED_SUCCESSFULLY", "f 0"]


def test_uncorrected_streamlit_loses_a_number_of_a_finished_page():
    """If this fails, Streamlit has corrected it and the correction can go."""
    session = Session()
    fill(session, drawn("f", 0), drawn("g", 1), finished(ForwardMsg.FINISHED_SUCCESSFULLY))
    plain = getattr(AppSession._clear_queue, "__wrapped__", AppSession._clear_queue)
    plain(session, ["f"])
    assert sent(session) == ["g 1", "FINISHED_SUCCESSFULLY"]


def test_an_element_that_a_fragment_draws_twice_is_sent_once(session):
    fragment = finished(ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
    fill(session, drawn("f", 0), drawn("g", 1), fragment)
    session._clear_queue(["f"])
    assert sent(session) == ["g 1", "FINISHED_EARLY_FOR_RERUN"]


def test_a_page_run_removes_all_that_was_not_sent(session):
    fill(session, drawn("f", 0), finished(ForwardMsg.FINISHED_SUCCESSFULLY))
    session._clear_queue()
    assert sent(session) == ["FINISHED_EARLY_FOR_RERUN"]


def test_pages_apply_the_corrections():
    import ui.common.page  # noqa: F401

    assert hasattr(AppSession.request_rerun, "__wrapped__")
    assert hasattr(AppSession._clear_queue, "__wrapped__")
