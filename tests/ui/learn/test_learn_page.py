"""A lesson asks, locks the guess, answers with the models' numbers, and ticks off what is tried."""

import numpy as np
import pytest

from gating_core.claims.price_verdicts import NEEDED, NOT_NEEDED, judge, price_study
from gating_core.experiments.comparison import load_preset, load_sweep
from gating_core.geometry import square_grid
from gating_core.theory import key_sign
from tests.ui.opening import data_of, header, mistakes, open_page
from ui.classroom import room
from ui.landing.picture import measure_stage
from ui.learn import facts
from ui.learn.facts import CHECKS, FACTS, after_text, facts_of, try_text
from ui.learn.lessons import lessons
from ui.learn.page import parse_done, parse_guesses
from ui.learn.pictures import PICTURES

PAGE = "pages/12_Learn.py"
RING = "-0.0556,-0.0531,-0.997,-0.0039"  # a plane nearly parallel to the triangle
# For each lesson a state that is what is asked for, and one that is not.
TRIED = {
    "hull": ({"biases": "4,-1,-1,0.6"}, {"biases": "1,0,0,0.6"}),
    "flat": ({"keys": "0,3;1,1;2,-1;0,0"}, {"keys": "0,3;1,1;2,0;0,0"}),
    "multiply": ({"strength": "0.1", "plane": RING}, {"strength": "0.1"}),
    "bent": ({"formula": "1/(2+u)**2"}, {"formula": "1/(3+u**2+v**2)"}),
    "plane": ({"strength": "0"}, {"strength": "0.05"}),
    "loops": ({"task": "moons", "strength": "1"}, {"task": "xor", "strength": "1"}),
    "layers": ({"after": "8"}, {"after": "9"}),
    "island": (
        {"island_surface": "gated layer", "island_plane": "0,0,1,-0.5"},
        {"island_surface": "gated layer", "island_plane": "0,0,1,0"},
    ),
    "misleading": ({"fooled": "step too small"}, {"fooled": "saturated softmax"}),
    "keys": ({"keys": "0,3;-2.75,-2;2.75,-2;0,4"}, {"keys": "0,3;-2.75,-2;2.75,-2;0,-0.5"}),
}


def texts(app):
    return " ".join(x.value for x in (*app.markdown, *app.success, *app.info))


def param(app, name):
    """The last value of a parameter of the link; "" where there is none."""
    values = app.query_params.get(name, [""])
    return values if isinstance(values, str) else values[-1]


def answered(name, **more):
    return open_page(PAGE, lesson=name, guess=f"{name}-1", **more)


def test_no_part_is_left_over():
    assert set(FACTS) == set(lessons()) == set(TRIED)
    assert set(CHECKS) == {lesson.check for lesson in lessons().values()}
    assert set(PICTURES) == {lesson.page for lesson in lessons().values()}


@pytest.mark.parametrize("name", lessons())
def test_the_correct_choice_is_what_the_models_say(name):
    assert facts_of(name).answer == lessons()[name].correct
    assert "[[" not in after_text(name) + try_text(name)
    assert len(after_text(name).split()) < 110


# --- The answers once more, said differently ------------------------------------------------------


def test_keys_make_a_dome_only_where_the_fourth_lies_inside():
    """By areas: a point lies inside if it sees the three edges on one side."""
    a, b, c = np.array([[0, 3], [-2.75, -2], [2.75, -2]])

    def side(p, q, r):
        return np.sign((q - p)[0] * (r - p)[1] - (q - p)[1] * (r - p)[0])

    for place in facts.FOURTH_KEYS:
        point = np.array(place)
        sides = {side(a, b, point), side(b, c, point), side(c, a, point)}
        expected = 0 if 0 in sides else 1 if len(sides) == 1 else -1
        assert key_sign([a, b, c, point]).sign == expected


def test_the_numbers_of_the_ring_are_those_on_the_screen():
    stage = measure_stage(load_preset("circle"), load_sweep("circle"), square_grid(41))
    side = stage.surfaces[-1] @ stage.planes[-1, :3] + stage.planes[-1, 3] > 0
    rim = np.concatenate([side[0], side[-1], side[:, 0], side[:, -1]])
    assert side.any()
    assert len({*rim}) == 1  # the cut does not reach the edge: it is closed
    right = stage.test_values[-1] @ stage.planes[-1, :3] + stage.planes[-1, 3] > 0
    share = 100 * (right == stage.test_labels).mean()
    assert f"{share:.0f}\u00a0%" in after_text("multiply")


def test_a_ring_can_be_cut_at_a_nearly_closed_gate_but_not_by_the_fitted_plane():
    stage = measure_stage(load_preset("circle"), load_sweep("circle"), square_grid(41))
    assert stage.cut(0.1, [*map(float, RING.split(","))]).loops == 1
    assert stage.cut(0.1, stage.plane(0.1)).loops == 0
    assert stage.cut(0.0, [0, 0.6, 0.8, 0.01]).loops == 0


def test_after_the_last_lesson_stands_what_is_known_what_is_not_and_where_to_go_on():
    last = [*lessons()][-1]
    app = open_page(PAGE, lesson=last, guess=f"{last}-3.hull-3.flat-1")
    app.button("learn_next").click().run()
    assert not app.exception
    assert not mistakes(app)
    assert param(app, "lesson") == "end"
    assert [x.value for x in app.title] == ["What has curvature to do with classification?"]
    said = texts(app)
    assert "You guessed 2 of 3 right." in said
    assert all(f"**{part}**" in said for part in ("What you know now", "What is not known"))
    assert {"Curved_or_bent", "Claims", "Real_heads", "Guide"} <= {
        x.proto.page for x in app.get("page_link")
    }
    assert param(open_page(PAGE, lesson="other"), "lesson") == ""


def test_what_is_said_of_prices_at_the_end_is_what_the_study_says():
    rows = judge(price_study())
    assert NEEDED not in {row.word for row in rows}
    by_task = {task: {x.word for x in rows if (x.task, x.gate) == (task, "elementwise")}
               for task in ("circle", "moons", "rings", "islands")}  # fmt: skip
    assert by_task["circle"] == by_task["moons"] == {NOT_NEEDED}
    assert by_task["rings"] == by_task["islands"] == {"inconclusive"}


# --- The course -----------------------------------------------------------------------------------


def test_a_lesson_holds_its_picture_until_a_guess_is_committed_and_then_locks_it():
    app = open_page(PAGE, lesson="multiply")
    assert not app.exception
    found = header(app, "learn_multiply")
    assert (found["hold"], found["strength"]) == (True, 0)
    commit = app.button("learn_commit")
    assert commit.disabled
    app.radio("learn_choice_multiply").set_value(0).run()
    app.button("learn_commit").click().run()
    assert not app.exception
    assert param(app, "guess") == "multiply-1"
    found = header(app, "learn_multiply")
    assert (found["hold"], found["strength"]) == (False, 1)
    assert not app.radio
    said = texts(app)
    lesson = lessons()["multiply"]
    assert lesson.choices[0] in said
    assert lesson.choices[lesson.correct] in said
    assert after_text("multiply") in said
    app.query_params["guess"] = "multiply-3"  # somebody edits the link
    app.run()
    assert param(app, "guess") == "multiply-1"


def test_before_the_guess_the_surface_of_the_question_is_shown_and_its_answer_not_told():
    """A picture of fewer frames stands at its last, the surface after four layers."""
    found = header(open_page(PAGE, lesson="layers"), "learn_layers")
    assert (len(found["places"]), found["frame"]) == (4, 3)
    app = open_page(PAGE, lesson="layers", after="2")
    app.radio("learn_choice_layers").set_value(1).run()
    app.button("learn_commit").click().run()
    assert not param(app, "after")  # the reveal goes to its end
    found = header(app, "learn_layers")
    assert found["follow"]
    app = open_page(PAGE, lesson="layers", guess="layers-2", after="8")  # a link
    found = header(app, "learn_layers")
    assert (found["follow"], found["frame"]) == ("", 7)
    for guess, state in ({}, (True, 0)), ({"guess": "island-1"}, (False, 45)):
        app = open_page(PAGE, lesson="island", **guess)
        found = header(app, "learn_island")
        assert (found["hold"], found["turn"]) == state
    (chart,) = open_page(PAGE, lesson="misleading").get("plotly_chart")
    assert chart.proto.alt == lessons()["misleading"].alt["before"]


def test_a_guess_is_there_after_a_reload_and_goes_with_start_over():
    app = answered("keys", done="keys", keys="0,3;-2.75,-2;2.75,-2;1,0")
    assert not app.exception
    assert not mistakes(app)
    assert data_of(app, "learn_keys")["hold"] is False
    assert data_of(app, "learn_keys")["model"]["keys"][3] == [1, 0]
    assert "Done" in texts(app)
    app.button("learn_step_end").click().run()
    app.button("learn_start_over").click().run()
    assert not {"guess", "done", "keys"} & set(app.query_params)
    assert app.radio


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", lessons())
def test_what_is_tried_is_ticked_off_and_what_is_not_is_not(name):
    done, not_done = TRIED[name]
    for link, ticked in ((not_done, False), (done, True)):
        app = answered(name, **link)
        assert not app.exception
        assert not mistakes(app)
        assert ("Done" in texts(app)) == ticked, link
        assert param(app, "done") == (name if ticked else "")


def test_guesses_in_links():
    assert parse_guesses("multiply-3.keys-1") == {"multiply": 2, "keys": 0}
    assert parse_guesses("multiply-03") is None
    assert parse_guesses("multiply-٣") is None
    assert parse_done("keys.multiply") == {"keys", "multiply"}


def test_a_trial_counts_only_after_a_guess():
    app = open_page(PAGE, lesson="keys", done="keys")
    assert not param(app, "done")


@pytest.mark.parametrize(
    ("address", "warned"), [("http://127.0.0.1:8501", True), ("http://school.example", False)]
)
def test_whoever_starts_a_class_knows_before_that_phones_cannot_reach_it(
    monkeypatch, address, warned
):
    monkeypatch.setattr(room, "student_link", lambda code: f"{address}/c/{code}")
    button = open_page(PAGE).button(key="class_start")
    assert ("this computer only" in button.label) == ("0.0.0.0" in button.help) == warned
