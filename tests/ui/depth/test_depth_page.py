"""Does the Depth page show every stack, at once or after its job, and how work goes?"""

import json
from dataclasses import replace

import pytest

from tests.ui.opening import component, mistakes, open_page, report
from tests.ui.payload import unpack
from ui.common.parts import figures
from ui.depth import measured
from ui.depth.parts import VIEW_KEY
from ui.depth.request import SHIPPED, UNTRAINED
from ui.work import cached_jobs
from ui.work.cache import CACHE, NUMBERS_CACHE

PAGE = "pages/4_Depth.py"


@pytest.fixture(scope="module", autouse=True)
def few_seeds():
    """Untrained stacks are measured on few seeds and points: seconds less for each."""

    def forget():
        for cache in (CACHE, NUMBERS_CACHE, figures):
            cache.clear()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measured, "UNTRAINED", replace(UNTRAINED, seed_count=4, grid=7))
        forget()
        yield
        forget()


@pytest.fixture(scope="module")
def first():
    """The page as it opens."""
    return open_page(PAGE, stacked="trained stacks")


def ended(app):
    """The page once its jobs are over."""
    for job, *_ in app.session_state["_jobs"].values() if "_jobs" in app.session_state else ():
        assert job.join(60)
    return app.run()


def cancel(app, name):
    """The visitor cancels the job called ``name``."""
    job, _ = app.session_state["_jobs"][name]
    job.cancel(True)
    assert job.join(60)
    return job


def header(app):
    return json.loads(component(app, VIEW_KEY).proto.bytes)


def sentence(app):
    """What the seeds show."""
    return next(m.value for m in app.markdown if "exponent **" in m.value)


def says(app, text):
    return any(text in caption.value for caption in app.caption)


def test_it_opens_with_three_pictures_in_a_row_and_a_sentence_each():
    """Without a job: what they show is shipped."""
    app = open_page(PAGE)
    assert not app.exception
    assert "_jobs" not in app.session_state or not app.session_state["_jobs"]
    assert [x.proto.alt.split(":")[0] for x in app.get("plotly_chart")] == [
        "|K| at the centre against layers", "|K| at the centre against layers",
        "Total absolute curvature against layers",
    ]  # fmt: skip
    texts = [x.value for x in app.markdown]
    for words in ("**Aligned gates**", "**Random gates**", "**Trained stacks**", "**four times**",
                  "cannot show a difference"):  # fmt: skip
        assert any(words in text for text in texts), words
    assert component(app, VIEW_KEY) is None


def test_each_of_the_three_opens_its_own_stack():
    app = ended(open_page(PAGE).button(key="depth_open_aligned").click().run())
    assert not app.exception
    assert app.query_params["stacked"] in ("aligned gates", ["aligned gates"])
    assert header(app)["frames"] == 16


def test_it_shows_the_shipped_stacks_and_a_frame_for_every_layer(first):
    assert not first.exception
    assert not first.error
    assert "_jobs" not in first.session_state or not first.session_state["_jobs"]
    assert "*ungated* and **" in sentence(first)
    (chart,) = first.get("plotly_chart")
    assert chart.proto.alt.startswith("Total absolute curvature against layers")
    assert says(first, "made by `python -m gating_core.experiments.depth`")
    found, arrays = unpack(component(first, VIEW_KEY).proto.bytes)
    assert (found["frames"], found["frame"], found["stale"]) == (8, 7, "")
    assert arrays["sheet_gaussian"].shape == (8, 31, 31)
    assert len(found["columns"][0]["captions"]) == len(found["readings"]) == 8
    for words in ("asinh scale, the same for all layers", "points exceed it", "not known"):
        assert words in found["legend"]["note"]
    assert not [x for x in first.get("page_link") if "This stack" in x.proto.label]


def test_the_chart_does_not_wait_for_the_replay(monkeypatch):
    """The replay takes seconds on a machine that has just started; here it fails."""
    monkeypatch.setattr(measured, "replayed", lambda *key: 1 / 0)
    app = open_page(PAGE, stacked="trained stacks")
    assert component(app, VIEW_KEY) is None
    assert len(app.get("plotly_chart")) == 1
    assert sentence(app)


@pytest.mark.parametrize(
    ("stacked", "words"),
    [("aligned gates", "theory 2"), ("random gates", "theory 1"), ("random stacks", "*gated*")],
)
def test_every_stack_is_measured(stacked, words):
    app = ended(open_page(PAGE, stacked=stacked, after="3"))
    assert not app.exception
    assert words in sentence(app)
    assert (header(app)["stale"], header(app)["frames"]) == ("", 16)
    links = [x.proto.label for x in app.get("page_link") if "This stack" in x.proto.label]
    manifold = "This stack on *Manifold*, with 3 layers, without and with its gate"
    assert links == [manifold] * (stacked == "random stacks")


def test_until_a_stack_is_measured_the_last_one_is_shown_and_named(monkeypatch, inline):
    """And a visitor who cancels is asked before it begins again."""
    monkeypatch.setattr(cached_jobs, "AT_ONCE_SECONDS", 0.0)
    NUMBERS_CACHE.clear()
    with inline.busy():
        app = open_page(PAGE, stacked="random gates", quantity="diameter")
        assert not app.exception
        stale = "Still showing trained stacks. Random gates are not measured yet."
        assert header(app)["stale"] == stale
        assert header(app)["frames"] == 8
        assert sentence(app).startswith("Diameter of the surface **")
        job = cancel(app, measured.RESULTS.name)
        app.run()
        assert any("was cancelled" in box.value for box in app.info)
    app.run()  # nothing starts by itself
    assert app.session_state["_jobs"][measured.RESULTS.name][0] is job
    app.button(key=f"{measured.RESULTS.name}_again_button").click().run()
    assert header(ended(app))["stale"] == ""
    assert "for *random gates*" in sentence(app)


def test_layer_and_point_of_the_link_are_shown_and_the_layer_that_play_ends_at_is_linked():
    app = open_page(PAGE, stacked="trained stacks", after="3", spot="4.5")
    assert (header(app)["frame"], header(app)["pick"]) == (2, [4, 5])
    report(app, VIEW_KEY, "stop", {"frame": 4})
    assert app.query_params["after"] == "5"
    assert header(app)["frame"] == 4


def test_a_shallower_stack_has_fewer_frames():
    found = header(
        open_page(PAGE, stacked="trained stacks", tall="3", after="8", gated="ungated", twin="2")
    )
    assert (found["frames"], found["frame"]) == (3, 2)
    assert found["columns"][0]["heading"] == "One stack, ungated, seed 2"


def test_bad_links_are_one_sentence_each():
    app = open_page(PAGE, stacked="turtles", twin="99", after="17", tall="5")
    assert not app.exception
    assert len(mistakes(app)) == 4
    assert len(app.get("plotly_chart")) == 3


def test_stacks_are_trained_again_on_request(monkeypatch):
    """What a job does is the core's: here it gives back the shipped ones."""
    requests = []

    def train_depths(request):
        requests.append(request)
        yield 0.5
        yield measured.shipped()

    monkeypatch.setattr(measured, "train_depths", train_depths)
    app = open_page(PAGE, stacked="trained stacks")
    try:
        app = ended(app.button(key="train_depths").click().run())
        assert requests == [SHIPPED]
        assert not app.exception
        assert says(app, "Trained again on this server")
    finally:
        NUMBERS_CACHE.clear()


def test_stacks_that_nobody_has_trained_are_not_made_up(monkeypatch, inline):
    """Nor after a training that was cancelled."""
    monkeypatch.setattr(measured, "train_depths", lambda request: iter([0.25]))
    app = open_page(PAGE, stacked="trained stacks", start="40")
    assert not app.exception
    assert says(app, "from seed 40 are not trained yet")
    assert header(app)["stale"].endswith("Trained stacks from seed 40 are not trained yet.")
    assert app.button(key="train_depths").label == "Train"
    with inline.busy():
        app.button(key="train_depths").click().run()
        cancel(app, measured.TRAINING)
    app.run()
    assert not app.exception
    (box,) = app.info
    assert "Training was cancelled" in box.value
    assert "kept" not in box.value
    assert says(app, "from seed 40 are not trained yet")


def test_all_stacks_stand_side_by_side():
    app = ended(open_page(PAGE, every="true", theory="true"))
    assert not app.exception
    (table,) = app.table
    assert len(table.value) == 13
    assert {"Exponent", "With depth"} <= set(table.value.columns)
    assert any("our reading" in m.value.lower() for m in app.markdown)
