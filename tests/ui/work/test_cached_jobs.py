"""Results made in jobs: made once for all, cancelled and started again on request."""

import threading

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.work.work import DEADLINE_SECONDS, await_true, labels, living, press
from ui.work import cached_jobs, jobs
from ui.work.cache import ENTRY_BYTES, Cache
from ui.work.cached_jobs import CachedJobs
from ui.work.job import State


def page():
    import streamlit as st

    from ui.work import jobs

    state = st.session_state
    jobs.arrive("home")
    result, job = state["results"].fetch(state["request"])
    if result is not None:
        st.text(f"result {result}")
    if job is not None:
        state["results"].watch(job, "Making")


def page_of_several():
    import streamlit as st

    from ui.work import jobs

    state = st.session_state
    jobs.arrive("home")
    results, job = state["results"].fetch_all(state["request"])
    st.text(f"results {results}")
    if job is not None:
        state["results"].watch(job, "Making", again="Make the rest")


def page_that_draws():
    import streamlit as st

    from ui.work import jobs

    state, request = st.session_state, st.session_state["request"]
    jobs.arrive("home")

    def draw():
        st.text(f"drawn {state['results'].cached(request)}")

    _, job = state["results"].fetch_all(request)
    if job is not None:
        state["results"].watch(job, "Making", beside=False, draw=draw)


class Made:
    """Yields its ``share``, waits until it is let on, then yields or raises ``ends``."""

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
    """The work for each request."""
    return {"a": Made(), "b": Made("other"), "c": Made("third")}


@pytest.fixture
def visit(monkeypatch, made):
    """Open a visitor's page with a request; all visitors share the results."""
    monkeypatch.setattr(cached_jobs, "AT_ONCE_SECONDS", 0.0)
    monkeypatch.setattr(jobs, "QUIET_SECONDS", 0.0)
    shared = CachedJobs(
        "made", lambda request: made[request](), Cache(2.5 * ENTRY_BYTES), (ZeroDivisionError,)
    )
    opened = []

    def open_it(request, page=page):
        app = AppTest.from_function(page, default_timeout=DEADLINE_SECONDS)
        app.session_state["results"] = shared
        opened.append(app)
        return ask(app, request)

    yield open_it
    for app in opened:
        for job, _ in app.session_state["_jobs"].values():
            job.forget()
    await_true(lambda: not living())


def ask(app, request):
    app.session_state["request"] = request
    return app.run()


def job_of(app):
    return app.session_state["_jobs"]["made"][0]


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


# --- One result -----------------------------------------------------------------------------------


def test_a_result_is_shown_and_cached_for_the_next_visitor(visit, made):
    app = visit("a")
    assert progress(app) == 50
    assert labels(app) == ["Cancel"]
    made["a"].let_on.release()
    ended(app)
    assert texts(app) == ["result it"]
    assert not labels(app)
    other = visit("a")
    assert texts(other) == ["result it"]
    assert not other.session_state["_jobs"]
    assert made["a"].begun == 1


def test_a_cancelled_job_starts_again_at_a_click(visit, made):
    app = visit("a")
    press(app, "Cancel")
    ended(app)
    assert job_of(app).state is State.CANCELLED
    for _ in range(2):
        app.run()
        assert app.info[0].value.startswith("Making was cancelled after 0 s. There are no")
        assert labels(app) == ["Go on"]
        assert made["a"].begun == 1
    press(app, "Go on")
    assert (labels(app), made["a"].begun) == (["Cancel"], 2)
    assert not app.info
    made["a"].let_on.release()
    ended(app)
    assert texts(app) == ["result it"]
    app.run()
    assert (labels(app), made["a"].begun) == ([], 2)


def test_each_click_counts_once(visit, made):
    app = visit("a")
    press(app, "Cancel")
    ended(app)
    press(app, "Go on")
    press(app, "Cancel")
    ended(app)
    app.run()
    assert (labels(app), made["a"].begun) == (["Go on"], 2)


def test_a_failed_job_is_reported_and_starts_again_at_a_click(visit, made):
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
    assert texts(app) == ["result it"]


def test_a_job_that_ended_as_the_visitor_left_starts_again_by_itself(visit, made):
    app = visit("a")
    job_of(app).cancel()
    ended(app)
    assert (labels(app), made["a"].begun) == (["Cancel"], 2)


def test_another_request_starts_after_a_cancelled_one(visit, made):
    app = visit("a")
    press(app, "Cancel")
    ended(app)
    ask(app, "b")
    assert (labels(app), made["b"].begun) == (["Cancel"], 1)


def test_another_request_ends_the_job_before(visit, made):
    app = visit("a")
    before = job_of(app)
    ask(app, "b")
    assert before.join(DEADLINE_SECONDS)
    assert before.state is State.CANCELLED
    made["b"].let_on.release()
    ended(app)
    assert texts(app) == ["result other"]
    ask(app, "a")
    before = job_of(app)
    assert not before.over
    ask(app, "b")  # which is cached
    assert texts(app) == ["result other"]
    assert before.join(DEADLINE_SECONDS)
    assert before.state is State.CANCELLED
    assert made["b"].begun == 1


def test_the_oldest_result_makes_room(visit, made):
    app = visit("a")
    for request in "abc":
        ask(app, request)
        made[request].let_on.release()
        ended(app)
    assert app.session_state["results"].cached("abc") == {"b": "other", "c": "third"}


# --- Several results ------------------------------------------------------------------------------


def test_a_request_that_occurs_twice_is_made_once(visit, made):
    app = visit(("a", "a"), page_of_several)
    made["a"].let_on.release()
    ended(app)
    assert (texts(app), made["a"].begun) == (["results {'a': 'it'}"], 1)


def test_each_of_several_is_cached_as_it_comes(visit, made):
    app = visit(("a", "b"), page_of_several)
    assert (texts(app), progress(app)) == (["results {}"], 25)
    let_on(app, made["a"], 0.75)
    assert (texts(app), progress(app)) == (["results {'a': 'it'}"], 75)
    assert texts(visit("a")) == ["result it"]
    made["b"].let_on.release()
    ended(app)
    assert texts(app) == ["results {'a': 'it', 'b': 'other'}"]
    assert not labels(app)


def test_cached_ones_of_several_are_not_made_again(visit, made):
    app = visit("a")
    made["a"].let_on.release()
    ended(app)
    both = visit(("a", "b"), page_of_several)
    assert (texts(both), progress(both)) == (["results {'a': 'it'}"], 50)
    made["b"].let_on.release()
    ended(both)
    assert [made[one].begun for one in "ab"] == [1, 1]


def test_results_of_another_job_are_not_made_again(visit, made):
    both, other = visit(("a", "b"), page_of_several), visit("b")
    made["b"].let_on.release()
    ended(other)
    assert texts(other) == ["result other"]
    made["a"].let_on.release()
    ended(both)
    assert texts(both) == ["results {'a': 'it', 'b': 'other'}"]
    assert [made[one].begun for one in "ab"] == [1, 1]


def test_a_cancelled_job_keeps_its_results_and_goes_on_with_the_rest(visit, made):
    app = visit(("a", "b"), page_of_several)
    let_on(app, made["a"], 0.75)
    press(app, "Cancel")
    ended(app)
    app.run()
    assert texts(app) == ["results {'a': 'it'}"]
    assert app.info[0].value.endswith("Results so far are kept.")
    assert (labels(app), made["b"].begun) == (["Make the rest"], 1)
    press(app, "Make the rest")
    made["b"].let_on.release()
    ended(app)
    assert texts(app) == ["results {'a': 'it', 'b': 'other'}"]
    assert [made[one].begun for one in "ab"] == [1, 2]


def test_results_so_far_are_drawn_in_place_of_a_bar(visit, made):
    app = visit(("a", "b"), page_that_draws)
    assert texts(app) == ["drawn {}"]
    let_on(app, made["a"], 0.75)
    assert texts(app) == ["drawn {'a': 'it'}"]
    assert not app.get("progress")
    assert app.markdown[0].value.startswith("Making … ")


def test_an_end_can_stand_below_the_button(visit, made):
    made["b"].ends = ZeroDivisionError("the loss is not a number")
    made["a"].share = made["b"].share = None
    app = visit(("a", "b"), page_that_draws)
    let_on(app, made["a"], 0.5)
    made["b"].let_on.release()
    ended(app)
    app.run()
    (error,) = app.error
    assert error.value == "Making failed: the loss is not a number. Results so far are kept."
    assert not app.info
    assert (labels(app), texts(app)) == (["Go on"], ["drawn {'a': 'it'}"])


# --- Without room in the cache---------------------------------------------------------------------


@pytest.fixture
def no_room(monkeypatch):
    """Nothing is cached."""
    monkeypatch.setattr(Cache, "put", lambda self, key, item: None)


@pytest.mark.usefixtures("no_room")
def test_a_result_without_room_is_shown_and_made_once(visit, made):
    app = visit("a")
    made["a"].let_on.release()
    ended(app)
    assert (texts(app), made["a"].begun) == (["result it"], 1)
    assert not labels(app)


@pytest.mark.usefixtures("no_room")
def test_all_of_several_without_room_are_shown(visit, made):
    app = visit(("a", "b"), page_of_several)
    for one in "ab":
        made[one].let_on.release()
    ended(app)
    assert texts(app) == ["results {'a': 'it', 'b': 'other'}"]
    assert [made[one].begun for one in "ab"] == [1, 1]


def test_a_result_that_made_room_meanwhile_is_shown(visit, made):
    app = visit("a")
    made["a"].let_on.release()
    ended(app)
    both = visit(("a", "b"), page_of_several)
    both.session_state["results"].cache.clear()
    made["b"].let_on.release()
    ended(both)
    assert texts(both) == ["results {'a': 'it', 'b': 'other'}"]
    assert [made[one].begun for one in "ab"] == [1, 1]


@pytest.mark.usefixtures("no_room")
def test_a_job_is_emptied_once_it_is_shown(visit, made):
    app = visit("a")
    job = job_of(app)
    made["a"].let_on.release()
    ended(app)
    assert not job.items
