"""What of a run is there while it trains, and who waits for whom."""

import pytest
from streamlit.testing.v1 import AppTest

from gating_core.experiments.comparison.run import TrainedRun
from tests.ui.decision_boundary.playing import (
    Halted,
    assert_shown,
    at_a_halt,
    endless,
    finish,
    job_of,
    open_boundary,
    run_of,
    table_of,
    texts_of,
    totals,
    until,
)
from tests.ui.opening import ROOT
from ui.decision_boundary import training
from ui.work import runs

pytestmark = pytest.mark.usefixtures("quick")


def test_numbers_are_those_of_a_complete_run_and_say_whose(monkeypatch):
    app = open_boundary()
    before = table_of(app)
    halt = Halted(monkeypatch, 20)
    app.number_input(key="first").set_value(60).run()
    at_a_halt(app, 3)
    app.run()
    assert "the previous run, until the new one is complete" in texts_of(app)
    assert table_of(app) == before
    halt.release.set()
    finish(app)
    assert "the run before" not in texts_of(app)
    assert run_of(app).setting.seeds == (60, 61)
    assert app.session_state[training.COMPLETE].run is run_of(app)


def test_numbers_are_there_while_curvature_is_measured(monkeypatch):
    monkeypatch.setattr(training, "shared_stream", endless)
    app = open_boundary(finished=False, first="70")
    until(lambda: training.what(job_of(app).items) != "Training", app)
    app.run()
    assert not job_of(app).over
    assert "After step 50" in texts_of(app)
    assert totals(app) == ["total curvature is being measured …"] * 2
    job_of(app).cancel()


def test_a_setting_that_was_run_before_is_there_at_once(monkeypatch):
    first = run_of(open_boundary(first="80"))
    monkeypatch.setattr(runs, "train_setting", None)  # whoever trains now fails
    app = open_boundary(finished=False, first="80")
    assert_shown(app)
    assert run_of(app) is first
    finish(app)


def test_drawing_waits_for_nobody(inline):
    """Two others who train must not keep a visitor from seeing what there is."""
    app = open_boundary()
    with inline.busy():
        app.selectbox(key="who").set_value("worst right").run(timeout=10)
        assert not app.exception
        assert_shown(app)
    finish(app)


@pytest.mark.parametrize("page", ["app.py", "pages/1_Manifold.py"])
def test_other_pages_wait_for_nobodys_training(page, inline):
    with inline.busy():
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=20)
        app.query_params["strength"] = "0.35"
        app.query_params["model"] = "4711"
        app.run()
        app.switch_page(page).run()
        assert not app.exception
        assert app.get("bidi_component")


def test_a_job_keeps_one_run_not_all_its_moments():
    app = open_boundary(steps="100")
    runs = [item for item in job_of(app).items if isinstance(item, TrainedRun)]
    assert len(runs) == 1
