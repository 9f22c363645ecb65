"""The landing page opens for every link, and its controls change what it says."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from gating_core.experiments.comparison import load_reference, sweep
from gating_core.experiments.comparison.presets import PRESETS
from gating_core.experiments.comparison.run import Divergence
from gating_core.experiments.comparison.setting import FIRST_SETTING
from gating_core.geometry import Integral, square_grid
from gating_core.training import mean_interval
from tests.ui.opening import (
    TIMEOUT_SECONDS,
    dated_text,
    open_page,
    report,
    sent,
    settled,
)
from ui.common.formatting import accuracy_text
from ui.landing import page, picture
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

    setting, measure = page.landing_setting, picture.measure_model
    monkeypatch.setattr(page, "landing_setting", landing_setting)
    monkeypatch.setattr(picture, "measure_model", measure_model)
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


def setting_of(app: AppTest):
    """What is shown."""
    return app.session_state[LAST_SHOWN].run.setting


def button(app: AppTest, label: str):
    (found,) = [button for button in app.button if button.label == label]
    return found


def verdicts(app: AppTest) -> list[list[str]]:
    """What stands above both models, for every strength."""
    sides = sent(app, VIEW_KEY)[0]["sides"]
    return [[*map("\n".join, zip(x["verdict"], x["more"], strict=True))] for x in sides]


# --- First sight ----------------------------------------------------------------------------------


def test_the_first_paint_is_the_shipped_pair(first):
    header, arrays = sent(first, VIEW_KEY)
    gain = "The gate helps by 17.6 ± 3.8 points, paired over 16 seeds."
    means = (
        "Mean test accuracy of 16 models without a gate (entropy term in the loss): 74 ± 1\u00a0%;"
        " with one (entropy and gate-logit terms in the loss): 91.9 ± 4.1\u00a0%."
    )
    assert header["findings"] == [[gain, means]] * 21
    left, right = verdicts(first)
    flat = (
        "Flat, cut in a straight line\nFlat (proved: it lies in the plane of three fixed values) ·"
        " total curvature 0 · in the input square "
    )
    assert len(left) == 1
    assert left[0].startswith(flat)
    assert right[0].startswith(flat)
    assert left[0].endswith(" · Seed 44: 76\u00a0% test accuracy, classifier refitted")
    assert right[0].endswith(" · Seed 33: 65\u00a0% test accuracy, classifier refitted")
    assert right[-1].startswith("Curved, cut in a closed loop\nCurved, established at the sample")
    assert " · total curvature 4.4" in right[-1]
    assert right[-1].endswith(" · Seed 33: 94\u00a0% test accuracy, classifier refitted")
    assert any("gain on circle is 12.3 ± 5.7 points" in x.value for x in first.caption)
    assert (len(header["places"]), header["frame"], header["follow"]) == (21, 20, "arrive")
    assert header["ends"] == ["class 0", "class 1"]
    assert arrays["right"].shape == (21, 61, 61, 3)


def test_what_a_gate_gains_with_values_from_tokens_is_said_from_the_numbers():
    text = tokens_text(load_reference("tokens", "circle"))
    assert text.startswith("Other models,")
    assert "no significant effect, 97.2\u00a0% without it and 97.6\u00a0% with it" in text
    low, high = np.array([0.70, 0.72, 0.74]), np.array([0.80, 0.82, 0.83])
    assert "the gate gains 9.7 ± 1.5 points, 72.0" in tokens_text(np.stack([low, high]))
    assert "the gate costs 9.7 ± 1.5 points, 81.7" in tokens_text(np.stack([high, low]))


def test_a_straight_boundary_is_called_straight_and_a_bent_one_bent():
    app = open_pair(task="linear")
    assert "an open line, straight to within 0.01 ·" in verdicts(app)[0][0]
    app = open_pair(beside="gate ablated")
    assert "an open line that bends by up to 0.98 ·" in verdicts(app)[0][0]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("task", "verdict"),
    [
        ("circle", "The gate helps by 17.6 ± 3.8 points, paired over 16 seeds."),
        ("xor", "The gate helps by 17.1 ± 5.4 points, paired over 16 seeds."),
        ("moons", "No significant difference (16 seeds): 1.2 ± 1.8 points, paired."),
        ("linear", "No significant difference (16 seeds): 0.1 ± 0.2 points, paired."),
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
    variants = runs.cached_run(PRESETS[task]).run.variants.values()
    without, with_gate = (variant.ensemble.test_accuracy[-1] for variant in variants)
    for bold, rest in sent(app, VIEW_KEY)[0]["findings"]:
        assert bold == verdict
        assert f": {accuracy_text(mean_interval(without))};" in rest
        assert rest.endswith(f": {accuracy_text(mean_interval(with_gate))}.")
    if task != "linear":  # with the same weights, the gate makes the best plane better
        right = verdicts(app)[1]
        none, full = (int(re.search(r"Seed \d+: (\d+)", x)[1]) for x in (right[0], right[-1]))
        assert none <= 70
        assert full >= 94


def test_beside_it_stands_a_model_trained_without_a_gate_or_its_own_surface_without_it(first):
    app = open_pair(colour="curvature")
    header, arrays = sent(app, VIEW_KEY)
    assert [side["name"] for side in header["sides"]] == ["Trained without a gate", "With a gate"]
    assert verdicts(app) == verdicts(first)
    low, high = header["ends"]
    assert high == f"K = {low.removeprefix('K = −')}"
    for words in ("asinh scale", "Dotted: undetermined", "decision boundary"):
        assert words in header["notes"][0]
    header, same = sent(open_pair(beside="gate ablated"), VIEW_KEY)
    assert header["sides"][0]["name"] == "Gate ablated (λ = 0)"
    for name in ("", "K", "Signed", "Planes", "Lines"):
        one, other = (same[f"{side}{name}"][0] for side in ("left", "right"))
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12, err_msg=name)
    assert (arrays["left"][0] != arrays["right"][0]).any()


# --- Links ----------------------------------------------------------------------------------------


def test_a_link_restores_an_experiment_and_what_one_visitor_trained_another_sees(monkeypatch):
    query = EXPERIMENT | dict(strength="0.25", colour="curvature", explore="true", pick="20.30")
    app = settled(open_pair(**query))
    assert not app.exception
    assert not app.warning
    assert setting_of(app).seed == 5
    assert app.number_input(key="seed").value == 5
    header, _ = sent(app, VIEW_KEY)
    assert header["point"] == [20, 30]
    assert (header["frame"], header["follow"]) == (5, "")
    monkeypatch.setattr(runs, "train_setting", None)  # whoever trains now fails
    again = open_pair(**query)
    assert again.session_state[LAST_SHOWN] is app.session_state[LAST_SHOWN]
    assert verdicts(again) == verdicts(app)
    assert sent(again, VIEW_KEY)[0] == header
    button(app, "Back to the first example").click().run()
    assert not app.exception
    assert app.number_input(key="seed").value == FIRST_SETTING.seed
    assert setting_of(app) == FIRST_SETTING
    header, _ = sent(app, VIEW_KEY)
    assert (header["frame"], header["point"]) == (20, None)


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
    before = verdicts(app)

    def diverge(setting):
        text = "sigmoid: training diverged at step 31 for seed 4"
        run = replace(runs.cached_run(FIRST_SETTING).run, setting=setting)
        yield replace(run, divergence=Divergence(31, (("sigmoid", 4),), text))

    monkeypatch.setattr(runs, "train_setting", diverge)
    app.number_input(key="seed").set_value(4242).run()
    settled(app)
    assert not app.exception
    assert "diverged at step 31 for seed 4" in app.error[0].value
    assert "Shown instead: the last experiment that worked" in app.error[0].value
    assert verdicts(app) == before


@pytest.mark.soak
def test_a_long_training_waits_its_turn_beside_the_last_picture(monkeypatch, inline):
    """Nobody is kept from seeing what there is, and what is requested can be cancelled."""
    monkeypatch.setattr(runs, "CACHED_RUNS", Cache(1e9))
    app = open_pair()
    before, (header, _) = verdicts(app), sent(app, VIEW_KEY)
    with inline.busy():
        app.number_input(key="seed").set_value(31).run()
        assert not app.exception
        assert dated_text(app) == "Still showing seed 32. Seed 31 is not ready yet."
        assert any("waiting for a free worker" in x.proto.text for x in app.get("progress"))
        assert verdicts(app) == before
        assert sent(app, VIEW_KEY)[0]["source"] == header["source"]
        button(app, "Cancel").click().run()
        assert "cancelled before it began" in app.info[0].value
        assert verdicts(app) == before
    button(app, "Go on").click().run()
    settled(app)
    assert not any("cancelled" in box.value for box in app.info)
    assert setting_of(app).seed == 31
    assert verdicts(app) != before


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


# --- Explore, and data to save --------------------------------------------------------------------


def test_explore_shows_shares_losses_and_the_marked_point_and_the_first_example_is_a_click_away():
    app = open_pair(strength="0.5", explore="true", pick="20.30")
    app = settled(app)
    assert not app.exception
    assert len(app.get("plotly_chart")) == 1
    (table,) = app.table
    assert table.value["undetermined"].tolist() == ["0.0 %", "0.0 %"]
    assert any("The gate helps by" in m.value for m in app.markdown)
    assert any("Marked point" in caption.value for caption in app.caption)
    left = {"frame": 4, "point": None, "corners": None, "serial": 1}
    report(app, VIEW_KEY, "left", left)
    assert app.query_params["strength"] == "0.2"
    assert "pick" not in app.query_params
    assert sent(app, VIEW_KEY)[0]["frame"] == 4
    button(app, "Back to the first example").click().run()
    assert not app.exception
    assert sent(app, VIEW_KEY)[0]["frame"] == 20
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
