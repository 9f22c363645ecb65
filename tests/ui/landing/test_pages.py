"""The landing page opens for every link, and its controls change what it says."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from gating_core.experiments.comparison import load_reference, sweep
from gating_core.experiments.comparison import pair as core_pair
from gating_core.experiments.comparison.presets import PRESETS
from gating_core.experiments.comparison.run import Divergence
from gating_core.experiments.comparison.setting import FIRST_SETTING
from gating_core.geometry import Integral, square_grid
from gating_core.training import mean_interval
from tests.ui.opening import (
    TIMEOUT_SECONDS,
    component,
    dated_text,
    mistakes,
    open_page,
    report,
)
from tests.ui.payload import unpack
from ui.common.formatting import accuracy_text
from ui.landing import page
from ui.landing.page import JOB, LAST_SHOWN, tokens_text
from ui.landing.pair import VIEW_KEY, stale_text
from ui.work import pool, runs
from ui.work.cache import CACHE, Cache

# Not a shipped one; trained once for all tests, as for all visitors.
EXPERIMENT = dict(task="moons", depth="2", gate="headwise", seed="5")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """What is not shipped is trained briefly and measured on coarse grids, totals not at all."""

    def landing_setting(like, depth):
        found = setting(like, depth)
        return found if found in PRESETS.values() else replace(found, steps=20)

    def measure_model(model, run, *more, **shipped):
        grid = None if run.setting in PRESETS.values() else square_grid(31)
        return measure(model, run, *more, grid=grid, **shipped)

    def total(model, config, points, progress):
        parts = torch.tensor([7.0]), torch.tensor([3.0]), torch.tensor([True])
        return SimpleNamespace(absolute=Integral(*parts))

    setting, measure = page.landing_setting, core_pair.measure_model
    monkeypatch.setattr(page, "landing_setting", landing_setting)
    monkeypatch.setattr(core_pair, "measure_model", measure_model)
    monkeypatch.setattr(sweep, "affordable_integrals", total)


@pytest.fixture(scope="module")
def first():
    """The page as it opens."""
    return open_pair()


def open_pair(**query: str) -> AppTest:
    """The page with two models side by side."""
    return open_page(picture="two models", **query)


def job_of(app: AppTest):
    return app.session_state["_jobs"][JOB][0]


def finish(app: AppTest) -> AppTest:
    """Wait for what is trained, as a browser does that polls; what is cached needs no job."""
    if JOB in app.session_state["_jobs"]:
        job_of(app).join(TIMEOUT_SECONDS)
        assert job_of(app).over
    return app.run()


def setting_of(app: AppTest):
    """What is shown."""
    return app.session_state[LAST_SHOWN].run.setting


def button(app: AppTest, label: str):
    (found,) = [button for button in app.button if button.label == label]
    return found


def payload(app: AppTest):
    """What the 3-D view was sent: header and arrays."""
    return unpack(component(app, VIEW_KEY).proto.bytes)


def captions(app: AppTest) -> list[list[str]]:
    """The lines above both models, for every strength."""
    return [column["captions"] for column in payload(app)[0]["columns"]]


def kinds(app: AppTest) -> set[str]:
    """What kinds of panels the view has."""
    columns = payload(app)[0]["columns"]
    return {panel["kind"] for column in columns for panel in column["panels"]}


# --- First sight ----------------------------------------------------------------------------------


def test_the_first_paint_is_the_shipped_pair(first):
    left, right = captions(first)
    flat = "Shown, seed {}: {}\u00a0%, classifier refitted · total curvature **0**: flat"
    (line,) = left
    fair, _, shown = line.split("\n")  # the fair comparison leads
    assert fair == "Trained without a gate (entropy term in the loss): **74 ± 1\u00a0%**"
    assert shown == flat.format(40, 75)
    assert right[0].endswith(flat.format(47, 66))
    terms = "(entropy and gate-logit terms in the loss)"
    assert right[-1].startswith(
        f"Trained with a gate {terms}: **91.9 ± 4.1\u00a0%**\n**The gate helps"
    )
    assert "\nShown, seed 47: 98\u00a0%, classifier refitted · total curvature **2.8" in right[-1]
    assert any("gain on circle is 12.3 ± 5.7 points" in x.value for x in first.caption)
    header, arrays = payload(first)
    assert (header["frames"], header["frame"], header["arrive"]) == (21, 20, True)
    assert arrays["right_x"].shape == (21, 61, 61)
    assert "a straight line" in header["readings"][0]
    assert "a closed loop" in header["readings"][-1]


@pytest.mark.soak
def test_a_link_leads_to_where_the_theorem_ends_and_says_what_a_gate_gains_there():
    app = open_pair(task="moons")
    (link,) = [x.proto for x in app.get("page_link") if "tokens" in x.proto.label]
    assert link.label == tokens_text(load_reference("tokens", "moons"))
    assert (link.page, link.query_string) == ("Decision_boundary", "from=tokens&data=moons")


def test_what_a_gate_gains_with_values_from_tokens_is_said_from_the_numbers():
    text = tokens_text(load_reference("tokens", "circle"))
    assert text.startswith("Other models,")
    assert "no significant effect, 97.2\u00a0% without it and 97.6\u00a0% with it" in text
    low, high = np.array([0.70, 0.72, 0.74]), np.array([0.80, 0.82, 0.83])
    assert "the gate gains 9.7 ± 1.5 points, 72.0" in tokens_text(np.stack([low, high]))
    assert "the gate costs 9.7 ± 1.5 points, 81.7" in tokens_text(np.stack([high, low]))


def test_a_straight_boundary_is_called_straight_and_a_bent_one_bent():
    app = open_pair(task="linear")
    assert "an open line, straight to within 0.01)" in payload(app)[0]["readings"][-1]
    app = open_pair(beside="gate ablated")
    assert "an open line that bends by up to 0.67)" in payload(app)[0]["readings"][-1]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("task", "verdict"),
    [
        ("circle", "**The gate helps by 17.6 ± 3.8 points**, paired over 16 seeds"),
        ("xor", "**The gate helps by 17.1 ± 5.4 points**, paired over 16 seeds"),
        ("moons", "**No significant difference** (16 seeds): 1.2 ± 1.8 points, paired"),
        ("linear", "**No significant difference** (16 seeds): 0.1 ± 0.2 points, paired"),
    ],
)
def test_every_task_is_there_at_once_with_its_fair_comparison(monkeypatch, task, verdict):
    """Without a worker, which a server just started lacks, and without Streamlit's own plotly.

    What the same weights do without their gate says nothing of training without one.
    """
    CACHE.clear()
    monkeypatch.setattr(pool.POOL, "stream", None)  # whoever needs a worker now fails
    app = open_pair(task=task)
    assert not app.error
    assert setting_of(app) == PRESETS[task]
    assert not app.get("plotly_chart")
    assert not app.get("progress")
    left, right = captions(app)
    variants = runs.cached_run(PRESETS[task]).run.variants.values()
    without, with_gate = (variant.ensemble.test_accuracy[-1] for variant in variants)
    assert all(accuracy_text(mean_interval(without)) in line for line in left)
    assert all(accuracy_text(mean_interval(with_gate)) in line for line in right)
    assert all(line.split("\n")[1] == verdict for line in right)
    if task != "linear":  # with the same weights, the gate makes the best plane better
        none, full = (
            int(re.search(r"Shown, seed \d+: (\d+)", text)[1]) for text in (right[0], right[-1])
        )
        assert none <= 70
        assert full >= 97


def test_without_its_gate_the_right_side_is_the_left_one():
    """At λ = 0 both sides are one picture, cut, plane, box and all.

    But for what fills the triangle of values: of the right side, which leaves it, it says nothing.
    """
    header, arrays = payload(open_pair(beside="gate ablated"))
    for name, array in arrays.items():
        if name.startswith("left_") and not name.startswith(("left_ground_", "left_split_")):
            other = arrays["right_" + name.removeprefix("left_")]
            first = other if other.shape == array.shape else other[0]
            keep = min(array.shape[-1], first.shape[-1])  # padded with NaN to the longest frame
            np.testing.assert_array_equal(array[..., :keep], first[..., :keep], name)
    left, right = (column["panels"][0]["layout"] for column in header["columns"])
    assert left == right
    assert len(header["edge_on"]) == 1  # of one plane


def test_beside_it_stands_a_model_trained_without_a_gate(first):
    """It has a plane of its own, so each side has its own view along the edge."""
    app = open_pair(colour="curvature")
    left, right = captions(app)
    assert len(left) == 1
    assert left[0].endswith("total curvature **0**: flat")
    assert right == captions(first)[1]
    header, _ = payload(app)
    assert header["readings"][-1].startswith("**Trained without a gate:**")
    assert len(header["edge_on"]) == 2
    cameras, levels = zip(*(edge.values() for edge in header["edge_on"]), strict=True)
    assert cameras[0] != cameras[1]
    assert levels[0] != levels[1]
    legend = header["legend"]
    assert legend["high"] == f"K = {legend['low'].removeprefix('K = −')}"
    for words in ("asinh scale", "teal: the most curved 1\u00a0%, if", "hatched: undetermined"):
        assert words in legend["note"]


# --- Links ----------------------------------------------------------------------------------------


def test_a_link_restores_an_experiment_and_what_one_visitor_trained_another_sees(monkeypatch):
    query = EXPERIMENT | dict(strength="0.25", colour="curvature", explore="true", pick="20.30")
    app = finish(open_pair(**query))
    assert not app.exception
    assert not app.warning
    assert setting_of(app).seed == 5
    assert app.number_input(key="seed").value == 5
    header, _ = payload(app)
    assert header["pick"] == [20, 30]
    assert (header["frame"], header["arrive"]) == (5, False)
    monkeypatch.setattr(runs, "train_setting", None)  # whoever trains now fails
    again = open_pair(**query)
    assert again.session_state[LAST_SHOWN] is app.session_state[LAST_SHOWN]
    assert captions(again) == captions(app)
    assert payload(again)[0] == header
    button(app, "Back to the first example").click().run()
    assert not app.exception
    assert app.number_input(key="seed").value == FIRST_SETTING.seed
    assert setting_of(app) == FIRST_SETTING
    header, _ = payload(app)
    assert (header["frame"], header["pick"]) == (20, None)


def test_a_bad_link_does_no_harm():
    query = dict(
        strength="7",
        depth="0",
        task="<script>alert(1)</script>",
        gate="ungated",
        seed="-3",
        colour="",
        pick="99.99",
        beside="perhaps",
        explore="\x00",
    )
    app = open_pair(**query)
    assert not app.exception
    texts = mistakes(app)
    assert len(texts) == len(query)
    for name in query:
        assert any(f"`{name}`" in text and "Shown instead" in text for text in texts)
    assert "**0**: flat" in captions(app)[0][0]
    app.query_params["task"] = "xor"  # as a browser does when the visitor moves the control
    app.radio(key="task").set_value("xor").run()
    assert not app.warning  # said once, then gone
    assert not app.exception


def test_of_a_strength_between_two_the_nearer_is_shown():
    assert payload(open_pair(strength="0.333"))[0]["frame"] == 7


# --- While it trains, and when that fails ---------------------------------------------------------


def test_a_picture_that_is_out_of_date_says_of_what_it_is():
    assert stale_text(FIRST_SETTING, FIRST_SETTING) == ""
    text = stale_text(FIRST_SETTING, replace(FIRST_SETTING, task="xor", depth=4))
    assert text == "Still showing circle, 1 layer. Xor, 4 layers is not ready yet."
    text = stale_text(FIRST_SETTING, replace(FIRST_SETTING, seed=9))
    assert text == "Still showing seed 32. Seed 9 is not ready yet."
    other = replace(FIRST_SETTING, weight_decay=0.0)
    assert stale_text(FIRST_SETTING, other)  # never without a word


def test_diverged_training_keeps_what_was_there(monkeypatch):
    app = open_pair()
    before = captions(app)

    def diverge(setting):
        text = "sigmoid: training diverged at step 31 for seed 4"
        run = replace(runs.cached_run(FIRST_SETTING).run, setting=setting)
        yield replace(run, divergence=Divergence(31, (("sigmoid", 4),), text))

    monkeypatch.setattr(runs, "train_setting", diverge)
    app.number_input(key="seed").set_value(4242).run()
    finish(app)
    assert not app.exception
    assert "diverged at step 31 for seed 4" in app.error[0].value
    assert "Shown instead: the last experiment that worked" in app.error[0].value
    assert captions(app) == before


@pytest.mark.soak
def test_a_long_training_waits_its_turn_beside_the_last_picture(monkeypatch, inline):
    """Nobody is kept from seeing what there is, and what is requested can be cancelled."""
    monkeypatch.setattr(runs, "CACHED_RUNS", Cache(1e9))
    app = open_pair()
    before, (header, _) = captions(app), payload(app)
    with inline.busy():
        app.number_input(key="seed").set_value(31).run()
        assert not app.exception
        assert dated_text(app) == "Still showing seed 32. Seed 31 is not ready yet."
        assert any("waiting for a free worker" in x.proto.text for x in app.get("progress"))
        assert captions(app) == before
        assert payload(app)[0]["columns"] == header["columns"]
        button(app, "Cancel").click().run()
        assert "cancelled before it began" in app.info[0].value
        assert captions(app) == before
    button(app, "Go on").click().run()
    finish(app)
    assert not any("cancelled" in box.value for box in app.info)
    assert setting_of(app).seed == 31
    assert captions(app) != before


def test_a_training_that_is_no_longer_requested_ends(monkeypatch, inline):
    """Going back to what is cached leaves no job behind that nobody can see or cancel."""
    monkeypatch.setattr(runs, "CACHED_RUNS", Cache(1e9))
    app = open_pair()
    with inline.busy():
        app.number_input(key="seed").set_value(33).run()
        job = job_of(app)
        assert job.requests[0].seed == 33
        assert not job.over
        button(app, "Back to the first example").click().run()
        assert not app.exception
        job.join(TIMEOUT_SECONDS)
        assert job.over
        assert not app.get("progress")
        assert setting_of(app) == FIRST_SETTING


# --- Where there is no surface to see -------------------------------------------------------------


@pytest.fixture
def unseen(monkeypatch):
    """Models of two layers have no surface to see."""
    shows = page.shows_surface
    CACHE.clear()
    for module in (core_pair, page):
        monkeypatch.setattr(
            module, "shows_surface", lambda run, n: run.setting.depth != 2 and shows(run, n)
        )
    yield
    CACHE.clear()


@pytest.mark.soak
def test_where_there_is_no_surface_maps_stand_alone_with_a_way_to_one(monkeypatch, unseen):
    app = finish(open_pair(task="xor", depth="2", colour="curvature", explore="true", pick="9.9"))
    assert not app.exception
    assert kinds(app) == {"plane"}
    header, arrays = payload(app)
    assert header["edge_on"] == []
    assert not [name for name in arrays if name.endswith(("_z", "_ridge_u"))]  # nothing unseen
    assert (header["legend"]["low"], header["legend"]["high"]) == ("class 0", "class 1")
    assert header["readings"][-1].count("decision boundary") == 2
    assert "surface" not in "".join(header["readings"])
    assert app.info[0].value.startswith("**With 2 layers, training leaves no surface to see:**")
    assert len(app.get("plotly_chart")) == 1  # learning curves, but no curvature
    assert not [c for c in app.caption if "Marked point" in c.value]
    left, right = captions(app)
    assert (len(left), len(right)) == (1, 21)
    fair = "Trained without a gate", "Trained with a gate"
    for lines, start in zip((left, right), fair, strict=True):
        assert all(
            re.fullmatch(rf"{start}.+\n.+\nShown, seed .+%, classifier refitted", x) for x in lines
        )
    assert all("16 seeds" in line for line in right)
    button(app, "See 1 layer").click().run()
    assert not app.exception
    assert "depth" not in app.query_params  # the default
    assert setting_of(app).depth == 1
    assert kinds(app) == {"scene", "plane"}
    assert not app.info


@pytest.mark.soak
def test_without_any_surface_one_layer_is_worth_a_try(monkeypatch, unseen):
    monkeypatch.setattr(page, "shows_surface", lambda run, member: False)
    app = finish(open_pair(**EXPERIMENT))
    assert button(app, "Try 1 layer")
    monkeypatch.setattr(core_pair, "shows_surface", lambda run, member: False)
    app = open_pair(task="linear")
    assert kinds(app) == {"plane"}
    assert not [x for x in app.button if "layer" in x.label]


# --- Explore, and data to save --------------------------------------------------------------------


def test_explore_shows_maps_shares_and_the_marked_point_and_the_first_example_is_a_click_away():
    app = open_pair(strength="0.5", explore="true", pick="20.30")
    app = finish(app)
    assert not app.exception
    assert len(app.get("plotly_chart")) == 2
    (table,) = app.table
    assert table.value["undetermined"].tolist() == ["0.0 %", "0.0 %"]
    assert any("The gate helps by" in m.value for m in app.markdown)
    assert any("Marked point" in caption.value for caption in app.caption)
    report(app, VIEW_KEY, "stop", {"frame": 4})
    assert app.query_params["strength"] == "0.2"
    assert payload(app)[0]["frame"] == 4
    button(app, "Back to the first example").click().run()
    assert not app.exception
    assert payload(app)[0]["frame"] == 20
    assert app.query_params == {"explore": "true", "picture": "two models"}
    assert {key: app.session_state[key] for key in page.FIRST} == page.FIRST


def test_the_data_of_the_page_are_the_numbers_of_the_core():
    saved = {}

    class Kept(page.Charts):
        def offer(self):
            saved.update(self.tables)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "Charts", Kept)
        app = open_pair(explore="true", strength="0.5")
    assert not app.exception
    shown = app.session_state[LAST_SHOWN]
    model, strengths = saved["strengths"]["model"], saved["strengths"]
    assert model == ["Without gate", *["With gate"] * 21]
    accuracies = [x.ensemble.test_accuracy[-1].tolist() for x in shown.run.variants.values()]
    assert [*saved["seeds"].values()] == [list(FIRST_SETTING.seeds), *accuracies]
    totals = shown.sweep.total.value.tolist()
    assert strengths["∫|K| dA (estimate)"] == [0.0, 0.0, *totals[1:]]  # without a gate it is proved
    parts = np.array([x for name, x in strengths.items() if name.startswith("share")])
    np.testing.assert_allclose(parts.sum(0), 1, atol=1e-12)
    with_gate = np.array(saved["curvature"]["K (1 / length^2), with gate"]).reshape(61, 61)
    surface = page.measured_pair(FIRST_SETTING, "own", None, None).right.surface
    np.testing.assert_array_equal(with_gate, surface.known[10])
    assert saved["shares"]["K > 0 (dome)"][1] == f"{100 * surface.shares.positive[10]:.1f} %"
