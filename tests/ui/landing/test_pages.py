"""Does every page open, for every link, and do its controls change what it says?"""

import re
from dataclasses import replace

import numpy as np
import pytest
from streamlit.elements.lib import policies
from streamlit.testing.v1 import AppTest

from gating_core.attention.gate_kinds import CONTROL_KINDS
from gating_core.experiments.comparison import sweep
from gating_core.experiments.comparison.presets import PRESETS
from gating_core.experiments.comparison.run import Divergence
from gating_core.experiments.comparison.setting import FIRST_SETTING
from gating_core.training import mean_interval
from tests.ui.opening import ROOT, TIMEOUT_SECONDS, component, mistakes, open_page, report
from tests.ui.payload import unpack
from ui.common.words import accuracy_text
from ui.landing.controls import LANDING, VIEW_KEY
from ui.landing.parts import GOOD, JOB
from ui.work import pool, runs
from ui.work.cache import CACHE

PAGES = ["app.py", *sorted(f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py"))]

# Not the shipped one; trained once for all tests, as for all visitors.
EXPERIMENT = dict(task="moons", depth="2", gate="headwise", seed="5")


def job_of(app: AppTest):
    return app.session_state["_jobs"][JOB][0]


def finish(app: AppTest) -> AppTest:
    """Wait for what is trained, as a browser does that polls; what is known needs no job."""
    if JOB in app.session_state["_jobs"]:
        assert job_of(app).join(TIMEOUT_SECONDS)
    return app.run()


def button(app: AppTest, label: str):
    (found,) = [button for button in app.button if button.label == label]
    return found


def payload(app: AppTest):
    """What the 3-D view was sent: header and arrays."""
    return unpack(component(app, VIEW_KEY).proto.bytes)


def captions(app: AppTest) -> list[list[str]]:
    """What stands above both surfaces, for every strength."""
    return [column["captions"] for column in payload(app)[0]["columns"]]


@pytest.fixture(autouse=True)
def quick_captions(monkeypatch):
    """What is not shipped is measured on a coarse grid: seconds less for every run."""
    monkeypatch.setattr(sweep, "SWEEP_POINTS", 400)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens(page):
    app = open_page(page)
    assert not app.exception
    assert not app.warning


def test_the_first_paint_is_the_shipped_pair():
    app = open_page()
    left, right = captions(app)
    flat = "**66\u00a0%** of new points right · total curvature **0**: flat\n"
    assert left == [f"{flat}The same weights at λ = 0. Trained without a gate: 74 ± 1\u00a0%"]
    assert right[0].startswith(flat)
    assert right[-1].startswith("**98\u00a0%** of new points right · total curvature **2.8")
    header, arrays = payload(app)
    assert (header["frames"], header["frame"], header["arrive"]) == (21, 20, True)
    assert arrays["right_x"].shape == (21, 61, 61)
    assert "a straight line" in header["readings"][0]
    assert "a closed loop" in header["readings"][-1]


def test_first_sight_takes_no_worker_and_no_second_plotly(monkeypatch):
    """A server just started has no worker ready, and Streamlit's charts bring their own plotly."""
    CACHE.clear()
    monkeypatch.setattr(pool.POOL, "stream", None)  # whoever asks a worker now fails
    app = open_page()
    assert not app.error
    assert app.session_state[GOOD].run.setting == FIRST_SETTING
    assert not app.get("plotly_chart")
    assert not app.get("progress")


@pytest.mark.parametrize(
    ("task", "verdict"),
    [
        ("circle", "**The gate helps by 17.6 ± 3.8 points**, paired over 16 seeds"),
        ("moons", "**No difference that 16 seeds can show**: 1.2 ± 1.8 points, paired"),
    ],
)
def test_the_fair_comparison_stands_in_the_first_caption(task, verdict):
    """What the same weights do without their gate says nothing of training without one."""
    left, right = captions(open_page(task=task))
    ensembles = [variant.ensemble for variant in runs.known(PRESETS[task]).run.variants.values()]
    without, with_gate = (x.test_accuracy[-1] for x in ensembles)
    assert all(accuracy_text(mean_interval(without)) in line for line in left)
    assert all(accuracy_text(mean_interval(with_gate)) in line for line in right)
    assert all(line.endswith(verdict) for line in right)


def test_the_legend_of_curvature_says_what_is_drawn():
    legend = payload(open_page(colour="curvature"))[0]["legend"]
    assert legend["high"] == f"K = {legend['low'].removeprefix('K = −')}"
    for words in ("asinh scale", "teal: the most curved 1\u00a0%, where", "hatched: not known"):
        assert words in legend["note"]


def test_without_its_gate_the_right_side_is_the_left_one():
    """At λ = 0 both sides are one picture, cut, plane, box and all.

    But for what fills the triangle of values: of the right side, which leaves it, it says nothing.
    """
    header, arrays = payload(open_page())
    for name, array in arrays.items():
        if name.startswith("left_") and not name.startswith(("left_ground_", "left_split_")):
            other = arrays["right_" + name.removeprefix("left_")]
            first = other if other.shape == array.shape else other[0]
            keep = min(array.shape[-1], first.shape[-1])  # padded with NaN to the longest frame
            np.testing.assert_array_equal(array[..., :keep], first[..., :keep], name)
    left, right = (column["panels"][0]["layout"] for column in header["columns"])
    assert left == right


@pytest.mark.parametrize("task", ["circle", "xor", "moons"])
def test_the_gate_is_what_helps(task):
    """Of what is shipped: with the same weights, the gate makes the best plane better."""
    left, right = captions(open_page(task=task))
    none, full = (int(re.match(r"\*\*(\d+)", text)[1]) for text in (left[0], right[-1]))
    assert none <= 70
    assert full >= 97


def test_beside_it_stands_a_model_trained_without_a_gate():
    app = open_page(beside="trained without")
    left, right = captions(app)
    assert len(left) == 1
    assert "total curvature **0**: flat\nThe best of 16 seeds." in left[0]
    assert right == captions(open_page())[1]
    assert payload(app)[0]["readings"][-1].startswith("**Left, trained without a gate:**")


def test_a_link_restores_an_experiment_and_what_one_visitor_trained_another_sees(monkeypatch):
    query = EXPERIMENT | dict(strength="0.25", colour="curvature", explore="true", pick="20.30")
    app = finish(open_page(**query))
    assert not app.exception
    assert not app.warning
    assert app.session_state[GOOD].run.setting.seed == 5
    assert app.number_input(key="seed").value == 5
    header, _ = payload(app)
    assert header["pick"] == [20, 30]
    assert (header["frame"], header["arrive"]) == (5, False)
    assert header["legend"]["low"].startswith("K =")
    assert any("Marked point" in caption.value for caption in app.caption)
    monkeypatch.setattr(runs, "train_setting", None)  # whoever trains now fails
    again = open_page(**query)
    assert again.session_state[GOOD] is app.session_state[GOOD]
    assert captions(again) == captions(app)
    assert payload(again)[0] == header


def test_controls_are_offered_by_no_first_look():
    assert LANDING["gate"].words == ("sigmoid", "headwise")
    assert not set(LANDING["gate"].words) & set(CONTROL_KINDS)


BAD_LINKS = [
    dict(strength="7"), dict(strength="nan"), dict(depth="0"), dict(depth="99"),
    dict(task="<script>alert(1)</script>"), dict(gate="ungated"), dict(seed="-3"),
    dict(seed="9999999999999999999999"), dict(colour=""), dict(pick="99.99"), dict(pick="x"),
    dict(beside="perhaps", depth="two", seed="1.5"), dict(explore="\x00"), dict(seed="inf"),
    dict(strength=["0.5", "0.7"]), dict(strength="0.333", explore="TRUE"),
]  # fmt: skip


@pytest.mark.parametrize("query", BAD_LINKS, ids=str)
def test_a_bad_link_does_no_harm(query):
    app = open_page(**query)
    assert not app.exception
    said = mistakes(app)
    assert len(said) == len(query)
    for name in query:
        assert any(f"`{name}`" in text and "Shown instead" in text for text in said)
    assert "**0**: flat" in captions(app)[0][0]
    app.segmented_control(key="task").set_value("xor").run()
    assert not app.warning  # said once, then gone
    assert not app.exception


def test_diverged_training_keeps_what_was_there(monkeypatch):
    app = open_page()
    before = captions(app)

    def diverge(setting):
        yield 0.5
        text = "sigmoid: training diverged at step 31 for seed 4"
        run = replace(runs.known(FIRST_SETTING).run, setting=setting)
        yield replace(run, divergence=Divergence(31, (("sigmoid", 4),), text))

    monkeypatch.setattr(runs, "train_setting", diverge)
    app.number_input(key="seed").set_value(4242).run()
    finish(app)
    assert not app.exception
    assert "diverged at step 31 for seed 4" in app.error[0].value
    assert "Shown instead: the last experiment that worked" in app.error[0].value
    assert captions(app) == before


def test_a_long_training_waits_its_turn_beside_the_last_picture(monkeypatch, inline):
    """Nobody is kept from seeing what there is, and what is asked for can be cancelled."""
    monkeypatch.setattr(runs, "_known", {})
    app = open_page()
    before, (header, _) = captions(app), payload(app)
    with inline.busy():
        app.number_input(key="seed").set_value(31).run()
        assert not app.exception
        assert header["stale"] == ""
        assert payload(app)[0]["stale"] == "Still showing seed 32. Seed 31 is on its way."
        assert any("waiting for a free place" in x.proto.text for x in app.get("progress"))
        assert captions(app) == before
        assert payload(app)[0]["columns"] == header["columns"]
        button(app, "Cancel").click().run()
        assert "cancelled before its turn came" in app.info[0].value
        assert captions(app) == before
    button(app, "Go on").click().run()
    finish(app)
    assert not app.info
    assert app.session_state[GOOD].run.setting.seed == 31
    assert captions(app) != before


def test_a_training_that_is_no_longer_asked_for_ends(monkeypatch, inline):
    """Going back to what is known leaves no job behind that nobody can see or cancel."""
    monkeypatch.setattr(runs, "_known", {})
    app = open_page()
    with inline.busy():
        app.number_input(key="seed").set_value(33).run()
        job = job_of(app)
        assert job.about.seed == 33
        assert not job.over
        button(app, "Back to the first example").click().run()
        assert not app.exception
        assert job.over
        assert not app.get("progress")
        assert app.session_state[GOOD].run.setting == FIRST_SETTING


def test_explore_shows_the_maps_and_the_shares():
    app = open_page(explore="true")
    assert not app.exception
    assert len(app.get("plotly_chart")) == 2
    assert len(app.table) == 1
    text = " ".join(m.value for m in app.markdown)
    assert "The gate helps by" in text
    button(app, "Back to the first example").click().run()
    assert not app.exception


def test_back_to_the_first_example():
    app = finish(open_page(**EXPERIMENT, strength="0.5", pick="1.1"))
    button(app, "Back to the first example").click().run()
    assert not app.exception
    assert app.number_input(key="seed").value == FIRST_SETTING.seed
    assert payload(app)[0]["frame"] == 20
    assert captions(app) == captions(open_page())
    assert payload(app)[0]["pick"] is None


def test_what_sets_a_control_leaves_no_warning_in_the_log(monkeypatch, caplog):
    monkeypatch.setattr(policies, "_shown_default_value_warning", False)  # it is said once
    caplog.set_level("WARNING", policies.__name__)
    monkeypatch.setattr(policies._LOGGER, "propagate", True)
    app = open_page(strength="0.5")
    report(app, VIEW_KEY, "stop", {"frame": 4})
    assert app.query_params["strength"] == "0.2"
    assert payload(app)[0]["frame"] == 4
    button(app, "Back to the first example").click().run()
    assert payload(app)[0]["frame"] == 20
    assert not [record for record in caplog.records if "Session State" in record.message]
