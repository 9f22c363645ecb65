"""Is what takes a second made once for all, cancelled on demand, and begun again only on demand?"""

import threading

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.work.work import DEADLINE_SECONDS, await_true, living
from ui.work import cached_jobs, jobs
from ui.work.cache import ENTRY_BYTES, Cache
from ui.work.cached_jobs import CachedJobs
from ui.work.job import State


def page():
    import streamlit as st

    from ui.work import jobs

    state = st.session_state
    jobs.arrive("home")
    found, job = state["kept"].fetch(state["wanted"])
    if found is not None:
        st.text(f"found {found}")
    if job is not None:
        state["kept"].watch(job, "Making")


def page_of_several():
    import streamlit as st

    from ui.work import jobs

    state = st.session_state
    jobs.arrive("home")
    found, job = state["kept"].fetch_all(state["wanted"])
    st.text(f"found {found}")
    if job is not None:
        state["kept"].watch(job, "Making", again="Make the rest")


def page_that_draws():
    import streamlit as st

    from ui.work import jobs

    state, wanted = st.session_state, st.session_state["wanted"]
    jobs.arrive("home")

    def draw():
        st.text(f"drawn {state['kept'].known(wanted)}")

    _, job = state["kept"].fetch_all(wanted)
    if job is not None:
        state["kept"].watch(job, "Making", beside=False, draw=draw)


class Made:
    """Says its ``share``, waits until it is let on, and then has, or is, what ``ends`` it."""

    def __init__(self, ends="it"):
        self.ends, self.begun, self.let_on = ends, 0, threading.Semaphore(0)
        self.share = 0.5

    def __call__(self):
        self.begun += 1
        yield self.share
        while not self.let_on.acquire(timeout=0.01):
            yield None
        if isinstance(self.ends, Exception):
            raise self.ends
        yield self.ends


@pytest.fixture
def made():
    """How each thing is made that can be wanted."""
    return {"a": Made(), "b": Made("other"), "c": Made("third")}


@pytest.fixture
def visit(monkeypatch, made):
    """A visitor's page that wants what is made; all visitors share the same results."""
    monkeypatch.setattr(cached_jobs, "AT_ONCE_SECONDS", 0.0)
    monkeypatch.setattr(jobs, "QUIET_SECONDS", 0.0)
    shared = CachedJobs(
        "kept", lambda wanted: made[wanted](), Cache(2.5 * ENTRY_BYTES), (ZeroDivisionError,)
    )
    opened = []

    def open_it(wanted, page=page):
        app = AppTest.from_function(page, default_timeout=DEADLINE_SECONDS)
        app.session_state["kept"] = shared
        opened.append(app)
        return ask(app, wanted)

    yield open_it
    for app in opened:
        for job, _ in app.session_state["_jobs"].values():
            job.forget()
    jobs._departed.clear()
    await_true(lambda: not living())


def ask(app, wanted):
    app.session_state["wanted"] = wanted
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


def let_on(app, one, share):
    """One thing is made; the page once its job has come to ``share``."""
    one.let_on.release()
    await_true(lambda: jobs.share_of(job_of(app).items) == share)
    return app.run()


def progress(app):
    return app.get("progress")[0].proto.value


def texts(app):
    return [text.value for text in app.text]


# --- One thing ------------------------------------------------------------------------------------


def test_what_is_made_is_shown_and_kept_for_the_next_visitor(visit, made):
    app = visit("a")
    assert progress(app) == 50
    assert labels(app) == ["Cancel"]
    made["a"].let_on.release()
    ended(app)
    assert texts(app) == ["found it"]
    assert not labels(app)
    other = visit("a")
    assert texts(other) == ["found it"]
    assert not other.session_state["_jobs"]
    assert made["a"].begun == 1


def test_who_cancels_is_asked_before_the_same_is_begun_again(visit, made):
    app = visit("a")
    press(app, "Cancel")
    ended(app)
    assert job_of(app).state is State.CANCELLED
    for _ in range(2):
        app.run()
        assert app.info[0].value.startswith("Making was cancelled after 0 s. There was nothing")
        assert labels(app) == ["Go on"]
        assert made["a"].begun == 1
    press(app, "Go on")
    assert (labels(app), made["a"].begun) == (["Cancel"], 2)
    assert not app.info
    made["a"].let_on.release()
    ended(app)
    assert texts(app) == ["found it"]
    app.run()
    assert (labels(app), made["a"].begun) == ([], 2)


def test_each_wish_to_go_on_counts_once(visit, made):
    app = visit("a")
    press(app, "Cancel")
    ended(app)
    press(app, "Go on")
    press(app, "Cancel")
    ended(app)
    app.run()
    assert (labels(app), made["a"].begun) == (["Go on"], 2)


def test_what_failed_is_said_and_begun_again_on_demand_alone(visit, made):
    made["a"].ends = ZeroDivisionError("the loss is not a number")
    app = visit("a")
    made["a"].let_on.release()
    ended(app)
    app.run()
    assert app.error[0].value.startswith("Making failed: the loss is not a number.")
    assert (labels(app), made["a"].begun) == (["Go on"], 1)
    made["a"].ends = "it"
    press(app, "Go on")
    made["a"].let_on.release()
    ended(app)
    assert texts(app) == ["found it"]


def test_what_ended_because_the_visitor_went_away_begins_again_by_itself(visit, made):
    app = visit("a")
    job_of(app).cancel()
    ended(app)
    assert (labels(app), made["a"].begun) == (["Cancel"], 2)


def test_a_cancelled_wish_stands_in_no_others_way(visit, made):
    app = visit("a")
    press(app, "Cancel")
    ended(app)
    ask(app, "b")
    assert (labels(app), made["b"].begun) == (["Cancel"], 1)


def test_who_asks_for_something_else_ends_what_was_asked_before(visit, made):
    app = visit("a")
    before = job_of(app)
    ask(app, "b")
    assert before.join(DEADLINE_SECONDS)
    assert before.state is State.CANCELLED
    made["b"].let_on.release()
    ended(app)
    assert texts(app) == ["found other"]
    ask(app, "a")
    before = job_of(app)
    assert not before.over
    ask(app, "b")  # which is kept
    assert texts(app) == ["found other"]
    assert before.join(DEADLINE_SECONDS)
    assert before.state is State.CANCELLED
    assert made["b"].begun == 1


def test_where_more_is_made_than_is_kept_the_oldest_goes(visit, made):
    app = visit("a")
    for wanted in "abc":
        ask(app, wanted)
        made[wanted].let_on.release()
        ended(app)
    assert app.session_state["kept"].known("abc") == {"b": "other", "c": "third"}


# --- Several things -------------------------------------------------------------------------------


def test_what_is_wanted_twice_is_made_once_and_enough(visit, made):
    app = visit(("a", "a"), page_of_several)
    made["a"].let_on.release()
    ended(app)
    assert (texts(app), made["a"].begun) == (["found {'a': 'it'}"], 1)


def test_each_of_several_is_kept_as_it_comes(visit, made):
    app = visit(("a", "b"), page_of_several)
    assert (texts(app), progress(app)) == (["found {}"], 25)
    let_on(app, made["a"], 0.75)
    assert (texts(app), progress(app)) == (["found {'a': 'it'}"], 75)
    assert texts(visit("a")) == ["found it"]
    made["b"].let_on.release()
    ended(app)
    assert texts(app) == ["found {'a': 'it', 'b': 'other'}"]
    assert not labels(app)


def test_what_is_known_of_several_is_not_made_again(visit, made):
    app = visit("a")
    made["a"].let_on.release()
    ended(app)
    both = visit(("a", "b"), page_of_several)
    assert (texts(both), progress(both)) == (["found {'a': 'it'}"], 50)
    made["b"].let_on.release()
    ended(both)
    assert [made[one].begun for one in "ab"] == [1, 1]


def test_what_another_has_made_meanwhile_is_not_made_again(visit, made):
    both, other = visit(("a", "b"), page_of_several), visit("b")
    made["b"].let_on.release()
    ended(other)
    assert texts(other) == ["found other"]
    made["a"].let_on.release()
    ended(both)
    assert texts(both) == ["found {'a': 'it', 'b': 'other'}"]
    assert [made[one].begun for one in "ab"] == [1, 1]


def test_who_cancels_keeps_what_there_is_and_goes_on_with_the_rest(visit, made):
    app = visit(("a", "b"), page_of_several)
    let_on(app, made["a"], 0.75)
    press(app, "Cancel")
    ended(app)
    app.run()
    assert texts(app) == ["found {'a': 'it'}"]
    assert app.info[0].value.endswith("What it had by then is kept.")
    assert (labels(app), made["b"].begun) == (["Make the rest"], 1)
    press(app, "Make the rest")
    made["b"].let_on.release()
    ended(app)
    assert texts(app) == ["found {'a': 'it', 'b': 'other'}"]
    assert [made[one].begun for one in "ab"] == [1, 2]


def test_what_there_is_is_drawn_in_place_of_a_bar(visit, made):
    app = visit(("a", "b"), page_that_draws)
    assert texts(app) == ["drawn {}"]
    let_on(app, made["a"], 0.75)
    assert texts(app) == ["drawn {'a': 'it'}"]
    assert not app.get("progress")
    assert app.markdown[0].value.startswith("Making … ")


def test_an_end_that_is_not_said_beside_the_button_is_said_below_once(visit, made):
    made["b"].ends = ZeroDivisionError("the loss is not a number")
    made["a"].share = made["b"].share = None
    app = visit(("a", "b"), page_that_draws)
    let_on(app, made["a"], 0.5)
    made["b"].let_on.release()
    ended(app)
    app.run()
    (said,) = app.error
    assert said.value == "Making failed: the loss is not a number. What it had by then is kept."
    assert not app.info
    assert (labels(app), texts(app)) == (["Go on"], ["drawn {'a': 'it'}"])


# --- Where there is no room -----------------------------------------------------------------------


@pytest.fixture
def no_room(monkeypatch):
    """Nothing that is made finds a place, or keeps it until the page looks."""
    monkeypatch.setattr(Cache, "put", lambda self, key, item: None)


@pytest.mark.usefixtures("no_room")
def test_what_finds_no_room_is_shown_and_not_made_for_ever(visit, made):
    app = visit("a")
    made["a"].let_on.release()
    ended(app)
    assert (texts(app), made["a"].begun) == (["found it"], 1)
    assert not labels(app)


@pytest.mark.usefixtures("no_room")
def test_all_of_several_are_shown_that_find_no_room_together(visit, made):
    app = visit(("a", "b"), page_of_several)
    for one in "ab":
        made[one].let_on.release()
    ended(app)
    assert texts(app) == ["found {'a': 'it', 'b': 'other'}"]
    assert [made[one].begun for one in "ab"] == [1, 1]


def test_what_was_there_at_first_and_had_to_make_room_is_shown(visit, made):
    app = visit("a")
    made["a"].let_on.release()
    ended(app)
    both = visit(("a", "b"), page_of_several)
    both.session_state["kept"].shelf.clear()
    made["b"].let_on.release()
    ended(both)
    assert texts(both) == ["found {'a': 'it', 'b': 'other'}"]
    assert [made[one].begun for one in "ab"] == [1, 1]


@pytest.mark.usefixtures("no_room")
def test_a_job_holds_nothing_any_more_once_it_is_shown(visit, made):
    app = visit("a")
    job = job_of(app)
    made["a"].let_on.release()
    ended(app)
    assert not job.items
