"""A link restores an experiment, and what cannot be gets a sentence."""

import numpy as np
import pytest

from gating_core.experiments.comparison import (
    TOKENS_ONLY,
    VARIANTS,
    Setting,
    layer_maps,
    train_setting,
)
from gating_core.tasks import TASKS
from tests.ui.decision_boundary.playing import assert_shown, finish, open_boundary, picture, run_of
from tests.ui.opening import mistakes, notes
from ui.decision_boundary.frame_words import captions, frame_labels, readings
from ui.decision_boundary.frames import curves_of, frames_of
from ui.decision_boundary.inside import inside_figure
from ui.decision_boundary.request import BoundaryView
from ui.decision_boundary.words import table, table_note
from ui.work import runs

pytestmark = pytest.mark.usefixtures("quick")


def test_a_link_restores_an_experiment():
    query = dict(data="blobs3", left="silu", right="tanh", who="worst right", paint="curvature",
                 noise="0.1", flip="0.04", share="0.5", width="4", slots="3", attention_heads="2",
                 stack="2", skip="true", rms="pre", out="true", optimiser="sgd", rate="0.05",
                 batch="16", decay="0.1", soft="0.05", first="7", seeds="2", steps="50",
                 points="64",
                 discrete="true", setup="true")  # fmt: skip
    query["from"] = "tokens"
    query["also"] = ["value"]
    app = open_boundary(**query)
    assert not app.warning
    (note,) = notes(app)
    assert "spread out, by 0.05 × their entropy" in note
    setting = run_of(app).setting
    assert setting.variants == ("silu", "tanh", "value")
    assert (setting.task, setting.source) == ("blobs3", "tokens")
    assert (setting.points, setting.train_share, setting.noise) == (64, 0.5, 0.1)
    assert (setting.label_noise, setting.balance, setting.model_dim) == (0.04, None, 4)
    assert (setting.value_count, setting.heads, setting.depth) == (3, 2, 2)
    assert (setting.residual, setting.norm, setting.output_projection) == (True, "pre", True)
    assert (setting.optimiser, setting.learning_rate, setting.batch_size) == ("sgd", 0.05, 16)
    assert (setting.weight_decay, setting.seeds, setting.steps) == (0.1, (7, 8), 50)
    assert setting.entropy_bonus == 0.05
    assert setting.momentum == 0.9
    header, arrays = assert_shown(app)
    assert header["legend"]["low"].startswith("K =")
    runs.CACHED_RUNS.clear()  # trained once more
    another = open_boundary(**query)
    assert run_of(another) is not run_of(app)
    again_header, again = picture(another)
    assert again_header["columns"] == header["columns"]
    for name, array in arrays.items():
        np.testing.assert_array_equal(again[name], array)


REFUSED = [
    dict(data="hypercube", left="relu", right="nothing", steps="1e9", seeds="", points="nan",
         balance="1", rate="10", first="-1", who="me", width="2", stack="", paint="\x00",
         picked_seed="9" * 5000, batch="1,2", attention_heads="0.5", skip="perhaps",
         optimiser="<b>", also="relu", share="-0.1", **{"from": "nowhere"}),
    dict(points="", first="", picked_seed="²"),
]  # fmt: skip


@pytest.mark.parametrize("query", REFUSED, ids=["all", "empty"])
def test_each_bad_value_of_a_link_gets_one_sentence(query):
    app = open_boundary(finished=False, setup="true", **query)
    sentences = mistakes(app)
    assert len(sentences) == len(query)
    for name in query:
        assert any(f"`{name}`" in text and "Shown instead" in text for text in sentences)
    finish(app)
    assert_shown(app)
    app.segmented_control(key="paint").set_value("curvature").run()
    assert not app.warning  # said once, then gone
    assert not app.exception


def test_what_cannot_be_is_said_and_something_is_shown():
    app = open_boundary(data="blobs3", balance="0.3", attention_heads="2", right="value",
                        also=["value", "half"])  # fmt: skip
    texts = ["2 heads do not divide", "must come from tokens", "Left out", "cannot be set for"]
    assert len(notes(app)) == len(texts)
    for text in texts:
        assert any(text in note for note in notes(app))
    assert not app.error
    assert run_of(app).setting.variants == ("ungated", "sigmoid", "half")
    assert_shown(app)


def test_what_would_be_too_large_keeps_the_last_run():
    app = open_boundary()
    before = run_of(app)
    app.select_slider(key="batch").set_value("128")
    app.slider(key="width").set_value(16)
    app.slider(key="slots").set_value(8)
    app.slider(key="stack").set_value(4)
    app.slider(key="seeds").set_value(32)
    app.segmented_control(key="from").set_value("tokens").run()
    assert not app.exception
    (error,) = app.error
    assert error.value == (
        "Too large for this page. Choose fewer seeds, layers or dimensions. Shown: the last run"
        " that could be trained."
    )
    assert run_of(app) is before
    assert_shown(app)


def drawn(**more):
    """What the page makes of a short run: everything is there, and finite."""
    *_, run = train_setting(Setting(seed_count=2, steps=5, points=64, **more))
    shown = runs.Shown(run)
    picture = frames_of(run, 0, curves_of(shown, 0), {}, BoundaryView(), False).picture
    assert picture.frames == len(readings(run)) == len(frame_labels(run)) > 1
    for name in run.setting.compared:
        assert len(captions(shown, name, 0, False)) == picture.frames
    for name in ("left_x", "right_x", "left_colour", "right_colour"):
        assert np.isfinite(picture.arrays[name]).all()
    assert {len(column) for column in table(run).values()} == {len(run.variants)}
    assert table_note(run).startswith("After step 5. ")
    return run


@pytest.mark.parametrize("task", TASKS)
def test_every_task(task):
    drawn(task=task)


@pytest.mark.parametrize("right", [name for name in VARIANTS if name != "ungated"])
def test_every_variant(right):
    source = "tokens" if right in TOKENS_ONLY else "memory"
    run = drawn(variants=("ungated", right), source=source)
    maps = layer_maps(run, right, 0, -1)
    assert len([x for x in inside_figure(maps).data if x.type == "heatmap"]) == len(maps) >= 3
