"""Is what takes a second made once for all, cancelled on demand, and begun again only on demand?"""

import threading

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.work.work import DEADLINE_SECONDS, await_true, living
from ui.gates import kept
from ui.gates.kept import Kept
from ui.work import jobs
from ui.work.job import State


def page():
    import streamlit as st

    from ui.work import jobs

    state = st.session_state
    jobs.arrive("home")
    found, job = state["kept"].fetch(state["wanted"], state["made"])
    if found is not None:
        st.text(f"found {found}")
    if job is not None:
        state["kept"].watch(job)


class Made:
    """Says that half is done, waits until it is let on, and then has, or is, what ``ends`` it."""

    def __init__(self, ends="it"):
        self.ends, self.begun, self.let_on = ends, 0, threading.Semaphore(0)

    def __call__(self):
        self.begun += 1
        yield 0.5
        while not self.let_on.acquire(timeout=0.01):
            yield None
        if isinstance(self.ends, Exception):
            raise self.ends
        yield self.ends


@pytest.fixture
def visit(monkeypatch):
    """A visitor's page that wants what is made; all visitors share the same results."""
    monkeypatch.setattr(kept, "AT_ONCE_SECONDS", 0.0)
    monkeypatch.setattr(jobs, "QUIET_SECONDS", 0.0)
    shared = Kept("kept", "Making", 2, (ZeroDivisionError,))
    opened = []

    def open_it(made, wanted="a"):
        app = AppTest.from_function(page, default_timeout=DEADLINE_SECONDS)
        app.session_state["kept"] = shared
        opened.append(app)
        return ask(app, made, wanted)

    yield open_it
    for app in opened:
        for job, _ in app.session_state["_jobs"].values():
            job.forget()
    jobs._departed.clear()
    await_true(lambda: not living())


def ask(app, made, wanted):
    app.session_state["made"], app.session_state["wanted"] = made, wanted
    return app.run()


def job_of(app):
    return app.session_state["_jobs"]["kept"][0]


def press(app, label):
    next(button for button in app.button if button.label == label).click()
    return app.run()


def labels(app):
    return [button.label for button in app.button]


def ended(app):
    """The page once its job is over."""
    assert job_of(app).join(DEADLINE_SECONDS)
    return app.run()


def test_what_is_made_is_shown_and_kept_for_the_next_visitor(visit):
    made = Made()
    app = visit(made)
    assert app.get("progress")[0].proto.value == 50
    assert labels(app) == ["Cancel"]
    made.let_on.release()
    ended(app)
    assert app.text[0].value == "found it"
    assert not labels(app)
    other = visit(made)
    assert other.text[0].value == "found it"
    assert not other.session_state["_jobs"]
    assert made.begun == 1


def test_who_cancels_is_asked_before_the_same_is_begun_again(visit):
    made = Made()
    app = visit(made)
    press(app, "Cancel")
    ended(app)
    assert job_of(app).state is State.CANCELLED
    for _ in range(2):
        app.run()
        assert app.info[0].value.startswith("Making was cancelled after 0 s.")
        assert labels(app) == ["Go on"]
        assert made.begun == 1
    press(app, "Go on")
    assert (labels(app), made.begun) == (["Cancel"], 2)
    assert not app.info
    made.let_on.release()
    ended(app)
    assert app.text[0].value == "found it"
    app.run()
    assert (labels(app), made.begun) == ([], 2)


def test_each_wish_to_go_on_counts_once(visit):
    made = Made()
    app = visit(made)
    press(app, "Cancel")
    ended(app)
    press(app, "Go on")
    press(app, "Cancel")
    ended(app)
    app.run()
    assert (labels(app), made.begun) == (["Go on"], 2)


def test_what_failed_is_said_and_begun_again_on_demand_alone(visit):
    made = Made(ZeroDivisionError("the loss is not a number"))
    app = visit(made)
    made.let_on.release()
    ended(app)
    app.run()
    assert app.info[0].value.startswith("Making failed: the loss is not a number.")
    assert (labels(app), made.begun) == (["Go on"], 1)
    made.ends = "it"
    press(app, "Go on")
    made.let_on.release()
    ended(app)
    assert app.text[0].value == "found it"


def test_what_ended_because_the_visitor_went_away_begins_again_by_itself(visit):
    made = Made()
    app = visit(made)
    job_of(app).cancel()
    ended(app)
    assert (labels(app), made.begun) == (["Cancel"], 2)


def test_a_cancelled_wish_stands_in_no_others_way(visit):
    first, second = Made(), Made("other")
    app = visit(first)
    press(app, "Cancel")
    ended(app)
    ask(app, second, "b")
    assert (labels(app), second.begun) == (["Cancel"], 1)


def test_who_asks_for_something_else_ends_what_was_asked_before(visit):
    first, second = Made(), Made("other")
    app = visit(first)
    before = job_of(app)
    ask(app, second, "b")
    assert before.join(DEADLINE_SECONDS)
    assert before.state is State.CANCELLED
    second.let_on.release()
    ended(app)
    assert app.text[0].value == "found other"
    ask(app, first, "a")
    before = job_of(app)
    assert not before.over
    ask(app, second, "b")  # which is kept
    assert app.text[0].value == "found other"
    assert before.join(DEADLINE_SECONDS)
    assert before.state is State.CANCELLED
    assert second.begun == 1
