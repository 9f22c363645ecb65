"""Does a link restore an experiment on Decision boundary, and what cannot be get a sentence?"""

import numpy as np
import pytest

from gating_core.experiments.comparison.setting import TOKENS_ONLY, VARIANTS
from gating_core.tasks.rules import TASKS
from gating_core.training.recipe import OPTIMISERS
from tests.ui.decision_boundary.playing import (
    QUICK,
    assert_shown,
    choose,
    finish,
    open_boundary,
    picture,
    run_of,
)
from tests.ui.opening import mistakes, notes
from ui.work import runs

pytestmark = pytest.mark.usefixtures("quick")


# --- Links ----------------------------------------------------------------------------------------


def test_a_link_restores_an_experiment():
    query = dict(data="blobs3", left="silu", right="tanh", who="worst right", paint="curvature",
                 noise="0.1", flip="0.04", share="0.5", width="4", slots="3", attention_heads="2",
                 stack="2", skip="true", rms="pre", out="true", optimiser="sgd", rate="0.05",
                 batch="16", decay="0.1", soft="0.05", first="7", seeds="2", steps="50",
                 points="128",
                 discrete="true", setup="true")  # fmt: skip
    query["from"] = "tokens"
    query["also"] = ["value", "half"]
    app = open_boundary(**query)
    assert not app.warning
    (note,) = notes(app)
    assert "spread out, by 0.05 × their entropy" in note
    setting = run_of(app).setting
    assert setting.variants == ("silu", "tanh", "value", "half")
    assert (setting.task, setting.source) == ("blobs3", "tokens")
    assert (setting.points, setting.train_share, setting.noise) == (128, 0.5, 0.1)
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


@pytest.mark.parametrize("query", [
    dict(data="hypercube"), dict(left="relu", right="nothing"), dict(steps="1e9"), dict(seeds="0"),
    dict(seeds=""), dict(points="nan"), dict(balance="1"), dict(rate="10"), dict(first=""),
    dict(first="-1"), dict(who="me"), dict(width="2"), dict(stack=""), dict(paint="\x00"),
    dict(who="picked", picked_seed="9" * 5000), dict(picked_seed="²"), dict(batch="1,2"),
    dict(attention_heads="0.5", skip="perhaps"), dict(optimiser="<b>"), dict(also="relu"),
    dict(share="-0.1"),
    {"from": "nowhere"},
], ids=lambda query: " ".join(query)[:40])  # fmt: skip
def test_a_bad_link_gets_one_sentence_each(query):
    bad = {k: v for k, v in query.items() if v != "picked"}
    quick = QUICK | {"seeds": "2", "points": "64"} | query
    app = open_boundary(finished=False, **quick)
    said = mistakes(app)
    assert len(said) == len(bad)
    for name in bad:
        assert any(f"`{name}`" in text and "Shown instead" in text for text in said)
    finish(app)
    assert_shown(app)
    app.segmented_control(key="paint").set_value("curvature").run()
    assert not app.warning  # said once, then gone
    assert not app.exception


# --- What cannot be -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "sentences", "variants"),
    [
        (dict(attention_heads="2"), ["2 heads do not divide D = 3. Shown: 1."], None),
        (
            dict(right="value"),
            ["Gate on the values (G2): keys and values must come from tokens, as a memory slot"],
            ("ungated", "sigmoid"),
        ),
        (dict(left="value", right="silu"), ["Shown: no gate."], ("ungated", "silu")),
        (dict(left="silu", right="silu"), ["Left and right are the same"], ("silu", "ungated")),
        (dict(right="ungated"), ["Left and right are the same"], ("ungated", "sigmoid")),
        (
            dict(left="sigmoid", right="value"),
            ["keys and values must", "Left and right are the same"],
            ("sigmoid", "ungated"),
        ),
        (dict(data="blobs3", balance="0.3"), ["cannot be set for three blobs"], None),
        (dict(data="own"), ["There are no points of your own yet. Shown: circle."], None),
        (dict(right="matched"), ["The matched model is wider"], ("ungated", "matched")),
        (dict(left="half", right="matched"), [], ("half", "matched")),  # half has no weights
        (dict(left="matched", right="matched"), ["are the same", "is wider"], None),
        (dict(also="matched"), [], ("ungated", "sigmoid", "matched")),
        (dict(also=["value", "silu"]), ["Left out"], ("ungated", "sigmoid", "silu")),
        (dict(also=["sigmoid", "ungated"]), [], ("ungated", "sigmoid")),
        (dict(share="0.05"), ["At least 10% of the points train"], None),
        (
            dict(right="half", rms="post"),
            ["Constant gate of ½: a gate that scales all channels alike"],
            None,
        ),
        (dict(right="half", rms="post", skip="true"), [], None),
        (
            dict(right="headwise", rms="post"),
            ["Sigmoid gate, one per head: a gate that scales"],
            None,
        ),
    ],
    ids=str,
)
def test_what_cannot_be_gets_one_sentence_and_something_is_shown(query, sentences, variants):
    app = open_boundary(**query)
    assert len(notes(app)) == len(sentences)
    for note, sentence in zip(notes(app), sentences, strict=True):
        assert sentence in note
    assert not app.error
    if variants:
        assert run_of(app).setting.variants == variants
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
        "Too large for this page: fewer seeds, layers or dimensions. Shown: the last that could be"
        " trained."
    )
    assert run_of(app) is before
    assert_shown(app)


def test_every_task():
    app = open_boundary()
    for task in TASKS:
        choose(app, "data", task)
        finish(app)
        assert run_of(app).setting.task == task
        assert_shown(app)


@pytest.mark.parametrize("right", [name for name in VARIANTS if name != "ungated"])
def test_every_variant(right):
    source = "tokens" if right in TOKENS_ONLY else "memory"
    app = open_boundary(right=right, looking="true", **{"from": source})
    assert run_of(app).setting.variants == ("ungated", right)
    assert_shown(app)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_every_optimiser(optimiser):
    assert_shown(open_boundary(optimiser=optimiser))
