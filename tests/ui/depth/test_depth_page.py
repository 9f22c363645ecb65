"""Does the page of depth show every stack, at once or after its job, and say how it goes?"""

import json

import pytest

from tests.ui.opening import component, mistakes, open_page, report
from tests.ui.payload import unpack
from ui.depth import measured
from ui.depth.controls import VIEW_KEY
from ui.depth.request import SHIPPED
from ui.work import cached_jobs

PAGE = "pages/4_Depth.py"


def ended(app):
    """The page once its jobs are over."""
    for job, *_ in app.session_state["_jobs"].values() if "_jobs" in app.session_state else ():
        assert job.join(60)
    return app.run()


def header(app):
    return json.loads(component(app, VIEW_KEY).proto.bytes)


def sentence(app):
    return next(m.value for m in app.markdown if "ystematic in" in m.value)


@pytest.fixture(scope="module")
def first():
    """The page as it opens."""
    return open_page(PAGE)


def test_it_opens_with_the_shipped_stacks_and_starts_no_job(first):
    assert not first.exception
    assert not first.error
    assert "_jobs" not in first.session_state or not first.session_state["_jobs"]
    assert "ungated" in sentence(first)
    (chart,) = first.get("plotly_chart")
    assert chart.proto.alt.startswith("Total absolute curvature against layers")
    assert any("python -m gating_core.experiments.depth" in c.value for c in first.caption)


def test_the_chart_does_not_wait_for_the_replay(monkeypatch):
    """Whose measuring takes seconds on a machine that has just started; here it never ends well."""
    monkeypatch.setattr(measured, "replayed", lambda *key: 1 / 0)
    app = open_page(PAGE)
    assert component(app, VIEW_KEY) is None
    assert len(app.get("plotly_chart")) == 1
    assert "ystematic in" in sentence(app)


def test_its_replay_has_a_frame_for_every_layer(first):
    found, arrays = unpack(component(first, VIEW_KEY).proto.bytes)
    assert found["frames"] == 8
    assert found["frame"] == 7
    assert arrays["sheet_gaussian"].shape == (8, 31, 31)
    assert len(found["columns"][0]["captions"]) == len(found["readings"]) == 8
    assert found["stale"] == ""


@pytest.mark.parametrize(
    ("stacked", "said"),
    [("aligned gates", "theory 2"), ("random gates", "theory 1"), ("random stacks", "gated")],
)
def test_every_stack_is_measured_and_told(stacked, said):
    app = ended(open_page(PAGE, stacked=stacked))
    assert not app.exception
    assert said in sentence(app)
    assert header(app)["stale"] == ""
    assert header(app)["frames"] == 16


def test_until_a_stack_is_measured_the_last_one_is_shown_and_named(monkeypatch, inline):
    monkeypatch.setattr(cached_jobs, "AT_ONCE_SECONDS", 0.0)
    measured.RESULTS.cache.clear()
    with inline.busy():
        app = open_page(PAGE, stacked="random gates", quantity="diameter")
        assert not app.exception
        assert header(app)["stale"] == "Still trained stacks. Random gates: not there yet."
        assert header(app)["frames"] == 8
        assert "in the diameter" in sentence(app)
    assert header(ended(app))["stale"] == ""


def test_a_layer_and_a_point_in_the_link_are_shown():
    found = header(open_page(PAGE, after="3", spot="4.5"))
    assert found["frame"] == 2
    assert found["pick"] == [4, 5]


def test_the_layer_that_play_ends_at_stands_in_the_link():
    app = report(open_page(PAGE), VIEW_KEY, "stop", {"frame": 4})
    assert app.query_params["after"] == "5"
    assert header(app)["frame"] == 4


def test_a_shallower_stack_has_fewer_frames():
    found = header(open_page(PAGE, tall="3", after="8", gated="ungated", twin="2"))
    assert (found["frames"], found["frame"]) == (3, 2)
    assert found["columns"][0]["heading"] == "One stack, ungated, seed 2"


def test_bad_links_are_one_sentence_each():
    app = open_page(PAGE, stacked="turtles", twin="99", after="17", tall="5")
    assert not app.exception
    assert len(mistakes(app)) == 4
    assert header(app)["frames"] == 8


def test_stacks_are_trained_again_on_request(monkeypatch):
    """What a job does is the core's: here it gives back the shipped ones."""
    asked = []

    def train_depths(request):
        asked.append(request)
        yield 0.5
        yield measured.shipped()

    monkeypatch.setattr(measured, "train_depths", train_depths)
    app = open_page(PAGE)
    try:
        app.button(key="train_depths").click().run()
        app = ended(app)
        assert asked == [SHIPPED]
        assert not app.exception
        assert any("Trained again on this server" in c.value for c in app.caption)
    finally:
        measured._trained.clear()


def test_stacks_that_nobody_has_trained_are_not_made_up():
    app = open_page(PAGE, start="40")
    assert not app.exception
    assert any("from seed 40 are not trained yet" in c.value for c in app.caption)
    assert "seed 40: not there yet" in header(app)["stale"]
    assert app.button(key="train_depths").label == "Train"


def test_all_stacks_stand_side_by_side():
    app = ended(open_page(PAGE, every="true", theory="true"))
    assert not app.exception
    (table,) = app.table
    assert len(table.value) == 13
    assert {"Exponent", "It"} <= set(table.value.columns)
    assert any("our reading" in m.value.lower() for m in app.markdown)


def test_a_training_that_is_cancelled_says_that_nothing_is_there(monkeypatch, inline):
    monkeypatch.setattr(measured, "train_depths", lambda request: iter([0.25]))
    app = open_page(PAGE, start="7")
    with inline.busy():
        app.button(key="train_depths").click().run()
        job, _ = app.session_state["_jobs"][measured.TRAINING]
        job.cancel(True)
        assert job.join(60)
    app.run()
    assert not app.exception
    assert any("Training was cancelled" in box.value for box in app.info)
    assert not any("kept" in box.value for box in app.info)
    assert any("from seed 7 are not trained yet" in c.value for c in app.caption)


def test_a_measuring_that_is_cancelled_waits_for_a_click(monkeypatch, inline):
    monkeypatch.setattr(cached_jobs, "AT_ONCE_SECONDS", 0.0)
    measured.RESULTS.cache.clear()
    with inline.busy():
        app = open_page(PAGE, stacked="random gates")
        job, _ = app.session_state["_jobs"][measured.RESULTS.name]
        job.cancel(True)
        assert job.join(60)
        app.run()
        assert any("was cancelled" in box.value for box in app.info)
    app.run()  # nothing starts by itself
    assert app.session_state["_jobs"][measured.RESULTS.name][0] is job
    app.button(key=f"{measured.RESULTS.name}_again_button").click().run()
    assert "theory 1" in sentence(ended(app))


def test_a_random_stack_has_a_way_to_manifold_and_others_have_none(first):
    app = ended(open_page(PAGE, stacked="random stacks", after="3"))
    links = [x.proto.label for x in app.get("page_link") if "This stack" in x.proto.label]
    assert links == ["This stack on *Manifold*, with 3 layers, without and with its gate"]
    assert not [x for x in first.get("page_link") if "This stack" in x.proto.label]
