"""Losses of a visitor where two messages of their browser meet; as the app runs, there are none.

Most run on Streamlit as it is, too, with its default setting, with ours, or both: where nothing is
lost any more, our setting or a correction can go.
"""

import asyncio
import inspect
import sys
import threading
from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
import streamlit as st
from streamlit import config
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime import Runtime
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.script_data import ScriptData
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests
from streamlit.runtime.state import SafeSessionState, SessionState

from tests.load.session import in_a_thread
from tests.ui.work.work import DEADLINE_SECONDS
from ui.work import streamlit_fixes
from ui.work.run_stops import end_if_stopped

streamlit_fixes.apply()
CORRECTED = (
    (SafeSessionState, "on_script_will_rerun"),
    (ScriptRunner, "_maybe_handle_execution_control_request"),
    (ScriptRunner, "_run_script"),
    (ScriptRequests, "_request_rerun_locked"),
    (AppSession, "request_rerun"),
    (AppSession, "_clear_queue"),
)
TWO_THREADS = "Streamlit's default"  # of runner.fastReruns
UNCORRECTED = "without our corrections"


@pytest.fixture
def streamlit(request, monkeypatch):
    """Streamlit as the app runs it, or in one of the two ways above."""
    way = getattr(request, "param", None)
    if way is not None:
        for owner, name in CORRECTED:
            monkeypatch.setattr(owner, name, inspect.unwrap(getattr(owner, name)))
    before = config.get_option("runner.fastReruns")
    config.set_option("runner.fastReruns", before if way is None else way is TWO_THREADS)
    yield way
    config.set_option("runner.fastReruns", before)


def ways(*losing):
    """Run a test as the app runs, and in the ways in which its visitor loses something."""
    cases = [None, *(pytest.param(way, id=way) for way in losing)]
    return pytest.mark.parametrize("streamlit", cases, indirect=True)


class Tab:
    """A visitor's tab: the session, and the places at which its script waits for the test."""

    def __init__(self, path):
        self.session = AppSession(
            ScriptData(str(path)), MagicMock(), ScriptCache(), lambda: None, user_info={}
        )
        self.session._local_sources_watcher = MagicMock(on_script_run=lambda: self.pass_by("begin"))
        self.gates, self.reached = {}, {}
        self.threads_before = set(threading.enumerate())

    def shut(self, name):
        """Let the script wait when it next comes to the place called ``name``; return the gate."""
        self.reached[name], self.gates[name] = threading.Event(), threading.Event()
        return self.gates[name]

    def pass_by(self, name):
        """Called by the script: wait here, once, if the place is shut."""
        if (gate := self.gates.pop(name, None)) is not None:
            self.reached[name].set()
            assert gate.wait(DEADLINE_SECONDS)

    async def arrival(self, name):
        await self.until(self.reached[name].is_set)

    async def until(self, condition):
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not condition():
                await asyncio.sleep(0.002)

    async def rest(self):
        """Wait until no script of this tab runs and all its events are handled."""
        session = self.session

        def rests():
            later = set(threading.enumerate()) - self.threads_before
            runs = any(thread.name == "ScriptRunner.scriptThread" for thread in later)
            return not (runs or session._scriptrunner or streamlit_fixes._waiting(session))

        await self.until(rests)

    def ask(self, *states, fragment="", link="", timer=False):
        """Ask for a run, as the browser does; ``states`` are those of widgets."""
        message = ClientState(query_string=link, fragment_id=fragment, is_auto_rerun=timer)
        message.widget_states.widgets.extend(states)
        self.session.request_rerun(message)

    @property
    def fragment(self):
        (name,) = self.session._fragment_storage._fragments
        return name

    def id_of(self, key):
        return self.session.session_state._key_id_mapper.get_id_from_key(key, None)

    def click(self, key):
        return WidgetState(id=self.id_of(key), trigger_value=True)

    def number(self, key, value):
        return WidgetState(id=self.id_of(key), double_value=value)

    def sent(self):
        return [
            x.delta.new_element.text.body
            if x.HasField("delta")
            else ForwardMsg.ScriptFinishedStatus.Name(x.script_finished)
            for x in self.session.flush_browser_queue()
            if x.WhichOneof("type") == "script_finished"
            or (x.HasField("delta") and x.delta.new_element.HasField("text"))
        ]


@pytest.fixture
def visit(streamlit, tmp_path, monkeypatch):
    """Run a visit: a coroutine function of a tab, which sets ``tab.draw`` first."""
    monkeypatch.setattr(Runtime, "_instance", MagicMock(spec=Runtime))
    monkeypatch.setattr(PagesManager, "uses_pages_directory", False)
    page = SimpleNamespace()
    monkeypatch.setitem(sys.modules, "page_of_a_test", page)
    path = tmp_path / "page.py"
    path.write_text("import page_of_a_test\npage_of_a_test.draw()\n")

    async def with_tab(visitor, draw):
        tab = Tab(path)
        page.draw = lambda: draw(tab)
        tab.ask()
        await tab.rest()
        tab.session.flush_browser_queue()
        await visitor(tab)
        for gate in tab.gates.values():
            gate.set()
        await tab.rest()
        tab.session.shutdown()
        return tab

    return lambda draw, visitor: in_a_thread(with_tab(visitor, draw))


def counter(tab):
    """Draw a button; clicks are counted on the tab."""

    def count():
        tab.clicks = getattr(tab, "clicks", 0) + 1
        tab.pass_by("callback")
        st.session_state["counted"] = True  # at which Streamlit ends a run that is replaced
        tab.done = getattr(tab, "done", 0) + 1

    st.button("Count", key="count", on_click=count)
    tab.pass_by("page")
    st.text("drawn")


@ways(TWO_THREADS)
def test_a_click_in_a_fragment_is_not_forgotten_by_a_request_of_the_whole_page(visit, streamlit):
    def draw(tab):
        st.fragment(lambda: counter(tab))()
        tab.pass_by("end")

    async def visitor(tab):
        end = tab.shut("end")
        tab.ask()
        await tab.arrival("end")
        tab.ask(tab.click("count"), fragment=tab.fragment)  # waits for the end of the run
        tab.ask()  # a picture says that it has played
        end.set()

    assert getattr(visit(draw, visitor), "done", 0) == (0 if streamlit else 1)


@ways(TWO_THREADS, UNCORRECTED)
def test_a_click_whose_run_has_just_begun_is_not_forgotten(visit, streamlit):
    async def visitor(tab):
        begin = tab.shut("begin")
        tab.ask(tab.click("count"))
        await tab.arrival("begin")
        tab.ask()
        begin.set()

    assert getattr(visit(counter, visitor), "done", 0) == (0 if streamlit else 1)


@ways(TWO_THREADS, UNCORRECTED)
def test_a_callback_is_not_left_half_done(visit, streamlit):
    async def visitor(tab):
        callback = tab.shut("callback")
        tab.ask(tab.click("count"))
        await tab.arrival("callback")
        tab.ask()
        callback.set()

    tab = visit(counter, visitor)
    assert (tab.clicks, getattr(tab, "done", 0)) == (1, 0 if streamlit else 1)


@ways(UNCORRECTED)
def test_a_click_is_not_forgotten_while_the_run_before_cleans_up(visit, streamlit):
    """Leave the run as a spinner does, which is removed."""

    @contextmanager
    def spinner(tab):
        try:
            yield
        finally:
            tab.pass_by("clean up")
            st.text("no spinner")

    def draw(tab):
        counter(tab)
        with spinner(tab):
            tab.pass_by("spinner")
            st.text("computed")

    async def visitor(tab):
        spins = tab.shut("spinner")
        tab.ask()
        await tab.arrival("spinner")
        tab.ask(tab.click("count"))
        cleans = tab.shut("clean up")
        spins.set()
        await tab.arrival("clean up")
        tab.ask()
        cleans.set()

    assert getattr(visit(draw, visitor), "done", 0) == (0 if streamlit else 1)


def layers(tab):
    tab.layers = st.number_input("Layers", 0.0, 9.0, key="layers")


@ways(TWO_THREADS)
def test_a_control_is_not_taken_back_by_the_run_before(visit, streamlit, monkeypatch):
    write = SessionState.on_script_will_rerun

    async def visitor(tab):
        def write_late(state, *arguments, **more):
            tab.pass_by("write")
            write(state, *arguments, **more)

        monkeypatch.setattr(SessionState, "on_script_will_rerun", write_late)
        first = tab.shut("write")
        tab.ask(tab.number("layers", 1.0))
        await tab.arrival("write")  # it has looked whether it is replaced: it is not
        tab.ask(tab.number("layers", 3.0))
        if streamlit is TWO_THREADS:
            await tab.until(lambda: tab.layers == 3.0)
        first.set()

    state = visit(layers, visitor).session.session_state
    assert state["layers"] == (1.0 if streamlit else 3.0)


@ways(TWO_THREADS)
def test_the_link_is_not_taken_back_by_the_run_before(visit, streamlit):
    def draw(tab):
        tab.link = st.query_params.get("lambda")

    async def visitor(tab):
        first = tab.shut("begin")
        tab.ask(link="lambda=1")
        await tab.arrival("begin")
        tab.ask(link="lambda=0.5")
        if streamlit is TWO_THREADS:
            await tab.until(lambda: tab.link == "0.5")
        first.set()

    link = visit(draw, visitor).session.session_state.query_params
    assert link.get_all("lambda") == (["1"] if streamlit else ["0.5"])


@ways(TWO_THREADS, UNCORRECTED)
def test_a_page_whose_timer_comes_before_its_last_events_is_drawn_to_its_end(visit, streamlit):
    def draw(tab):
        st.fragment(lambda: st.text("fragment"))()
        st.text("end")

    async def visitor(tab):
        fragment = tab.fragment
        tab.ask()
        tab.session._scriptrunner._script_thread.join()  # the loop is busy elsewhere meanwhile
        tab.ask(fragment=fragment, timer=True)
        await tab.rest()
        sent = tab.sent()
        whole = ["fragment", "end", "FINISHED_SUCCESSFULLY"]
        assert (sent[:3] == whole) == (not streamlit), sent

    visit(draw, visitor)


@ways(TWO_THREADS, UNCORRECTED)
def test_what_a_callback_has_changed_a_timer_does_not_take_back(visit, streamlit):
    def use_own():
        st.session_state["data"] = 7.0

    def draw(tab):
        st.number_input("Data", 0.0, 9.0, key="data")
        st.button("Own", key="own", on_click=use_own)
        st.fragment(lambda: st.text("fragment"))()

    async def visitor(tab):
        before = tab.number("data", 2.0)
        tab.ask(before)
        await tab.rest()
        tab.ask(before, tab.click("own"))
        tab.ask(before, fragment=tab.fragment, timer=True)  # the browser knows no 7 yet
        await tab.rest()
        tab.ask(before, fragment=tab.fragment, timer=True)

    state = visit(draw, visitor).session.session_state
    assert state["data"] == (2.0 if streamlit else 7.0)


def test_a_run_that_waits_ends_for_a_newer_one_and_begins_it(visit, streamlit):
    def draw(tab):
        runs.append(tab)
        if len(runs) == 2:
            tab.pass_by("wait")
            end_if_stopped()
            raise AssertionError("it went on")
        st.text(f"run {len(runs)}")

    async def visitor(tab):
        wait = tab.shut("wait")
        tab.ask()
        await tab.arrival("wait")
        tab.ask()
        wait.set()
        await tab.rest()
        assert tab.sent()[-2:] == ["run 3", "FINISHED_SUCCESSFULLY"]

    runs = []
    visit(draw, visitor)
