"""Does the Decision boundary page train, say what cannot be, and keep what it had?"""

import json
import re
import threading
import time
from dataclasses import replace
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from gating_core.experiments import budget
from gating_core.experiments.comparison import along, frames
from gating_core.experiments.comparison.run import TrainedRun
from gating_core.experiments.comparison.variants import TOKENS_ONLY, VARIANTS
from gating_core.tasks.own import EXAMPLE_CSV
from gating_core.tasks.rules import TASKS
from gating_core.training.recipe import OPTIMISERS
from gating_core.training.trained import mean_interval
from tests.ui.opening import ROOT, TIMEOUT_SECONDS, component, mistakes, notes, open_page, report
from tests.ui.payload import unpack
from ui.common.words import plus_minus
from ui.drawing import palette
from ui.drawing.camera import camera_from
from ui.playground import controls as playground_controls
from ui.playground import film, tiles, training
from ui.playground import inside as inside_maps
from ui.playground import parts as playground
from ui.playground.names import KINDS, TITLES
from ui.playground.request import Look
from ui.work import runs
from ui.work.job import State

PAGE = "pages/2_Decision_boundary.py"
QUICK = dict(seeds="2", steps="50", points="64")
GRID = 15
# Measured on fewer points; the default experiment is measured as visitors see it.
QUICKLY = (
    (budget, "AFFORDABLE", 1e6),
    (frames, "FILM_GRID", GRID),
    (along, "FILM_GRID", GRID),
    (along, "FINAL_GRID", 31),
)
AS_IT_IS = [(module, name, getattr(module, name)) for module, name, _ in QUICKLY]
DOWNLOADS = {"take_weights", "take_script", "take_log", "take_figure"}


@pytest.fixture(scope="module")
def first_run():
    """What most tests begin with, trained and measured once."""
    with pytest.MonkeyPatch.context() as patch:
        for place in QUICKLY:
            patch.setattr(*place)
        patch.setattr(runs, "_known", {})
        return open_playground().session_state[runs.last_key(training.JOB)]


@pytest.fixture(autouse=True)
def quick(monkeypatch, first_run):
    """What is measured is measured quickly; no run is known but the first."""
    for place in QUICKLY:
        monkeypatch.setattr(*place)
    known = runs.Shown(first_run.run, dict(first_run.along), dict(first_run.final))
    monkeypatch.setattr(runs, "_known", {first_run.run.setting: known})


@pytest.fixture
def nothing_known(quick):
    """Not even the first run."""
    runs._known.clear()


def open_playground(finished=True, **query):
    app = open_page(PAGE, **QUICK | query)
    return finish(app) if finished else app


def job_of(app):
    return app.session_state["_jobs"][training.JOB][0]


def finish(app):
    """Wait for the job as a browser does that polls; then nothing may be wrong."""
    assert job_of(app).join(TIMEOUT_SECONDS)
    app.run()
    assert not app.exception
    return app


def run_of(app) -> TrainedRun:
    return app.session_state[runs.last_key(training.JOB)].run


def picture(app):
    """What the linked view was sent: header and arrays."""
    return unpack(component(app, playground.VIEW_KEY).proto.bytes)


def draw_points(app, points, labels, serial=1):
    """A message of the drawing square, as the browser sends it."""
    report(app, "own_draw", "drawn", {"points": points, "labels": labels, "serial": serial})
    return finish(app)


def choose(app, menu, word):
    """Open a menu of tiles and click one."""
    app.button(key=f"{menu}_menu").click().run()
    app.button(key=f"choose_{menu}_{word}").click().run()
    return app


def said(app):
    return " ".join(e.value for e in (*app.caption, *app.markdown, *app.get("text")))


def downloads(app):
    return {button.key: button for button in app.get("download_button")}


def assert_shown(app):
    """A picture, a table, two numbers and four things to take home."""
    assert not app.exception
    header, arrays = picture(app)
    assert header["frames"] > 1
    assert header["frame"] == header["frames"] - 1
    for name in ("left_x", "right_x", "left_colour", "right_colour"):
        assert np.isfinite(arrays[name]).all()
    assert len(app.table) == 1
    assert len(app.table[0].value) == len(run_of(app).setting.variants)
    assert len(app.metric) == 2
    assert set(downloads(app)) >= DOWNLOADS
    return header, arrays


# --- A visit --------------------------------------------------------------------------------------


def test_an_example_stands_where_the_first_run_is_on_its_way(nothing_known, inline):
    with inline.busy():
        app = open_playground(finished=False)
        assert not app.exception
        assert not app.warning
        header, _ = picture(app)
        assert header["stale"] == (
            "An example: circle, no gate beside sigmoid gate. What you asked for is on its way."
        )
        assert not app.metric
    finish(app)
    assert picture(app)[0]["stale"] == ""
    header, arrays = assert_shown(app)
    run = run_of(app)
    assert header["frames"] == len(run.frames)
    assert header["frame_labels"][-1] == "step 50 · epoch 50"
    assert [c["heading"] for c in header["columns"]] == [
        "no gate",
        "sigmoid gate",
        "Along the run",
    ]
    assert len(header["columns"][0]["captions"]) == len(run.frames)
    assert arrays["left_x"].shape == (len(run.frames), GRID, GRID)
    assert "No difference that 2 seeds can show" in header["readings"][-1]
    assert app.metric[0].value == "0"
    assert list(app.table[0].value["Parameters"]) == ["47", "59"]


def test_curvature_of_every_seed_fills_in():
    app = open_playground(seeds="3")
    _, arrays = picture(app)
    for side in ("left", "right"):
        low, high = arrays[f"curve0_{side}_low"], arrays[f"curve0_{side}_high"]
        assert (low <= high).all()
        errors = arrays[f"curve0_{side}_error"]
        assert (errors[np.isfinite(errors)] >= 0).all()
    shown = app.session_state[runs.last_key(training.JOB)]
    everyone = {(name, member) for name in ("ungated", "sigmoid") for member in range(3)}
    assert set(shown.along) == everyone
    typical = training.Wish().member(shown.run)
    assert set(shown.final) == {(name, typical) for name in ("ungated", "sigmoid")}


def test_the_totals_are_those_of_the_shown_seed():
    app = open_playground(seeds="3", who="worst right")
    shown = app.session_state[runs.last_key(training.JOB)]
    member = training.Wish("worst right").member(shown.run)
    found = shown.final["sigmoid", member].total
    assert float(found.value) > float(found.error) > 0
    value = float(app.metric[1].value.split(" ±")[0])
    assert abs(value - float(found.value)) <= float(found.error)
    app.selectbox(key="who").set_value("best right").run()
    finish(app)  # another seed's end is measured when somebody looks
    assert app.session_state[runs.last_key(training.JOB)] is shown
    best = shown.final["sigmoid", training.Wish("best right").member(shown.run)].total
    value = float(app.metric[1].value.split(" ±")[0])
    assert abs(value - float(best.value)) <= float(best.error)
    job = job_of(app)
    app.selectbox(key="who").set_value("worst right").run()
    assert job_of(app) is job  # and not once more


def test_the_curve_of_total_curvature_ends_at_the_number_below_it():
    """The refined total is the last point, with its error; a ring means a lower estimate alone."""
    app = open_playground(data="sine", right="silu", seeds="2")
    shown = app.session_state[runs.last_key(training.JOB)]
    member = training.Wish().member(shown.run)
    curve = film.curves_of(shown, member)[0]
    for side, name in zip(("left", "right"), shown.run.setting.compared, strict=True):
        end, path = shown.final[name, member].total, shown.along[name, member].total
        assert curve.by_side[side][-1, member] == float(end.value)
        assert curve.errors[side][-1] == float(end.error)
        np.testing.assert_array_equal(curve.errors[side][:-1], path.error[:-1])
        np.testing.assert_array_equal(curve.open[side][:-1], ~path.complete[:-1])
        assert curve.open[side][-1] == (not end.complete)
    assert app.metric[1].value == plus_minus(float(end.value), float(end.error))


def test_a_flat_sheet_is_known_to_be_flat_at_every_step_however_it_is_painted():
    app = open_playground(paint="curvature", seeds="2", who="best right")
    header, arrays = picture(app)
    assert all("not known" not in line for line in header["columns"][0]["captions"])
    assert not arrays["left_field"].any()
    assert app.metric[0].value == "0"
    proof = "flat (proved: it lies in the plane of three fixed values)"
    assert proof in [caption.value for caption in app.caption]


def test_a_picture_is_not_sent_again_for_every_seed_that_is_measured(monkeypatch):
    """The film is megabytes: it changes with the shown seed's curvature, and once all are there."""
    app = open_playground(seeds="3")
    shown = app.session_state[runs.last_key(training.JOB)]
    member = training.Wish().member(shown.run)
    whole = dict(shown.along)
    pictures = []
    shown.along.clear()
    for key in sorted(whole, key=lambda key: (key[1] != member, key)):
        shown.along[key] = whole[key]
        curve = film.curves_of(shown, member)[0]
        pictures.append({side: values.tobytes() for side, values in curve.by_side.items()})
    assert pictures[1] == pictures[2]
    assert pictures[1] != pictures[0]
    assert pictures[-1] != pictures[-2]
    known = np.isfinite(np.frombuffer(pictures[2]["left"]).reshape(-1, 3))
    assert known[:, member].all()
    assert known.sum() == len(known)


def test_the_default_experiment_of_sixteen_seeds(monkeypatch):
    for place in AS_IT_IS:
        monkeypatch.setattr(*place)
    app = open_playground(seeds="16", steps="400", points="1024")
    header, _ = assert_shown(app)
    reading = header["readings"][-1]
    assert "**Sigmoid gate helps by" in reading
    finals = {n: v.ensemble.test_accuracy[-1] for n, v in run_of(app).variants.items()}
    found = mean_interval(100 * (finals["sigmoid"] - finals["ungated"]))
    mean, half = re.search(r"helps by ([\d.]+) ± ([\d.]+) points", reading).groups()
    assert abs(float(mean) - found.mean) <= 0.051
    assert 0 <= float(half) - found.half_width < 0.1


def test_looking_inside():
    app = open_playground(looking="true")
    charts = [json.loads(c.proto.spec) for c in app.get("plotly_chart")]
    assert [len(chart["data"]) for chart in charts] == [
        2,  # strip of the seeds
        2 * 3,  # ungated: three weights, each with what is clicked
        2 * (3 + 3),  # gated: three weights and three gates
    ]


@pytest.mark.parametrize(
    ("ends", "said"), [((5.9e-45, 1.0), "0"), ((0.002, 1.0), "0.002"), ((-0.5, 0.5), "−0.5")]
)
def test_the_end_of_a_scale_is_zero_where_no_colour_tells(ends, said):
    assert inside_maps._end(*ends) == said


def test_downloads_are_there_and_complete():
    app = open_playground()
    buttons = downloads(app)
    assert set(buttons) == DOWNLOADS | {"own_example"}
    assert not any(button.disabled for button in buttons.values())
    shown = app.session_state[runs.last_key(training.JOB)]
    html = playground._figure(shown, Look(), 0)
    assert "mesh3d" in html
    assert "circle, step 50 of 50" in html


# --- Menus of tiles -------------------------------------------------------------------------------


def test_a_closed_menu_draws_no_tiles_and_an_open_one_all_of_them():
    app = open_playground()
    assert not [button for button in app.button if button.key.startswith("choose_")]
    app.button(key="right_menu").click().run()
    names = {b.key: b.label for b in app.button if b.key.startswith("choose_right_")}
    assert names == {f"choose_right_{word}": name for word, name in TITLES.items()}
    lines = [caption.value for caption in app.caption]
    assert all(kind.line in lines for kind in KINDS.values())


def test_a_tile_changes_link_and_run_and_closes_its_menu():
    app = open_playground(also="tanh")
    choose(app, "right", "silu")
    finish(app)
    assert run_of(app).setting.variants == ("ungated", "silu", "tanh")
    assert app.query_params["right"] in ("silu", ["silu"])
    assert not [button for button in app.button if button.key.startswith("choose_")]
    heading = picture(app)[0]["columns"][1]["heading"]
    assert heading == "SiLU gate" == app.table[0].value["Variant"].iloc[1]
    choose(app, "right", "sigmoid")
    finish(app)
    assert "right" not in app.query_params  # the default: a link says nothing of it
    assert run_of(app).setting.variants == ("ungated", "sigmoid", "tanh")


def test_a_refused_word_is_forgotten_once_a_tile_is_chosen():
    app = open_playground(left="relu")
    assert len(app.warning) == 1
    finish(choose(app, "left", "tanh"))
    assert not app.warning


@pytest.mark.parametrize("task", [*TASKS, "own"])
def test_the_picture_of_a_data_set_has_its_points_in_its_colours(task):
    root = ElementTree.fromstring(tiles.data_picture(task))
    dots = root.findall("{http://www.w3.org/2000/svg}circle")
    wanted = set() if task == "own" else set(palette.CLASS_COLOURS[: TASKS[task].class_count])
    assert {dot.get("fill") for dot in dots} == wanted
    places = [float(dot.get(name)) for dot in dots for name in ("cx", "cy")]
    assert all(0 <= place <= tiles.SIZE for place in places)
    if task == "linear":  # class 1 is above the diagonal, and an image counts downwards
        assert all((float(dot.get("cx")) > float(dot.get("cy")))
                   == (dot.get("fill") == palette.CLASS_COLOURS[1]) for dot in dots)  # fmt: skip


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
    app = open_playground(**query)
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
    runs._known.clear()  # trained once more
    another = open_playground(**query)
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
    app = open_playground(finished=False, **quick)
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
    app = open_playground(**query)
    assert len(notes(app)) == len(sentences)
    for note, sentence in zip(notes(app), sentences, strict=True):
        assert sentence in note
    assert not app.error
    if variants:
        assert run_of(app).setting.variants == variants
    assert_shown(app)


def test_what_would_be_too_large_keeps_the_last_run():
    app = open_playground()
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
    app = open_playground()
    for task in TASKS:
        choose(app, "data", task)
        finish(app)
        assert run_of(app).setting.task == task
        assert_shown(app)


@pytest.mark.parametrize("right", [name for name in VARIANTS if name != "ungated"])
def test_every_variant(right):
    source = "tokens" if right in TOKENS_ONLY else "memory"
    app = open_playground(right=right, looking="true", **{"from": source})
    assert run_of(app).setting.variants == ("ungated", right)
    assert_shown(app)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_every_optimiser(optimiser):
    assert_shown(open_playground(optimiser=optimiser))


# --- On, back, anew -------------------------------------------------------------------------------


def accuracies(run):
    return {name: v.ensemble.test_accuracy for name, v in run.variants.items()}


def test_train_on_is_what_a_long_run_would_have_been(monkeypatch):
    app = open_playground()
    short = run_of(app)
    with monkeypatch.context() as patch:
        patch.setattr(runs, "train_setting", None)  # it is continued: whoever begins anew fails
        app.button(key="train_on").click().run()
        finish(app)
    longer = run_of(app)
    assert app.slider(key="steps").value == 450
    assert app.query_params["steps"] in ("450", ["450"])
    assert longer.setting.steps == longer.steps[-1] == 450
    assert longer.steps[: len(short.frames)].tolist() == short.steps.tolist()
    runs._known.clear()  # or that one would be found again
    whole = run_of(open_playground(steps="450"))
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
    assert picture(app)[0]["frame_labels"][-1].startswith("step 450 ·")


def test_other_seeds_of_a_large_model_are_measured_on_request(monkeypatch):
    monkeypatch.setattr(training, "OTHERS_COST", 0.0)
    app = open_playground(seeds="3", steps="50", first="77")
    shown = training.COMPLETE
    assert len(app.session_state[shown].along) == 2  # both sides of the shown seed
    assert len(app.session_state[shown].final) == 2
    app.button(key="measure_others").click().run()
    finish(app)
    assert len(app.session_state[shown].along) == 6
    assert not [x for x in app.button if x.key == "measure_others"]
    again = open_playground(seeds="3", steps="50", first="77")
    assert not [x for x in again.button if x.key == "measure_others"]  # once for everybody


def test_training_on_is_called_training(monkeypatch):
    app = open_playground(seeds="3")
    halt = Halted(monkeypatch, 3)
    app.button(key="train_on").click().run()
    until(lambda: 0.5 in job_of(app).items, app)
    assert training.what(job_of(app).items) == "Training"
    assert training.share_of(job_of(app).items) <= 0.5
    halt.release.set()
    finish(app)
    assert run_of(app).steps[-1] == 450


def test_rewind_shows_the_start_until_something_else_is_looked_at():
    app = open_playground(steps="200", seeds="3")
    app.button(key="train_on").click().run()
    finish(app)
    before, last = run_of(app), picture(app)[0]["frames"] - 1
    assert picture(app)[0]["frame"] == last > 40
    serials = {picture(app)[0]["serial"]}
    app.button(key="rewind").click().run()
    assert run_of(app) is before  # the same again would be the same
    assert app.slider(key="steps").value == 600
    assert picture(app)[0]["frame"] == 0
    serials.add(picture(app)[0]["serial"])
    app.button(key="rewind").click().run()
    serials.add(picture(app)[0]["serial"])
    assert len(serials) == 3  # each time the view hears of it
    app.run()
    assert picture(app)[0]["frame"] == 0
    app.selectbox(key="who").set_value("worst right").run()
    assert picture(app)[0]["frame"] == last


def test_each_optimiser_begins_at_a_rate_that_suits_it():
    app = open_playground()
    app.segmented_control(key="optimiser").set_value("sgd").run()
    finish(app)
    setting = run_of(app).setting
    assert (setting.learning_rate, setting.momentum) == (0.1, 0.9)
    app.segmented_control(key="optimiser").set_value("adam").run()
    finish(app)
    setting = run_of(app).setting
    assert (setting.learning_rate, setting.momentum) == (0.02, 0.0)


def test_more_variants_stand_in_the_table_and_the_strip():
    app = open_playground(also=["silu", "half"], seeds="4", steps="150")
    assert_shown(app)
    table = app.table[0].value
    titles = ["no gate", "sigmoid gate", "SiLU gate", "constant gate of ½"]
    assert list(table["Variant"]) == titles
    (against,) = [name for name in table.columns if name.startswith("Against")]
    run = run_of(app)
    finals = {n: 100 * v.ensemble.test_accuracy[-1] for n, v in run.variants.items()}
    for name, text in zip(run.variants, table[against], strict=True):
        gaps = finals[name] - finals["ungated"]
        if name == "ungated":
            assert text == "–"
        else:
            found = mean_interval(gaps)
            tenths = text.removesuffix(" points").replace("−", "-").split(" ± ")
            assert abs(float(tenths[0]) - found.mean) <= 0.051
            assert 0 <= float(tenths[1]) - found.half_width < 0.1
    (strip,) = [json.loads(c.proto.spec) for c in app.get("plotly_chart")]
    assert [trace["name"] for trace in strip["data"]] == titles


def test_new_seeds_are_none_of_the_old():
    app = open_playground(seeds="3", first="4")
    before = run_of(app)
    app.button(key="new_seeds").click().run()
    finish(app)
    assert run_of(app).setting.seeds == (7, 8, 9)
    assert not set(run_of(app).setting.seeds) & set(before.setting.seeds)
    assert app.number_input(key="first").value == 7


def test_after_the_last_seed_comes_the_first():
    app = open_playground(first="9999")
    app.button(key="new_seeds").click().run()
    finish(app)
    assert run_of(app).setting.seeds == (0, 1)


def test_an_emptied_first_seed_is_the_first():
    app = open_playground()
    app.number_input(key="first").set_value(None).run()
    finish(app)
    assert run_of(app).setting.seeds == (0, 1)
    app.button(key="new_seeds").click().run()
    finish(app)
    assert run_of(app).setting.seeds == (2, 3)


def test_looking_differently_trains_nothing():
    app = open_playground(seeds="3")
    before = run_of(app)
    first = picture(app)[0]
    for value in ("worst right", "best left"):
        app.selectbox(key="who").set_value(value).run()
    app.segmented_control(key="paint").set_value("curvature").run()
    app.toggle(key="discrete").set_value(True).run()
    assert run_of(app) is before
    assert picture(app)[0]["serial"].split()[0] == first["serial"].split()[0]


def test_a_picked_seed_is_shown():
    for seed in ("5", "6", "7"):
        app = open_playground(seeds="3", first="5", who="picked", picked_seed=seed)
        caption = picture(app)[0]["columns"][0]["captions"][-1]
        assert caption.startswith(f"seed {seed} ·")
    gone = open_playground(seeds="3", first="5", who="picked", picked_seed="8")  # not among them
    best = open_playground(seeds="3", first="5")
    assert picture(gone)[0]["columns"] == picture(best)[0]["columns"]


# --- Trouble --------------------------------------------------------------------------------------


def test_a_run_that_diverges_says_where_and_keeps_what_it_had(monkeypatch):
    wild = replace(playground_controls.PLAYGROUND["rate"], words={"0.02": 0.02, "10": 10.0})
    for table in (playground_controls.PLAYGROUND, playground_controls.RUN):
        monkeypatch.setitem(table, "rate", wild)
    assert wild.default == 0.02
    app = open_playground(optimiser="sgd", rate="10", steps="400")
    run = run_of(app)
    assert run.divergence is not None
    (warning,) = [w.value for w in app.warning if "diverged" in w.value]
    assert f"at step {run.divergence.step} for seed {run.divergence.members[0][1]}" in warning
    assert "Shown: what there was before" in warning
    header, _ = assert_shown(app)
    assert 1 < header["frames"] == len(run.frames) < 40
    app.segmented_control(key="optimiser").set_value("adam")
    app.select_slider(key="rate").set_value("0.02").run()
    finish(app)
    assert run_of(app).divergence is None
    assert not app.warning


def test_a_run_that_cannot_start_keeps_the_picture(monkeypatch):
    app = open_playground()
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


class Halted:
    """`train_setting` and `train_further`, but they wait after so many items until let go."""

    def __init__(self, monkeypatch, items):
        self.items, self.release = items, threading.Event()
        for name in ("train_setting", "train_further"):
            monkeypatch.setattr(runs, name, partial(self.run, getattr(runs, name)))

    def run(self, original, *arguments):
        for count, item in enumerate(original(*arguments)):
            yield item
            while count == self.items and not self.release.wait(0.01):
                yield 0.5


def at_a_halt(app, frames):
    """Wait until the job has a run of so many frames."""
    until(
        lambda: any(
            isinstance(x, TrainedRun) and len(x.frames) >= frames for x in job_of(app).items
        ),
        app,
    )


def until(reached, app):
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not reached():
        assert time.monotonic() < deadline
        job_of(app).join(0.05)


def endless(*_, **__):
    """What measures, and never finds anything."""
    while True:
        time.sleep(0.01)
        yield None


def test_a_cancelled_run_keeps_its_part_and_goes_on_from_there(monkeypatch):
    whole = run_of(open_playground(first="60"))
    runs._known.clear()
    app = open_playground()
    halt = Halted(monkeypatch, 20)
    app.number_input(key="first").set_value(60).run()
    at_a_halt(app, 3)
    job_of(app).cancel(declined=True)
    finish(app)
    assert job_of(app).state is State.CANCELLED
    assert "Training was cancelled after" in said(app)
    assert f", at step {run_of(app).steps[-1]} of 50. What it had by then is kept." in said(app)
    part = run_of(app)
    assert part.setting.seeds == (60, 61)
    assert 3 <= len(part.frames) < len(whole.frames)
    header, _ = assert_shown(app)
    assert header["frames"] == len(part.frames)
    assert header["camera"] != camera_from(film.BEGIN_FROM)  # chosen from what there is
    assert header["spare"] == playground.SPARE + playground.ROW
    assert [metric.value for metric in app.metric] == ["not measured"] * 2
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
    assert app.metric[0].value == "0"


def test_a_run_cancelled_while_it_is_measured_goes_on_measuring(nothing_known, monkeypatch):
    original = training.together
    monkeypatch.setattr(training, "together", endless)
    app = open_playground(finished=False)
    at_a_halt(app, 1)
    until(lambda: training.what(job_of(app).items) != "Training", app)
    job_of(app).cancel(declined=True)
    finish(app)
    assert "Measuring curvature was cancelled" in said(app)
    before = run_of(app)
    assert before.complete
    monkeypatch.setattr(training, "together", original)
    app.button(key="go_on").click().run()
    finish(app)
    assert run_of(app) is before
    assert app.metric[0].value == "0"


def test_coming_back_after_leaving_in_the_middle_it_goes_on(nothing_known, monkeypatch):
    halt = Halted(monkeypatch, 20)
    app = open_playground(finished=False)
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
    app = open_playground(seeds="3", data="xor", paint="curvature", who="worst right", steps="100")
    before = run_of(app)
    app.switch_page("pages/9_How_to_read.py").run()
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
    app.query_params["data"] = "linear"  # a link is another wish
    app.switch_page(PAGE).run()
    assert app.query_params["data"] in ("linear", ["linear"])


def test_two_runs_never_share_a_number():
    """`id` would: a new run often lies where one lay that is gone."""
    app = open_playground()
    seen = {runs.serial(run_of(app))}
    for first in range(100, 104):
        app.number_input(key="first").set_value(first).run()
        finish(app)
        number = runs.serial(run_of(app))
        assert number == runs.serial(run_of(app))
        assert number not in seen
        seen.add(number)


# --- One's own data -------------------------------------------------------------------------------


def table_of(count=40, classes=("a", "b"), scale=1.0):
    rows = ["x,y,label"]
    for i in range(count):
        angle = i * 2.4
        label = classes[i % len(classes)]
        radius = scale * (1 + i % len(classes))
        rows.append(f"{radius * np.cos(angle):.3f},{radius * np.sin(angle):.3f},{label}")
    return "\n".join(rows)


def paste(app, text):
    app.text_area(key="own_text").set_value(text).run()
    return finish(app)


@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c"), ("1", "2", "3", "4")])
def test_a_pasted_table_is_trained(classes):
    app = open_playground(own="true")
    paste(app, table_of(classes=classes))
    assert not app.error
    assert app.query_params["data"] in ("own", ["own"])
    setting = run_of(app).setting
    assert setting.task == "own"
    assert setting.own.names == classes
    assert f"In use: 40 points, classes {', '.join(classes)}" in said(app)
    assert "Scaled to the square" in said(app)
    assert_shown(app)


def test_the_example_is_trained():
    app = open_playground(own="true")
    paste(app, EXAMPLE_CSV)
    assert "80 points, classes ripe, unripe" in said(app)
    assert run_of(app).setting.task == "own"


@pytest.mark.parametrize(("share", "expected"), [("0.25", 0.25), ("0.7", 0.7), ("0", 0.75)])
def test_what_is_said_of_the_split_is_what_is_done(share, expected):
    app = open_playground(own="true", share=share)
    assert run_of(app).setting.train_share == (0.25 if share == "0" else expected)
    paste(app, table_of())
    assert run_of(app).setting.train_share == expected
    task = run_of(app).task
    train, test = task.train_points.shape[1], task.test_points.shape[1]
    assert train + test == 40
    assert f"trains on {train} of the 40 points" in said(app)
    assert f"the other {test}" in said(app)


REFUSED = [
    "1,2,a\n3,4,b",  # no header
    "x,label\n1,a",  # no y
    table_of().replace("1.000", "one", 1),
    table_of() + "\nnan,0,a",
    table_of() + "\n0,inf,a",
    table_of(classes=("a",)),
    table_of(classes=tuple("abcde")),
    table_of(7),  # too few
    "x,y,label\n" + "\n".join(f"1,1,{c}" for c in "abababab"),  # all on one spot
    table_of(5001),  # too many
    "\x00\x01",
]


def test_a_refused_table_gets_a_sentence_and_the_picture_stays():
    app = open_playground(own="true")
    before = run_of(app)
    paste(app, table_of())
    trained = run_of(app)
    assert trained is not before
    for text in REFUSED:
        paste(app, table_of())
        assert not app.error, text
        assert run_of(app) is trained, text  # the same table is the same setting
        paste(app, text)
        assert len(app.error) == 1, text
        assert len(app.error[0].value) < 300, text
        assert run_of(app) is trained, text
        assert_shown(app)
    paste(app, table_of(scale=2.0))
    assert not app.error
    assert run_of(app) is not trained


def test_without_a_table_an_empty_one_is_refused_beside_the_first_picture():
    app = open_playground(own="true")
    before = run_of(app)
    paste(app, "x")
    assert run_of(app) is before
    paste(app, "")
    assert len(app.error) == 1
    assert len(app.error[0].value) < 300
    assert run_of(app) is before
    assert_shown(app)
    paste(app, table_of())
    assert not app.error
    assert run_of(app) is not before


@pytest.mark.parametrize(
    ("content", "trained"),
    [
        (EXAMPLE_CSV.encode(), True),
        (EXAMPLE_CSV.encode("utf-16"), False),
        (b"\xff\xfe\x00", False),
        (b"", False),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), False),
        (b"x,y,label\n" + b"0.1,0.2,a\n" * 200_000, False),  # above 1 MB
    ],
    ids=["example", "UTF-16", "half a character", "empty", "picture", "too large"],
)
def test_an_uploaded_file_is_trained_or_refused(content, trained):
    app = open_playground(own="true")
    app.file_uploader(key="own_file").set_value(("points.csv", content, "text/csv")).run()
    finish(app)
    assert (run_of(app).setting.task == "own") == trained
    assert len(app.error) == (not trained)
    assert_shown(app)


def test_drawn_points_are_trained():
    app = open_playground(own="true")
    few = [[0.1 * i, 0.0] for i in range(4)]
    draw_points(app, few, [0] * 4)
    (error,) = app.error
    assert "4; at least 8" in error.value
    assert run_of(app).setting.task == "circle"

    points = [[0.2 * i - 0.8, 0.5 - (i % 2)] for i in range(9)]
    draw_points(app, points, [3 * (i % 2) for i in range(9)], serial=2)
    assert not app.error
    own = run_of(app).setting.own
    assert own.names == ("blue", "purple")
    header, _ = assert_shown(app)
    assert (header["legend"]["low"], header["legend"]["high"]) == ("blue", "purple")
    ends = [colour for _, colour in header["legend"]["scale"]]
    assert (ends[0], ends[-1]) == (palette.CLASS_COLOURS[0], palette.CLASS_COLOURS[3])
    symbols = {
        trace["marker"]["symbol"].removesuffix("-open")
        for trace in header["columns"][1]["panels"][1]["traces"] if "marker" in trace
    }  # fmt: skip
    assert symbols == {"circle", "cross"}
    np.testing.assert_allclose(own.points, points)
    assert "The points stand where they were given" in said(app)
    assert_shown(app)
    shown = json.loads(component(app, "own_draw").proto.json)
    np.testing.assert_allclose(shown["points"], points)

    app = open_playground(data="own", drawing=app.query_params["drawing"])  # a reload
    assert run_of(app).setting.own == own
    shown = json.loads(component(app, "own_draw").proto.json)
    np.testing.assert_allclose(shown["points"], points)
    assert "In use: 9 points, classes blue, purple" in said(app)

    draw_points(app, [], [], serial=3)
    assert not app.error
    assert "drawing" not in app.query_params
    assert notes(app) == [":material/info: There are no points of your own yet. Shown: circle."]
    assert run_of(app).setting.task == "circle"
    assert_shown(app)


def test_a_drawing_takes_the_place_of_a_table_once_it_suffices():
    app = open_playground(own="true")
    paste(app, table_of())
    table = run_of(app).setting.own
    points = [[0.2 * i - 0.8, 0.5 - (i % 2)] for i in range(9)]
    draw_points(app, points[:4], [0, 1] * 2)
    assert not app.error
    assert run_of(app).setting.own == table
    draw_points(app, points, [i % 2 for i in range(9)], serial=2)
    assert run_of(app).setting.own.names == ("blue", "orange")
    draw_points(app, [], [], serial=3)
    assert run_of(app).setting.task == "circle"


def test_what_is_in_use_beside_a_refused_table_is_said():
    app = open_playground(own="true")
    paste(app, table_of())
    assert "In use: 40 points" in said(app)
    assert "Still" not in said(app)
    paste(app, "x,y\n1,2")
    assert len(app.error) == 1
    assert "Still in use, from before: 40 points" in said(app)


def test_files_are_limited_to_what_is_said():
    app = open_playground(own="true")
    (uploader,) = app.get("file_uploader")
    assert uploader.proto.max_upload_size_mb == 1
    assert "at most 5,000 rows and 1 MB" in uploader.proto.label


def test_own_points_can_be_left_and_returned_to():
    app = open_playground(own="true")
    paste(app, table_of())
    choose(app, "data", "xor")
    finish(app)
    assert run_of(app).setting.task == "xor"
    choose(app, "data", "own")
    finish(app)
    assert run_of(app).setting.task == "own"


def test_own_points_take_no_noise_and_say_so():
    app = open_playground(own="true", noise="0.2", flip="0.2")
    paste(app, table_of())
    assert "no noise, no wrong labels" in notes(app)[0]
    setting = run_of(app).setting
    assert (setting.noise, setting.label_noise) == (0, 0)
    assert_shown(app)


def test_what_stands_in_a_table_is_no_markdown():
    app = open_playground(own="true")
    paste(app, "x,y,label\n1,**bold** $x$ [a](b),c\n")
    (error,) = app.error
    assert "\\*\\*bold\\*\\*" in error.value
    assert "\\[a\\]" in error.value


def test_a_refusal_goes_with_its_file():
    app = open_playground(own="true")
    app.file_uploader(key="own_file").set_value(("points.csv", b"x,y\n1,2", "text/csv")).run()
    finish(app)
    assert app.error
    app.file_uploader(key="own_file").set_value(None).run()
    finish(app)
    assert not app.error


def test_numbers_are_those_of_a_complete_run_and_say_whose(monkeypatch):
    app = open_playground()
    before = app.table[0].value
    halt = Halted(monkeypatch, 20)
    app.number_input(key="first").set_value(60).run()
    at_a_halt(app, 3)
    app.run()
    assert "the run before, until the new one is complete" in said(app)
    assert app.table[0].value.equals(before)
    halt.release.set()
    finish(app)
    assert "the run before" not in said(app)
    assert run_of(app).setting.seeds == (60, 61)
    assert app.session_state[training.COMPLETE].run is run_of(app)


def test_numbers_are_there_while_curvature_is_measured(monkeypatch):
    monkeypatch.setattr(training, "together", endless)
    app = open_playground(finished=False, first="70")
    until(lambda: training.what(job_of(app).items) != "Training", app)
    app.run()
    assert not job_of(app).over
    assert "After step 50" in said(app)
    assert [metric.value for metric in app.metric] == ["…"] * 2
    job_of(app).cancel()


def test_a_setting_that_was_run_before_is_there_at_once(monkeypatch):
    first = run_of(open_playground(first="80"))
    monkeypatch.setattr(runs, "train_setting", None)  # whoever trains now fails
    app = open_playground(finished=False, first="80")
    assert_shown(app)
    assert run_of(app) is first
    finish(app)


def test_drawing_waits_for_nobody(inline):
    """Two others who train must not keep a visitor from seeing what there is."""
    app = open_playground()
    with inline.busy():
        app.selectbox(key="who").set_value("worst right").run(timeout=10)
        assert not app.exception
        assert_shown(app)
    finish(app)


@pytest.mark.parametrize("page", ["app.py", "pages/1_Manifold.py"])
def test_other_pages_wait_for_nobodys_training(page, inline):
    with inline.busy():
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=20)
        app.query_params["strength"] = "0.35"
        app.query_params["model"] = "4711"
        app.run()
        app.switch_page(page).run()
        assert not app.exception
        assert app.get("bidi_component")


def test_a_job_keeps_one_run_not_all_its_moments():
    app = open_playground(steps="400")
    runs = [item for item in job_of(app).items if isinstance(item, TrainedRun)]
    assert len(runs) == 1


def test_balance_and_own_points():
    app = open_playground(own="true", balance="0.3")
    paste(app, table_of())
    assert notes(app)
    assert "The balance of classes cannot be set for your own points" in notes(app)[0]
    assert_shown(app)
