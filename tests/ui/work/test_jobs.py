"""Jobs on a page: their progress, their end, and the visitor's leaving."""

import re
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.work.work import (
    DEADLINE_SECONDS,
    Work,
    await_true,
    failing,
    labels,
    press,
    tick,
)
from ui.work import jobs
from ui.work.job import WAITING, State


def page():
    import streamlit as st

    from ui.work import jobs

    jobs.arrive(st.session_state.get("at", "home"))
    if st.button("Start"):
        jobs.start("work", st.session_state["make"], expected=(ZeroDivisionError,))
    job = jobs.current("work")
    if job is not None:
        jobs.watch(
            job,
            lambda items: st.text(f"drawn {items}"),
            what="Work",
            share=lambda items: len(items) / 10,
        )
        jobs.draw_end(job, "Work", job.items)


@pytest.fixture
def visit(monkeypatch, nothing_is_left):
    """A visitor's page, opened, with the button pressed."""
    monkeypatch.setattr(jobs, "QUIET_SECONDS", 0.0)
    opened = []

    def start(make):
        app = AppTest.from_function(page, default_timeout=DEADLINE_SECONDS)
        app.session_state["make"] = make
        opened.append(app)
        press(app.run(), "Start")
        return app, app.session_state["_jobs"]["work"][0]

    yield start
    for app in opened:
        for job, _ in app.session_state["_jobs"].values():
            job.forget()


def test_a_page_follows_a_job_to_its_end(visit):
    work = Work(step=True)
    app, job = visit(work)
    work.let_on.release()
    await_true(lambda: job.items)
    app.run()
    (progress,) = app.get("progress")
    assert progress.proto.text.startswith("Work … ")
    assert progress.proto.value == 10
    assert app.text[0].value == "drawn [0]"
    job.cancel()
    app.run()
    assert labels(app) == ["Start", "Stopping …"]
    work.let_on.release()
    assert job.join(DEADLINE_SECONDS)
    app.run()
    assert labels(app) == ["Start"]
    assert app.text[0].value == "drawn [0, 1]"
    assert "Work was cancelled after 0 s. Results so far are kept." in app.info[0].value


def test_a_finished_job_leaves_only_its_picture(visit):
    app, job = visit(lambda: iter("ab"))
    assert job.join(DEADLINE_SECONDS)
    app.run()
    assert app.text[0].value == "drawn ['a', 'b']"
    assert (labels(app), len(app.info), len(app.error)) == (["Start"], 0, 0)
    assert not app.exception


def test_a_failure_is_a_sentence(visit):
    app, job = visit(failing)
    assert job.join(DEADLINE_SECONDS)
    app.run()
    assert app.error[0].value == "Work failed: the count went astray. Results so far are kept."
    assert app.text[0].value == "drawn ['kept', 'too']"
    assert not app.exception


@pytest.mark.parametrize("begun", [False, True])
def test_a_wait_for_a_worker_is_said(visit, begun):
    def waiting():
        yield from ["begun"] if begun else []
        while True:
            tick()
            yield WAITING

    app, job = visit(waiting)
    await_true(lambda: job.waiting)
    app.run()
    text = app.get("progress")[0].proto.text
    assert re.fullmatch("Work: waiting( after 0 s)? for a free worker", text)
    assert ("after" in text) == begun
    assert app.text[0].value == f"drawn {['begun'] if begun else []}"
    press(app, "Cancel")
    assert job.join(DEADLINE_SECONDS)
    app.run()
    assert app.info[0].value.startswith(
        "Work was cancelled after 0 s." if begun else "Work was cancelled before it began."
    )


def test_a_new_job_replaces_the_old_one(visit):
    app, old = visit(Work())
    press(app, "Start")
    assert old.join(DEADLINE_SECONDS)
    assert old.state is State.CANCELLED
    new, _ = app.session_state["_jobs"]["work"]
    assert not new.over


def two_jobs():
    import streamlit as st

    from ui.work import jobs

    first, second = st.session_state["both"]
    jobs.watch(first, lambda items: first.cancel() or first.join(30.0), what="First")
    jobs.watch(second, lambda items: None, what="Second")


def test_the_keys_of_two_jobs_differ_although_one_ends_meanwhile(monkeypatch):
    monkeypatch.setattr(jobs, "QUIET_SECONDS", 0.0)
    both = [jobs.Job(Work(), kind=kind).start() for kind in ("first", "second")]
    app = AppTest.from_function(two_jobs, default_timeout=DEADLINE_SECONDS)
    app.session_state["both"] = both
    app.session_state["_jobs"] = {kind: (job, "") for kind, job in zip("ab", both, strict=True)}
    app.run()
    assert not app.exception
    assert labels(app) == ["Cancel", "Cancel"]
    both[1].cancel()
    assert both[1].join(DEADLINE_SECONDS)


def keys(node):
    """The protos of all containers, whose ids contain their keys."""
    children = getattr(node, "children", {}).values()
    return " ".join([str(node.proto), *map(keys, children)])


def page_with_dock():
    import streamlit as st

    from ui.work import jobs

    with jobs.dock("work", "this"):
        job = jobs.current("work")
        if jobs.starts_again(job, jobs.clicked_again("work")):
            st.text("started again")
        elif job.needs_click:
            jobs.draw_again("work", "Go on", "play_arrow", "go_on")


@pytest.mark.parametrize("about", ["this", "that"])
def test_the_end_of_a_job_is_docked_until_a_click(run, about):
    job = run(Work(), about=about)
    await_true(lambda: job.items)
    job.cancel(True)
    assert job.join(DEADLINE_SECONDS)
    app = AppTest.from_function(page_with_dock, default_timeout=DEADLINE_SECONDS)
    app.session_state["_jobs"] = {"work": (job, "")}
    app.run()
    (button,) = app.button
    assert ("dock-ended-work" in keys(app.main)) == (about == "this")
    button.click().run()
    assert [text.value for text in app.text] == ["started again"]
    assert "dock-ended" not in keys(app.main)


def test_another_page_of_the_session_ends_the_job(visit):
    app, job = visit(Work())
    app.run()
    assert not job.stopping
    app.session_state["at"] = "elsewhere"
    app.run()
    assert job.join(DEADLINE_SECONDS)
    assert job.state is State.CANCELLED


@pytest.mark.parametrize("returns", [False, True])
def test_a_session_that_ends_takes_its_job_along_unless_it_is_back_soon(
    visit, clock, monkeypatch, returns
):
    active = [True]
    server = SimpleNamespace(is_active_session=lambda session: active[0])
    monkeypatch.setattr(
        jobs, "runtime", SimpleNamespace(exists=lambda: True, get_instance=lambda: server)
    )
    monkeypatch.setattr(jobs, "time", clock)
    _, job = visit(Work())

    def pass_seconds(seconds):
        clock.now += seconds
        seen = len(job.items)
        await_true(lambda: job.over or len(job.items) > seen + 2)

    pass_seconds(100.0)
    active[0] = False
    pass_seconds(jobs.RETURN_SECONDS - 0.5)
    assert not job.over
    active[0] = returns
    pass_seconds(1.1)
    pass_seconds(1.1)
    assert job.over != returns
    assert returns or job.state is State.CANCELLED
