"""Does the page draw before its totals are refined, and are they refined once for everybody?"""

import pytest

from tests.ui.manifold.held import held_in
from tests.ui.opening import TIMEOUT_SECONDS, open_page
from ui.manifold import totals
from ui.work.job import State

PAGE = "pages/1_Manifold.py"


@pytest.fixture
def held(monkeypatch):
    with held_in(totals, totals.TOTALS, monkeypatch) as held:
        yield held


def job_of(app):
    return app.session_state["_jobs"][totals.TOTALS.name][0]


def numbers(app):
    return [metric.value for metric in app.metric[::2]]


def test_pictures_wait_for_no_totals_and_others_find_them(held):
    app = open_page(PAGE, grid="31")
    assert app.get("bidi_component")  # the picture is there
    assert numbers(app) == ["…", "…"]
    assert not job_of(app).over
    held.go.set()
    assert job_of(app).join(TIMEOUT_SECONDS)
    app.run()
    assert not app.exception
    first = numbers(app)
    assert first[0] == "0"
    assert "±" in first[1]
    asked = len(held.asked)
    assert asked == 2
    assert numbers(open_page(PAGE, grid="31")) == first
    assert len(held.asked) == asked


def test_who_cancels_is_asked_and_who_turns_to_another_model_leaves_none_behind(held):
    app = open_page(PAGE, grid="31")
    first = job_of(app)
    first.cancel(declined=True)
    assert first.join(TIMEOUT_SECONDS)
    app.run()
    assert job_of(app) is first
    assert first.state is State.CANCELLED
    assert numbers(app) == ["…", "…"]
    app.button(key="totals_again_button").click().run()
    second = job_of(app)
    assert second is not first
    app.number_input(key="model").set_value(7).run()
    assert second.join(TIMEOUT_SECONDS)
    assert second.state is State.CANCELLED
    assert job_of(app).about != second.about


def test_doubt_says_which_integrals_are_not_there_yet(held):
    app = open_page(PAGE, grid="31", tab="Doubt")
    table = app.table[1].value
    assert set(table.to_numpy()[:, 1:].ravel()) == {"…"}
    held.go.set()
    assert job_of(app).join(TIMEOUT_SECONDS)
    app.run()
    assert "…" not in set(app.table[1].value.to_numpy().ravel())
    assert "Difference" in app.table[1].value
