"""A visit to Decision boundary shows, measures and hands out one run."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from gating_core.experiments import budget
from gating_core.language.measurements import Reliability, ResampledReliability
from gating_core.tasks.task import TASKS
from gating_core.training.trained import mean_interval
from tests.ui.decision_boundary.playing import (
    AS_IT_IS,
    DOWNLOADS,
    GRID,
    assert_shown,
    choose,
    downloads,
    finish,
    job_of,
    open_boundary,
    picture,
    run_of,
    table_of,
    texts_of,
    total_shown,
    totals,
)
from ui.common.words import settled_total_text
from ui.decision_boundary import controls, frames, parts, reliability, training
from ui.decision_boundary import inside as inside_maps
from ui.decision_boundary.names import KINDS, TITLES
from ui.decision_boundary.request import BoundaryView
from ui.drawing import palette
from ui.work import runs

pytestmark = pytest.mark.usefixtures("quick")


# --- A visit --------------------------------------------------------------------------------------


def test_a_first_run_is_trained_measured_and_shown(nothing_known):
    app = open_boundary(finished=False)
    finish(app)
    assert picture(app)[0]["stale"] == ""
    header, arrays = assert_shown(app)
    run = run_of(app)
    assert header["frames"] == len(run.frames)
    assert header["frame_labels"][-1] == "step 50 · epoch 50"
    assert [c["heading"] for c in header["columns"]] == [
        "no gate · seed 0",
        "sigmoid gate · seed 0",
        "Along the run",
    ]
    assert len(header["columns"][0]["captions"]) == len(run.frames)
    assert arrays["left_x"].shape == (len(run.frames), GRID, GRID)
    assert "**No significant difference** between" in header["readings"][-1]
    assert totals(app)[0] == "total curvature **0**: flat"
    assert list(table_of(app)["Parameters"]) == ["47", "59"]


def test_curvature_of_every_seed_fills_in():
    app = open_boundary(seeds="3")
    _, arrays = picture(app)
    for side in ("left", "right"):
        low, high = arrays[f"curve0_{side}_low"], arrays[f"curve0_{side}_high"]
        assert (low <= high).all()
        errors = arrays[f"curve0_{side}_error"]
        assert (errors[np.isfinite(errors)] >= 0).all()
    shown = app.session_state[runs.last_key(training.JOB)]
    everyone = {(name, member) for name in ("ungated", "sigmoid") for member in range(3)}
    assert set(shown.along) == everyone
    typical = training.MeasurementRequest().member(shown.run)
    assert set(shown.final) >= {(name, typical) for name in ("ungated", "sigmoid")}


def test_the_totals_are_those_of_the_shown_seed(nothing_known, monkeypatch):
    monkeypatch.setattr(budget, "AFFORDABLE_COST", 1e6)  # enough to refine them
    app = open_boundary(seeds="3", who="worst right")
    shown = app.session_state[runs.last_key(training.JOB)]
    member = training.MeasurementRequest("worst right").member(shown.run)
    total = shown.final["sigmoid", member].total
    assert float(total.value) > float(total.error) > 0
    value = total_shown(app, 1)
    assert abs(value - float(total.value)) <= float(total.error)
    app.selectbox(key="who").set_value("best right").run()
    finish(app)  # another seed's end is measured when somebody looks
    before, shown = shown, app.session_state[runs.last_key(training.JOB)]
    assert shown.run is before.run  # nothing is trained again, and what was measured is there
    assert shown.final.items() >= before.final.items()
    best = shown.final["sigmoid", training.MeasurementRequest("best right").member(shown.run)].total
    value = total_shown(app, 1)
    assert abs(value - float(best.value)) <= float(best.error)
    job = job_of(app)
    app.selectbox(key="who").set_value("worst right").run()
    assert job_of(app) is job  # and not once more


def test_the_curve_of_total_curvature_ends_at_the_number_below_it():
    """The refined total is the last point, with its error; a ring means a lower estimate alone."""
    app = open_boundary(data="sine", right="silu", seeds="2")
    shown = app.session_state[runs.last_key(training.JOB)]
    member = training.MeasurementRequest().member(shown.run)
    curve = frames.curves_of(shown, member)[0]
    for side, name in zip(("left", "right"), shown.run.setting.compared, strict=True):
        end, path = shown.final[name, member].total, shown.along[name, member].total
        assert curve.by_side[side][-1, member] == float(end.value)
        assert curve.errors[side][-1] == float(end.error)
        np.testing.assert_array_equal(curve.errors[side][:-1], path.error[:-1])
        np.testing.assert_array_equal(curve.open[side][:-1], ~path.complete[:-1])
        assert curve.open[side][-1] == (not end.complete)
    assert totals(app)[1] == f"total curvature **{settled_total_text(end, False)}**"


def test_a_flat_sheet_is_known_to_be_flat_at_every_step_however_it_is_painted():
    app = open_boundary(paint="curvature", seeds="2", who="best right")
    header, arrays = picture(app)
    assert all("not known" not in line for line in header["columns"][0]["captions"])
    assert not arrays["left_field"].any()
    assert totals(app)[0] == "total curvature **0**: flat"
    assert (
        "At the last step, no gate: flat (proved: it lies in the plane of three fixed values)."
        in texts_of(app)
    )


def test_a_picture_is_not_sent_again_for_every_seed_that_is_measured(monkeypatch):
    """The film is megabytes: it changes with the shown seed's curvature, and once all are there."""
    app = open_boundary(seeds="3")
    shown = app.session_state[runs.last_key(training.JOB)]
    member = training.MeasurementRequest().member(shown.run)
    pictures, along = [], {}
    for key in sorted(shown.along, key=lambda key: (key[1] != member, key)):
        along[key] = shown.along[key]
        curve = frames.curves_of(replace(shown, along=along), member)[0]
        pictures.append({side: values.tobytes() for side, values in curve.by_side.items()})
    assert pictures[1] == pictures[2]
    assert pictures[1] != pictures[0]
    assert pictures[-1] != pictures[-2]
    known = np.isfinite(np.frombuffer(pictures[2]["left"]).reshape(-1, 3))
    assert known[:, member].all()
    assert known.sum() == len(known)


def test_the_default_experiment_of_sixteen_seeds(monkeypatch):
    for grid in AS_IT_IS:
        monkeypatch.setattr(*grid)
    app = open_boundary(seeds="16", steps="400", points="1024")
    header, _ = assert_shown(app)
    reading = header["readings"][-1]
    assert "**Sigmoid gate helps by" in reading
    finals = {n: v.ensemble.test_accuracy[-1] for n, v in run_of(app).variants.items()}
    interval = mean_interval(100 * (finals["sigmoid"] - finals["ungated"]))
    mean, half = re.search(r"helps by ([\d.]+) ± ([\d.]+) points", reading).groups()
    assert abs(float(mean) - interval.mean) <= 0.051
    assert 0 <= float(half) - interval.half_width < 0.1


def test_looking_inside():
    app = open_boundary(looking="true")
    charts = [json.loads(c.proto.spec) for c in app.get("plotly_chart")]
    assert [len(chart["data"]) for chart in charts] == [
        2 * 3,  # ungated: three weights, each with what is clicked
        2 * (3 + 3),  # gated: three weights and three gates
    ]


def test_how_sure_both_are_and_how_often_right():
    app = open_boundary(calibration="true")
    (chart,) = [json.loads(c.proto.spec) for c in app.get("plotly_chart")]
    run = run_of(app)
    names = [trace["name"] for trace in chart["data"]]
    assert names == [TITLES[name] for name in run.setting.compared]
    results = reliability.calibrations(run)
    for name, of in results.items():
        whole, accuracy = of.whole, run.variants[name].ensemble.test_accuracy[-1].mean()
        assert np.average(whole.frequency, weights=whole.counts) == pytest.approx(accuracy)
    (sentence,) = [m.value for m in app.markdown if m.value.startswith("Expected calibration")]
    assert sentence == reliability.summary(results, 2)
    assert "2 seeds are too few for a verdict" in sentence
    rows = [*reliability.reliability_rows(results)]
    assert len(rows) == 1 + sum(len(of.whole.counts) for of in results.values())
    assert sum(row[-1] for row in rows[1:]) == 2 * run.task.test_labels.size


def test_a_verdict_on_calibration_needs_an_interval_without_zero():
    def result(errors):
        whole = Reliability(np.array([0.5 + errors[0], 0.9]), np.array([0.5, 0.9]), np.ones(2))
        return ResampledReliability(whole, np.array(errors), np.zeros((len(errors), 2)))

    def said(left, right):
        results = {"ungated": result(left), "sigmoid": result(right)}
        return reliability.summary(results, reliability.FEW_SEEDS)

    assert "**sigmoid gate is better calibrated**" in said((0.2, 0.21), (0.1, 0.11))
    assert "**sigmoid gate is worse calibrated**" in said((0.1, 0.11), (0.2, 0.21))
    assert "**no difference beyond the interval**" in said((0.1, 0.2), (0.2, 0.1))


@pytest.mark.parametrize(
    ("ends", "said"), [((5.9e-45, 1.0), "0"), ((0.002, 1.0), "0.002"), ((-0.5, 0.5), "−0.5")]
)
def test_the_end_of_a_scale_is_zero_where_no_colour_tells(ends, said):
    assert inside_maps._end(*ends) == said


def test_downloads_are_there_and_complete():
    app = open_boundary(own="true")
    buttons = downloads(app)
    assert set(buttons) == DOWNLOADS | {"own_example"}
    assert not any(button.disabled for button in buttons.values())
    shown = app.session_state[runs.last_key(training.JOB)]
    html = parts.figure_page(shown, BoundaryView(), 0)
    assert "mesh3d" in html
    assert "circle, step 50 of 50" in html


# --- Menus of tiles -------------------------------------------------------------------------------


def test_a_closed_menu_draws_no_tiles_and_an_open_one_all_of_them():
    app = open_boundary()
    assert not [button for button in app.button if button.key.startswith("choose_")]
    app.button(key="right_menu").click().run()
    names = {b.key: b.label for b in app.button if b.key.startswith("choose_right_")}
    assert names == {f"choose_right_{word}": name for word, name in TITLES.items()}
    lines = [caption.value for caption in app.caption]
    assert all(kind.line in lines for kind in KINDS.values())


def test_a_tile_changes_link_and_run_and_closes_its_menu():
    app = open_boundary(also="tanh")
    choose(app, "right", "silu")
    finish(app)
    assert run_of(app).setting.variants == ("ungated", "silu", "tanh")
    assert app.query_params["right"] in ("silu", ["silu"])
    assert not [button for button in app.button if button.key.startswith("choose_")]
    heading = picture(app)[0]["columns"][1]["heading"]
    assert heading.split(" · ")[0] == "SiLU gate" == table_of(app)["Variant"][1]
    choose(app, "right", "sigmoid")
    finish(app)
    assert "right" not in app.query_params  # the default: a link says nothing of it
    assert run_of(app).setting.variants == ("ungated", "sigmoid", "tanh")


def test_a_refused_word_is_forgotten_once_a_tile_is_chosen():
    app = open_boundary(left="relu")
    assert len(app.warning) == 1
    finish(choose(app, "left", "tanh"))
    assert not app.warning


@pytest.mark.parametrize("task", [*TASKS, "own"])
def test_the_picture_of_a_data_set_has_its_points_in_its_colours(task):
    root = ElementTree.fromstring(controls.data_picture(task))
    dots = root.findall("{http://www.w3.org/2000/svg}circle")
    wanted = set() if task == "own" else set(palette.CLASS_COLOURS[: TASKS[task].class_count])
    assert {dot.get("fill") for dot in dots} == wanted
    places = [float(dot.get(name)) for dot in dots for name in ("cx", "cy")]
    assert all(0 <= place <= controls.SIZE for place in places)
    if task == "linear":  # class 1 is above the diagonal, and an image counts downwards
        assert all((float(dot.get("cx")) > float(dot.get("cy")))
                   == (dot.get("fill") == palette.CLASS_COLOURS[1]) for dot in dots)  # fmt: skip
