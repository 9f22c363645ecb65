"""Everything that a link can say is used, or named with what is shown instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.browser.addresses import ADDRESSES, FIRST
from tests.each import each
from tests.ui.opening import as_read
from ui.common import links
from ui.common.controls import Number
from ui.common.links import GRID_SIZE, parse_numbers, parse_pick
from ui.decision_boundary.controls import DECISION_BOUNDARY
from ui.limits import QUOTED_CHARACTERS

PAGES = {path.lower() or FIRST: row.controls for path, row in ADDRESSES.items() if row.controls}
GOOD = {
    "beside": "trained without", "proof": "true", "proof_cells": "16,000",
    "strength": "0.35", "task": "moons", "depth": "3", "gate": "headwise",
    "seed": "7", "colour": "curvature", "explore": "true", "pick": "20.30",
    "kind": "silu", "lambda": "0.5", "layers": "8", "chart": "weights", "by": "entropy",
    "more": "true", "source": "tokens", "position": "G4", "per": "head", "dim": "16", "n": "12",
    "heads": "4", "residual": "true", "norm": "post", "projection": "true", "model": "9999",
    "sharpness": "40", "grid": "151", "scale": "asinh", "layer": "8", "part": "3", "tab": "Doubt",
    "metric": "turned", "variance": "0.5", "variances": "1, 2, 0.5", "angle": "180", "ratio": "20",
    "axes": "2", "values": "1,-2,3e-1", "gates": "0", "whose": "ungated", "step": "1e-7",
    "pair": "2-3", "fooled": "normalisation", "gallery": "true", "point": "150.0",
    "data": "own", "left": "value", "right": "matched", "also": "half", "steps": "4000",
    "who": "picked", "picked_seed": "9999", "paint": "curvature", "discrete": "true",
    "noise": "0.5", "flip": "0.02",
    "balance": "0.9", "points": "64", "share": "0.1", "from": "tokens", "width": "16", "slots": "8",
    "attention_heads": "4", "stack": "4", "skip": "true", "rms": "pre", "out": "true",
    "optimiser": "sgd", "rate": "0.001", "batch": "128", "decay": "1", "soft": "0.03",
    "test_points": "false",
    "first": "9999",
    "drawing": "AAAAehIAeg6Q",
    "table": "q9Cp1MlJTErN4TLQMdBJ5DIEk0Zg0ljHEEgaAMkkoDiINAKTxjpGQBIA",
    "seeds": "32", "setup": "true", "own": "true", "looking": "true", "calibration": "true",
    "case": "monkey saddle", "radius": "1.5", "formula": "1/(3+u^2-v)", "tint": "|H|",
    "why": "true", "level": "0.5", "mark": "3.60",
    "maps": "true", "real": "true", "layer_from": "trained", "layer_seed": "9999",
    "layer_dim": "8", "hand": "set by hand", "exp_p": "-3", "exp_q": "0.5", "exp_c": "4",
    "premises": "true", "slice_by": "residual", "premise_seed": "5", "shaping": "true",
    "target": "ellipsoid", "target_size": "2", "fit_units": "4", "fit_seed": "1",
    "claim": "C7", "rows": "here", "wide": "all", "measure": "∫|K| dA",
    "study": "own selection", "tasks": "rings", "variants": "silu", "many": "64",
    "study_parts": "stacks", "only": "C6", "study_steps": "4000", "product": "true",
    "scheduler": "tcp://127.0.0.1:8786", "run_study": "true", "numbers": "true", "models": "true",
    "accuracies": "true", "report": "true",
    "edition": "first",
}  # fmt: skip
BAD = {
    "beside": "somewhere", "strength": "1.5", "proof": "proved", "proof_cells": "16000",
    "task": "spiral of death", "depth": "9", "gate": "ungated",
    "seed": "-1", "colour": "rainbow", "explore": "2", "pick": "61.3",
    "kind": "relu", "lambda": "1.1", "layers": "9", "chart": "maps", "by": "taste",
    "more": "less", "source": "well", "position": "G6", "per": "cent", "dim": "1", "n": "1",
    "heads": "0", "residual": "1", "norm": "both", "projection": "no", "model": "0.5",
    "sharpness": "nan", "grid": "999", "scale": "log", "layer": "9", "part": "-1", "tab": "see",
    "metric": "hyperbolic", "variance": "0", "variances": "1, two", "angle": "181", "ratio": "-1",
    "axes": "0", "values": "1,inf", "gates": "1,,2", "whose": "mine", "step": "1e-8",
    "pair": "3-4", "fooled": "fools", "gallery": "yes", "point": "151.0",
    "data": "mnist", "left": "relu", "right": "both", "also": "more", "steps": "49", "who": "mean",
    "picked_seed": "10032", "paint": "p", "discrete": "1", "noise": "0.6", "flip": "-0.1",
    "balance": "1", "points": "63", "share": "0.95", "from": "disk", "width": "2", "slots": "9",
    "attention_heads": "5", "stack": "0", "skip": "no", "rms": "layer", "out": "in",
    "optimiser": "lion", "rate": "0.02000", "batch": "65", "decay": "inf", "soft": "2",
    "test_points": "no",
    "first": "1e3",
    "drawing": "AAA", "table": "too large",
    "seeds": "1", "setup": "up", "own": "mine", "looking": "glass", "calibration": "sure",
    "case": "torus", "radius": "3", "formula": "u" * 10_001, "tint": "blue", "why": "because",
    "level": "-1", "mark": "3.61",
    "maps": "some", "real": "not", "layer_from": "somewhere", "layer_seed": "-1",
    "layer_dim": "99", "hand": "left", "exp_p": "-3.1", "exp_q": "x", "exp_c": "5",
    "premises": "no", "slice_by": "tokens", "premise_seed": "1e9", "shaping": "1",
    "target": "cube", "target_size": "0.1", "fit_units": "5", "fit_seed": "0.5",
    "claim": "C8", "rows": "mine", "wide": "all variants", "measure": "r", "study": "slow",
    "tasks": "mnist", "variants": "relu", "many": "65", "scheduler": "tcp://nowhere",
    "study_parts": "all", "only": "C0", "study_steps": "49", "product": "1",
    "run_study": "yes", "numbers": "1", "models": "all", "accuracies": "no", "report": "html",
    "edition": "third",
}  # fmt: skip


def check_link(parameters, controls):
    """What is shown instead, and the sentences as they are read."""
    instead, problems = links.check_link(parameters, controls)
    return instead, [as_read(problem) for problem in problems]


EVERY = [(page, name) for page, parameters in PAGES.items() for name in parameters]


def test_every_parameter_has_an_example():
    assert set(GOOD) == set(BAD), "each control has a text that can be, and one that cannot"
    assert set(GOOD) >= {name for _, name in EVERY}, "each control of each page is in both"
    controls = {(name, id(PAGES[page][name])) for page, name in EVERY}
    assert len({name for _, name in EVERY}) == len(controls)  # no name has two meanings


@each(EVERY)
def test_good_values_are_quiet_and_bad_ones_get_one_sentence(page, name):
    assert check_link({name: [GOOD[name]]}, PAGES[page]) == ({}, [])
    instead, (problem,) = check_link({name: [BAD[name]]}, PAGES[page])
    assert instead == {name: []}
    assert f"`{name}`" in problem
    assert BAD[name][:QUOTED_CHARACTERS] in problem
    assert "Shown instead" in problem


def test_of_several_values_each_bad_one_gets_its_sentence():
    instead, said = check_link({"also": ["silu", "relu", "tanh", "maybe"]}, DECISION_BOUNDARY)
    assert instead == {"also": ["silu", "tanh"]}
    assert [("relu" in text, "maybe" in text) for text in said] == [(True, False), (False, True)]
    assert all("Shown instead: silu, tanh." in text for text in said)
    assert check_link({"also": ["silu", "tanh", "silu"]}, DECISION_BOUNDARY) == ({}, [])
    assert check_link({"also": [""]}, DECISION_BOUNDARY) == ({}, [])


def test_more_values_than_fit_are_said():
    words = ["silu", "tanh", "headwise", "half", "additive"]
    instead, (problem,) = check_link({"also": words}, DECISION_BOUNDARY)
    assert instead == {"also": words[:4]}
    assert problem == (
        "The link says `also` 5 times; it may say that 4 times at most. Shown instead: silu, tanh,"
        " headwise, half."
    )


def test_what_markdown_would_read_is_escaped():
    text = "u*v*u" * 10_000
    instead, (problem,) = links.check_link({"data": [text]}, DECISION_BOUNDARY)
    assert instead == {"data": []}
    assert f"`{text[:QUOTED_CHARACTERS]}…`" in problem
    assert "**" not in problem


def test_a_parameter_that_stands_there_twice_is_no_value():
    instead, (problem,) = check_link({"steps": ["100", "200"]}, DECISION_BOUNDARY)
    assert instead == {"steps": []}
    assert problem.startswith("The link says `steps` 2 times; it may say that once. Shown instead:")


@pytest.mark.parametrize(
    ("page", "name", "text", "shown"),
    [
        ("decision_boundary", "steps", "80", "100"),
        ("decision_boundary", "points", "65", "64"),
    ],
)
def test_between_two_steps_of_a_slider_the_nearer_one_is_shown(page, name, text, shown):
    instead, (problem,) = check_link({name: [text]}, PAGES[page])
    assert instead == {name: [shown]}
    assert "in steps of" in problem
    assert problem.endswith(f"Shown instead: {shown}.")
    assert check_link(instead, PAGES[page]) == ({}, [])


def test_what_stands_at_a_step_but_for_rounding_stays():
    assert check_link({"noise": ["0.30000000000000004"]}, DECISION_BOUNDARY) == ({}, [])


@each(EVERY)
def test_defaults_can_be_shown(page, name):
    control = PAGES[page][name]
    if isinstance(control, Number) and control.default is not None:
        assert check_link({name: [f"{control.default:g}"]}, PAGES[page]) == ({}, [])


@pytest.mark.parametrize("text", ["1_0", "+3", " 3", "3 ", "٣", "²", "3.0", "--3"])
@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("decision_boundary", "seeds"),
        ("decision_boundary", "first"),
    ],
)
def test_a_whole_number_is_digits_alone(page, name, text):
    instead, (problem,) = check_link({name: [text]}, PAGES[page])
    assert instead == {name: []}
    assert "it must be a whole number" in problem


PYTHON_ONLY = ["1_0", "+1", "infinity", "nan", " 1", "1 ", "1\n", "１", "١", "0x1", "1e", "e1",
               ".", "-", "1.0.0", "--1"]  # fmt: skip


@pytest.mark.parametrize("text", PYTHON_ONLY)
@pytest.mark.parametrize(
    ("page", "name"),
    [("decision_boundary", "noise")],
)
def test_a_number_is_written_as_browsers_do(page, name, text):
    instead, (problem,) = check_link({name: [text]}, PAGES[page])
    assert instead == {name: []}
    assert "it must be a number from" in problem


TEXTS = st.one_of(
    st.text(),
    st.sampled_from([*GOOD.values(), *BAD.values()]),
    st.sampled_from(["inf", "-inf", "1e309", "-1e309", "nan", "9" * 400, "TRUE", "2.0", "1.5", ""]),
    st.sampled_from(["1_0", "+3", " 4"]),
    st.integers().map(str),
    st.floats().map(repr),
)


@given(
    st.sampled_from(sorted(PAGES)),
    st.dictionaries(st.sampled_from(sorted(GOOD)), st.lists(TEXTS, max_size=6)),
)
def test_no_link_is_too_strange(page, parameters):
    controls = PAGES[page]
    instead, problems = check_link(parameters, controls)
    assert {problem.split("`")[1] for problem in problems} == set(instead)
    assert all(len(problem) < 300 for problem in problems)
    for name in set(parameters) & set(controls) - set(instead):
        texts = set(parameters[name])
        assert all(controls[name].parse(text) is not None for text in texts)
    assert check_link(instead, controls) == ({}, [])


@pytest.mark.parametrize("text", ["", "1", "1.", ".1", "1.2.3", "-1.2", "a.b", "1e1.2", "²." "3",
                                  f"{GRID_SIZE}.0", "9" * 5000 + ".1"])  # fmt: skip
def test_points_that_are_none(text):
    assert parse_pick(text) is None


def test_points_of_the_grid():
    assert parse_pick("0.60") == (0, 60)
    assert parse_pick("0.60", 31) is None


@pytest.mark.parametrize(
    "text", ["", "a", "1,", "1;2", "nan", "1,inf", "1e999", "1_0", "1, +2", "１"]
)
def test_numbers_that_are_none(text):
    assert parse_numbers(text) is None


def test_numbers():
    assert parse_numbers(" 1, -2.5,3e-1") == (1.0, -2.5, 0.3)
