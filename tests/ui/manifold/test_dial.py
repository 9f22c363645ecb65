"""Is a model shown at its own strength at once, a moment later at all, and so for everybody?"""

import threading

import pytest

from tests.ui.manifold.held import held_in
from tests.ui.manifold.test_manifold_page import payload
from tests.ui.opening import TIMEOUT_SECONDS, open_page
from ui.manifold import dial
from ui.work import together
from ui.work.job import State

PAGE = "pages/1_Manifold.py"
ALL = [f"λ = {i / 20:.2f}" for i in range(21)]


@pytest.fixture
def held(monkeypatch):
    with held_in(together, dial.DIALS, monkeypatch) as held:
        yield held


def job_of(app):
    return app.session_state["_jobs"][dial.DIALS.name][0]


def labels(app):
    return payload(app)[0]["frame_labels"]


def let_go(app, held):
    held.go.set()
    assert job_of(app).join(TIMEOUT_SECONDS)
    app.run()
    assert not app.exception


def test_the_strength_asked_for_is_there_first_then_all(held):
    app = open_page(PAGE, grid="31", **{"lambda": "0.35"})
    assert labels(app) == ["λ = 0.35"]
    before = payload(app)
    let_go(app, held)
    after = payload(app)
    assert labels(app) == ALL
    assert after[0]["frame"] == 7
    assert after[0]["readings"][7] == before[0]["readings"][0]
    assert after[0]["scene"] == before[0]["scene"]  # the camera stays, if the visitor has turned it
    for name in ("right_x", "right_gaussian"):
        assert (after[1][name][7] == before[1][name]).all()


def test_what_is_measured_once_is_there_for_others(held):
    let_go(open_page(PAGE, grid="31"), held)
    asked = len(held.asked)
    assert sum(map(len, held.asked)) == len(ALL)
    assert labels(open_page(PAGE, grid="31")) == ALL
    assert labels(open_page(PAGE, grid="31", **{"lambda": "0.5"})) == ALL
    assert len(held.asked) == asked


def test_who_cancels_keeps_one_strength_and_is_asked(held):
    app = open_page(PAGE, grid="31")
    first = job_of(app)
    first.cancel(declined=True)
    assert first.join(TIMEOUT_SECONDS)
    app.run()
    assert job_of(app) is first
    assert labels(app) == ["λ = 1.00"]
    app.button(key="strengths_again_button").click().run()
    assert job_of(app) is not first
    let_go(app, held)
    assert labels(app) == ALL


def test_another_model_ends_what_is_measured_of_the_last(held):
    app = open_page(PAGE, grid="31")
    first = job_of(app)
    app.number_input(key="model").set_value(7).run()
    assert first.join(TIMEOUT_SECONDS)
    assert first.state is State.CANCELLED
    assert job_of(app).about != first.about


def test_doubt_measures_no_strength_but_the_one_asked_for(held):
    app = open_page(PAGE, grid="31", tab="Doubt")
    assert not app.exception
    assert not held.asked


def test_what_is_done_while_the_page_is_drawn_is_drawn_with_it(monkeypatch):
    """The job ends after the page has looked for all strengths, before it would watch the job."""
    dial.DIALS._found.clear()
    real, answers = dial.DIALS.known, [{}, {}]

    def known(wanted):
        of_the_page = answers and threading.current_thread().name != "job"
        return answers.pop() if of_the_page else real(wanted)

    monkeypatch.setattr(dial.DIALS, "known", known)
    assert labels(open_page(PAGE, grid="31")) == ALL
    assert not answers
