"""A run can be trained on, rewound and begun anew."""

import numpy as np
import pytest

from gating_core.training.trained import mean_interval
from tests.ui.decision_boundary.playing import (
    PAGE,
    Halted,
    assert_shown,
    finish,
    job_of,
    open_boundary,
    picture,
    run_of,
    table_of,
    texts_of,
    until,
)
from tests.ui.opening import data_of, open_page
from ui.decision_boundary import parts, training
from ui.decision_boundary.request import WHO
from ui.work import runs

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """A run is trained on by fewer steps."""
    monkeypatch.setattr(parts, "MORE_STEPS", 50)


def accuracies(run):
    return {name: v.ensemble.test_accuracy for name, v in run.variants.items()}


@pytest.mark.soak  # long
def test_train_on_is_what_a_long_run_would_have_been(monkeypatch):
    app = open_boundary()
    short = run_of(app)
    with monkeypatch.context() as patch:
        patch.setattr(runs, "train_setting", None)  # it is continued: whoever begins anew fails
        app.button(key="train_on").click().run()
        finish(app)
    longer = run_of(app)
    assert app.slider(key="steps").value == 100
    assert app.query_params["steps"] in ("100", ["100"])
    assert longer.setting.steps == longer.steps[-1] == 100
    assert longer.steps[: len(short.frames)].tolist() == short.steps.tolist()
    runs.CACHED_RUNS.clear()  # or that one would be found again
    whole = run_of(open_boundary(steps="100"))
    assert whole is not longer
    for name, variant in longer.variants.items():
        np.testing.assert_array_equal(
            variant.ensemble.test_accuracy[-1], whole.variants[name].ensemble.test_accuracy[-1]
        )
        np.testing.assert_array_equal(
            variant.ensemble.train_accuracy[-1], whole.variants[name].ensemble.train_accuracy[-1]
        )
        for part, array in variant.ensemble.state.items():
            np.testing.assert_array_equal(array, whole.variants[name].ensemble.state[part])
    assert picture(app)[0]["frame_labels"][-1].startswith("step 100 ·")


@pytest.mark.soak  # long
def test_other_seeds_of_a_large_model_are_measured_on_request(monkeypatch):
    monkeypatch.setattr(training, "OTHERS_COST", 0.0)
    app = open_boundary(seeds="3", steps="50", first="77")
    shown = training.COMPLETE
    assert len(app.session_state[shown].along) == 2  # both sides of the shown seed
    assert len(app.session_state[shown].final) == 2
    app.button(key="measure_others").click().run()
    finish(app)
    assert len(app.session_state[shown].along) == 6
    assert not [x for x in app.button if x.key == "measure_others"]
    again = open_boundary(seeds="3", steps="50", first="77")
    assert not [x for x in again.button if x.key == "measure_others"]  # once for everybody


@pytest.mark.soak  # long
def test_training_on_is_called_training(monkeypatch):
    app = open_boundary(seeds="3")
    halt = Halted(monkeypatch, 3)
    app.button(key="train_on").click().run()
    until(lambda: 0.5 in job_of(app).items, app)
    assert training.what(job_of(app).items) == "Training"
    assert training.share_of(job_of(app).items) <= 0.5
    halt.release.set()
    finish(app)
    assert run_of(app).steps[-1] == 100


def test_rewind_shows_the_start_until_something_else_is_looked_at():
    app = open_boundary(seeds="3")
    app.button(key="train_on").click().run()
    finish(app)
    before, last = run_of(app), picture(app)[0]["frames"] - 1
    assert picture(app)[0]["frame"] == last > 20
    serials = {picture(app)[0]["serial"]}
    app.button(key="rewind").click().run()
    assert run_of(app) is before  # the same again would be the same
    assert app.slider(key="steps").value == 100
    assert picture(app)[0]["frame"] == 0
    serials.add(picture(app)[0]["serial"])
    app.button(key="rewind").click().run()
    serials.add(picture(app)[0]["serial"])
    assert len(serials) == 3  # each time the view hears of it
    app.run()
    assert picture(app)[0]["frame"] == 0
    shown = training.MeasurementRequest().member(before)
    other = next(w for w in WHO if training.MeasurementRequest(w).member(before) != shown)
    app.selectbox(key="who").set_value(other).run()
    assert picture(app)[0]["frame"] == last


@pytest.mark.soak  # long
def test_each_optimiser_begins_at_a_rate_that_suits_it():
    app = open_boundary()
    app.segmented_control(key="optimiser").set_value("sgd").run()
    finish(app)
    setting = run_of(app).setting
    assert (setting.learning_rate, setting.momentum) == (0.1, 0.9)
    app.segmented_control(key="optimiser").set_value("adam").run()
    finish(app)
    setting = run_of(app).setting
    assert (setting.learning_rate, setting.momentum) == (0.02, 0.0)


def test_more_variants_stand_in_the_table_and_the_strip():
    app = open_boundary(also=["silu", "half"], seeds="4")
    assert_shown(app)
    table = table_of(app)
    titles = ["no gate", "sigmoid gate", "SiLU gate", "constant gate of ½"]
    assert list(table["Variant"]) == titles
    (against,) = [name for name in table if name.startswith("Against")]
    run = run_of(app)
    finals = {n: 100 * v.ensemble.test_accuracy[-1] for n, v in run.variants.items()}
    for name, text in zip(run.variants, table[against], strict=True):
        gaps = finals[name] - finals["ungated"]
        if name == "ungated":
            assert text == "–"
        else:
            interval = mean_interval(gaps)
            mean, half = text.removesuffix(" points").replace("−", "-").split(" ± ")
            assert abs(float(mean) - interval.mean) <= 0.051
            assert 0 <= float(half) - interval.half_width < 0.1
    strip = data_of(app, "seed_strip")
    assert [row["name"] for row in strip["rows"]] == titles


@pytest.mark.soak  # long
def test_new_seeds_are_none_of_the_old():
    app = open_boundary(seeds="3", first="4")
    before = run_of(app)
    app.button(key="new_seeds").click().run()
    finish(app)
    assert run_of(app).setting.seeds == (7, 8, 9)
    assert not set(run_of(app).setting.seeds) & set(before.setting.seeds)
    assert app.number_input(key="first").value == 7


def test_new_seeds_are_in_the_link_although_their_control_is_folded():
    app = open_page(PAGE)
    assert not app.number_input
    for first in ("16", "32"):
        app.button(key="new_seeds").click().run()
        job_of(app).cancel()
        assert "".join(app.query_params["first"]) == first  # a text, or a list of one
        assert app.number_input(key="first").value == int(first)


def test_after_the_last_seed_and_an_emptied_box_comes_the_first():
    app = open_boundary(first="9999")
    app.button(key="new_seeds").click().run()
    finish(app)
    assert run_of(app).setting.seeds == (0, 1)
    app.number_input(key="first").set_value(None).run()
    finish(app)
    assert run_of(app).setting.seeds == (0, 1)


def test_looking_differently_trains_nothing():
    app = open_boundary(seeds="3")
    before = run_of(app)
    first = picture(app)[0]
    for value in ("worst right", "best left"):
        app.selectbox(key="who").set_value(value).run()
    app.segmented_control(key="paint").set_value("curvature").run()
    app.toggle(key="discrete").set_value(True).run()
    assert run_of(app) is before
    assert picture(app)[0]["serial"].split()[0] == first["serial"].split()[0]


def test_a_picked_seed_is_shown():
    app = open_boundary(seeds="3", who="picked", picked_seed="1")
    headings = [column["heading"] for column in picture(app)[0]["columns"][:2]]
    assert headings == ["no gate · seed 1", "sigmoid gate · seed 1"]
    assert "Seed 1 is shown. You picked it." in texts_of(app)
