"""Whatever a stopped run says, and whenever: does the page go by what the visitor did last?"""

import threading

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner_utils.exceptions import StopException
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state import SafeSessionState, SessionState

from ui.work import run_begins

LAYERS = "$$ID-layers-layers"
SECONDS = 0.3  # in which whoever does not wait has long come first

run_begins.mend()


def said(layers):
    return WidgetStates(widgets=[WidgetState(id=LAYERS, double_value=layers)])


def layers_in(state):
    return state._new_widget_state.states[LAYERS].value.double_value


def test_what_is_said_later_stays_though_the_run_before_had_looked_already():
    state = SessionState()
    after = SafeSessionState(state, lambda: None)
    later = threading.Thread(target=after.on_script_will_rerun, args=(said(3.0),))

    def looks_and_is_stopped_then():
        later.start()
        later.join(SECONDS)

    before = SafeSessionState(state, looks_and_is_stopped_then)
    before.on_script_will_rerun(said(1.0))
    later.join()
    assert layers_in(state) == 3.0


def test_a_run_that_sees_that_it_was_stopped_says_nothing():
    def stopped():
        raise StopException

    state = SessionState()
    SafeSessionState(state, lambda: None).on_script_will_rerun(said(3.0))
    with pytest.raises(StopException):
        SafeSessionState(state, stopped).on_script_will_rerun(said(1.0))
    assert layers_in(state) == 3.0


def run_of(state):
    """A run of a page, which has been asked for."""
    return ScriptRunContext(
        session_id="session", _enqueue=lambda message: None, query_string="",
        session_state=SafeSessionState(state, lambda: None), uploaded_file_mgr=None,
        main_script_path="app.py", user_info={}, fragment_storage=MemoryFragmentStorage(),
        pages_manager=PagesManager(""), script_requests=ScriptRequests(),
    )  # fmt: skip


@pytest.mark.parametrize("stopped", [False, True])
def test_a_stopped_run_leaves_the_link_alone(stopped):
    state = SessionState()
    before, after = run_of(state), run_of(state)
    after.reset("lambda=0.5&point=3.4&point=5.6")
    if stopped:
        before.script_requests.request_stop()
    before.reset("lambda=1")
    link = state.query_params
    found = {name: link.get_all(name) for name in link}
    there = {"lambda": ["0.5"], "point": ["3.4", "5.6"]} if stopped else {"lambda": ["1"]}
    assert found == link._initial_query_params == there


def test_runs_of_two_sessions_do_not_wait_for_each_other():
    first, second = (SafeSessionState(SessionState(), lambda: None) for _ in range(2))
    again = SafeSessionState(first._state, lambda: None)
    assert first._lock is again._lock is not second._lock
