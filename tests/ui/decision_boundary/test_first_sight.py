"""What the page opens with is there at once, measured results included, and nothing else."""

import re

import pytest

from gating_core.experiments.comparison import typical_member
from tests.ui.decision_boundary.playing import (
    PAGE,
    Halted,
    at_a_halt,
    finish,
    job_of,
    open_boundary,
    picture,
    run_of,
    texts_of,
)
from tests.ui.opening import open_page
from ui.decision_boundary import parts, training
from ui.decision_boundary.request import FIRST
from ui.decision_boundary.training import MeasurementRequest
from ui.drawing import palette
from ui.drawing.panels import PALE, UNDER
from ui.work import job, runs
from ui.work.cache import Cache
from ui.work.job import State


@pytest.fixture
def fresh(monkeypatch):
    """A server just started."""
    monkeypatch.setattr(runs, "CACHED_RUNS", Cache(1e9))


def refuse(*_, **__):
    raise AssertionError("a fresh server computes what is shipped")


def test_the_default_is_shown_without_any_job(fresh, monkeypatch):
    with monkeypatch.context() as patch:
        for name in ("train_setting", "train_further", "shared_stream"):
            patch.setattr(runs, name, refuse)
        patch.setattr(training, "shared_stream", refuse)
        patch.setattr(job.Job, "start", refuse)
        app = open_page(PAGE)
        assert not app.exception
        assert job_of(app).state is State.DONE
    assert run_of(app).setting == FIRST
    header, arrays = picture(app)
    assert header["stale"] == ""
    assert header["frame"] == header["frames"] - 1 == len(run_of(app).frames) - 1
    assert header["frame_labels"][-1].startswith(f"step {FIRST.steps} ")
    for side in ("left", "right"):
        for part in ("low", "high", "shown", "error"):
            assert arrays[f"curve0_{side}_{part}"].shape == (header["frames"],)
            assert (arrays[f"curve0_{side}_{part}"] >= 0).all()
    assert "is not measured" not in texts_of(app)
    assert "…" not in " ".join(header["columns"][1]["captions"])


def test_what_is_in_a_fold_is_drawn_once_it_is_wanted_and_stays(fresh):
    def drawn():
        return [len(app.get("file_uploader")), len(app.number_input)]

    app = open_page(PAGE)
    assert drawn() == [0, 0]
    for unfolded in ("true", "false"):
        app.query_params["setup"] = app.query_params["own"] = unfolded
        app.run()
        assert drawn() == [1, 1]
    assert open_page(PAGE, first="7").number_input(key="first").value == 7
    assert not app.exception


def test_what_is_known_of_the_default_is_complete(fresh):
    shown = runs.cached_run(FIRST)
    assert not MeasurementRequest().lacks(shown)
    assert not list(MeasurementRequest().measure(shown))
    assert MeasurementRequest().member(shown.run) == typical_member(shown.run)


@pytest.mark.soak  # long
def test_k_of_another_seed_is_measured_when_it_is_looked_at(fresh):
    app = open_page(PAGE, who="best left", paint="curvature")
    finish(app)
    shown = app.session_state[runs.last_key(training.JOB)]
    member = MeasurementRequest("best left").member(shown.run)
    assert member != MeasurementRequest().member(shown.run)
    assert all(training.has_field(shown, (name, member)) for name in FIRST.compared)
    _, arrays = picture(app)
    assert abs(arrays["right_field"]).max() > 0


def test_the_shipped_run_is_trained_on_and_stays_in_sight_meanwhile(fresh, monkeypatch):
    app = open_page(PAGE)
    before = picture(app)[0]
    monkeypatch.setattr(parts, "MORE_STEPS", 50)
    monkeypatch.setattr(training, "OTHERS_COST", 0.0)
    app.run()
    halt = Halted(monkeypatch, 20)
    app.button(key="train_on").click().run()
    at_a_halt(app, 3)
    app.run()
    assert not app.exception
    assert picture(app)[0]["frames"] == before["frames"]  # not back to the first steps
    halt.release.set()
    finish(app)
    run = run_of(app)
    assert run.setting.steps == run.steps[-1] == FIRST.steps + 50
    assert run.resumable


def test_before_a_first_run_there_is_a_place_and_no_other_picture(fresh, inline):
    with inline.busy():
        app = open_boundary(finished=False, data="xor")
        assert not app.exception
        assert not app.get("bidi_component") or not [
            c for c in app.get("bidi_component") if "boundary_view" in c.proto.id
        ]
        assert "Training on xor: no gate and sigmoid gate. The picture appears" in texts_of(app)
    finish(app)
    assert picture(app)[0]["stale"] == ""


def test_colours_of_curvature_have_k_at_once(fresh, monkeypatch):
    monkeypatch.setattr(training, "shared_stream", refuse)
    header, arrays = picture(open_page(PAGE, paint="curvature"))
    assert header["legend"]["note"] != "K is not measured yet"
    assert abs(arrays["right_field"]).max() > 0


def test_the_triangle_of_values_is_filled_by_class_in_every_frame_where_the_sheet_is_flat(fresh):
    """And the sentence over it says how little of it the sheet covers."""
    header, arrays = picture(open_page(PAGE))
    assert "right_ground_class" not in arrays
    scene = header["columns"][0]["panels"][0]
    (ground,) = [trace for trace in scene["traces"] if trace.get("meta") == UNDER]
    assert ground["opacity"] == PALE
    (split,) = [t for t in scene["traces"] if t.get("line", {}).get("color") == palette.INK]
    assert split["x"] == {"array": "left_split_x"}
    classes = arrays["left_ground_class"]
    assert len(classes) == header["frames"]
    assert set(classes[-1]) == {0, 1}
    assert re.search(r"the sheet covers \d\u00a0% of its triangle$",
                     header["columns"][0]["captions"][-1])  # fmt: skip
