"""Nothing is lost of a run that diverges, is cancelled or left."""

from dataclasses import replace

import numpy as np
import pytest

from gating_core.experiments.comparison import Setting, train_setting
from tests.ui.decision_boundary.playing import (
    PAGE,
    QUICK,
    Halted,
    assert_shown,
    at_a_halt,
    endless,
    finish,
    job_of,
    open_boundary,
    picture,
    run_of,
    texts_of,
    totals,
    until,
)
from tests.ui.opening import TIMEOUT_SECONDS
from ui.decision_boundary import controls as boundary_controls
from ui.decision_boundary import frames, training
from ui.decision_boundary.stage import SPARE
from ui.drawing.camera import camera_from
from ui.work import runs
from ui.work.job import State

pytestmark = pytest.mark.usefixtures("quick")


def test_a_run_that_diverges_says_where_and_keeps_what_it_had(monkeypatch):
    wild = replace(boundary_controls.DECISION_BOUNDARY["rate"], words={"0.02": 0.02, "10": 10.0})
    for table in (boundary_controls.DECISION_BOUNDARY, boundary_controls.RUN):
        monkeypatch.setitem(table, "rate", wild)
    assert wild.default == 0.02
    app = open_boundary(optimiser="sgd", rate="10", steps="400")
    run = run_of(app)
    assert run.divergence is not None
    header, _ = assert_shown(app)
    first, _, _ = header["readings"][-1].partition("Step ")
    assert f"at step {run.divergence.step} for seed {run.divergence.members[0][1]}" in first
    assert first.endswith("Shown: what there was before.** ")
    assert 1 < header["frames"] == len(run.frames) < 40
    app.segmented_control(key="optimiser").set_value("adam")
    app.select_slider(key="rate").set_value("0.02").run()
    finish(app)
    assert run_of(app).divergence is None
    assert "diverged" not in picture(app)[0]["readings"][-1]


def test_a_run_that_cannot_start_keeps_the_picture(monkeypatch):
    app = open_boundary()
    before = run_of(app)

    def broken(setting):
        yield 0.1
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(runs, "train_setting", broken)
    app.number_input(key="first").set_value(50).run()
    finish(app)
    assert (
        "Training failed: an error of ours (ZeroDivisionError, in the log as " in app.error[0].value
    )
    assert "secret" not in app.error[0].value
    assert run_of(app) is before
    assert_shown(app)


def test_a_cancelled_run_keeps_its_part_and_goes_on_from_there(monkeypatch):
    whole = run_of(open_boundary(first="60"))
    runs.CACHED_RUNS.clear()
    app = open_boundary()
    halt = Halted(monkeypatch, 20)
    app.number_input(key="first").set_value(60).run()
    at_a_halt(app, 3)
    job_of(app).cancel(by_visitor=True)
    finish(app)
    assert job_of(app).state is State.CANCELLED
    assert "Training was cancelled after" in texts_of(app)
    assert f", at step {run_of(app).steps[-1]} of 50. Results so far are kept." in texts_of(app)
    part = run_of(app)
    assert part.setting.seeds == (60, 61)
    assert 3 <= len(part.frames) < len(whole.frames)
    header, _ = assert_shown(app)
    assert header["frames"] == len(part.frames)
    assert header["camera"] != camera_from(frames.BEGIN_FROM)  # chosen from what there is
    assert header["spare"] == SPARE  # nothing takes room from the pictures
    assert totals(app) == ["total curvature: not measured"] * 2
    app.run()
    assert run_of(app) is part  # it waits for a click

    halt.release.set()
    app.button(key="go_on").click().run()
    finish(app)
    assert run_of(app).steps[: len(part.frames)].tolist() == part.steps.tolist()
    assert run_of(app).steps[-1] == 50
    for name, variant in run_of(app).variants.items():
        for key, array in variant.ensemble.state.items():
            np.testing.assert_array_equal(array, whole.variants[name].ensemble.state[key])
    assert not app.info
    assert "go_on" not in [button.key for button in app.button]
    assert totals(app)[0] == "total curvature **0**: flat"


@pytest.mark.soak  # long
def test_a_run_cancelled_while_it_is_measured_goes_on_measuring(nothing_known, monkeypatch):
    original = training.shared_stream
    monkeypatch.setattr(training, "shared_stream", endless)
    app = open_boundary(finished=False)
    at_a_halt(app, 1)
    until(lambda: training.what(job_of(app).items) != "Training", app)
    job_of(app).cancel(by_visitor=True)
    finish(app)
    assert "Measuring curvature was cancelled" in texts_of(app)
    before = run_of(app)
    assert before.complete
    monkeypatch.setattr(training, "shared_stream", original)
    app.button(key="go_on").click().run()
    finish(app)
    assert run_of(app) is before
    assert totals(app)[0] == "total curvature **0**: flat"


def test_coming_back_after_leaving_in_the_middle_it_goes_on(nothing_known, monkeypatch):
    halt = Halted(monkeypatch, 20)
    app = open_boundary(finished=False)
    at_a_halt(app, 3)
    app.run()
    job, part = job_of(app), run_of(app)
    app.switch_page("app.py").run()
    assert job.join(TIMEOUT_SECONDS)
    assert job.state is State.CANCELLED
    halt.release.set()
    monkeypatch.setattr(runs, "train_setting", None)  # whoever begins anew fails
    for name, value in QUICK.items():
        app.query_params[name] = value
    app.switch_page(PAGE).run()
    finish(app)
    assert job_of(app) is not job
    assert "go_on" not in [button.key for button in app.button]
    assert run_of(app).steps[-1] == 50
    assert run_of(app).steps[: len(part.frames)].tolist() == part.steps.tolist()
    assert_shown(app)


def test_coming_back_without_a_link_finds_the_page_as_it_was():
    app = open_boundary(data="xor", paint="curvature", who="worst right", steps="100")
    before = run_of(app)
    app.switch_page("pages/10_Guide.py").run()
    for name in list(app.query_params):
        del app.query_params[name]
    app.switch_page(PAGE).run()
    finish(app)
    assert run_of(app) is before
    assert app.query_params["data"] in ("xor", ["xor"])
    assert app.slider(key="steps").value == 100
    assert app.segmented_control(key="paint").value == "curvature"
    app.switch_page("app.py").run()
    for name in list(app.query_params):
        del app.query_params[name]
    app.query_params["data"] = "linear"  # a link asks for something else
    app.switch_page(PAGE).run()
    assert app.query_params["data"] in ("linear", ["linear"])


def test_two_runs_never_share_a_number():
    """`id` would: a new run often lies where one lay that is gone."""
    *_, run = train_setting(Setting(seed_count=1, steps=2, points=64))
    seen = {runs.serial(run)}
    for _ in range(50):
        another = replace(run)
        number = runs.serial(another)
        assert number == runs.serial(another)
        assert number not in seen
        seen.add(number)
