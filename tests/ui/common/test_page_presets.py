"""Presets: rows of a file that open states of a page, to be stepped through in present mode."""

import pytest

from gating_core.experiments.comparison import load_preset, load_sweep
from gating_core.geometry import square_grid
from gating_core.theory import BENT, FLAT, NEGATIVE, POSITIVE, key_sign
from tests.each import each
from tests.profiles import SOAK
from tests.ui.opening import mistakes, open_page
from ui.claims.shared import Source, frozen, judged
from ui.common.bar import EXPLORE, PAGES
from ui.common.lessons import sections
from ui.common.present import _preset, presets
from ui.gates.frames import SETTLING, GateRequest
from ui.gates.gallery import at_strengths
from ui.keys.four_keys import model_of
from ui.landing.picture import measure_stage

TITLES = ["Flat or curved?", *(x for x, row in PAGES.items() if row.group == EXPLORE), "Claims"]


@each(TITLES)
def test_a_page_about_curvature_has_good_and_misleading_presets(title):
    rows = presets(title)
    assert 4 <= len(rows) <= 6
    assert {row.is_misleading for row in rows} == {False, True}
    assert len({row.name for row in rows}) == len({str(row.link) for row in rows}) == len(rows)


def test_every_preset_belongs_to_a_page():
    assert sum(len(presets(title)) for title in PAGES) == sum(
        len(table.splitlines()) - 2 for table in sections("presets").values()
    )
    assert not presets("Guide")


@pytest.mark.parametrize(
    "row",
    [
        "| name | a=1 | good | one line |",
        "| name | a=1 | nice | a line | and another |",
        "| name | a | good | a line | and another |",
        "| | a=1 | good | a line | and another |",
    ],
)
def test_a_row_with_something_else_is_refused(row):
    with pytest.raises(ValueError, match=r"has not name|bad query field"):
        _preset(row)


def test_a_cell_may_hold_a_bar():
    assert _preset(r"| a | b=%7CH%7C | good | It is \|H\|. | c |").why == (r"It is \|H\|.", "c")


@pytest.mark.parametrize("title", TITLES if SOAK else ["Which keys curve?", "Claims"])
def test_one_steps_through_presets_whose_links_are_used_and_on_to_the_next_page(title):
    app, rows = open_page(PAGES[title].path, present="1"), presets(title)
    for number, preset in enumerate(rows, 1):
        assert app.button("turn_next").label == f"Next: {number} of {len(rows)}"
        app.button("turn_next").click().run()
        assert not app.exception
        assert not app.error
        assert mistakes(app) == []
        link = {
            name: [texts] if isinstance(texts, str) else texts
            for name, texts in app.query_params.items()
        }
        assert link == preset.link | {"present": ["1"]}, preset.name
    assert all(button.disabled for button in app.button if button.key == "turn_next")
    app.button("turn_previous").click().run()
    assert mistakes(app) == []
    assert app.button("turn_next")


# --- What presets say, by the models ------------------------------------------------------------


def preset(title, name):
    (found,) = [row for row in presets(title) if row.name == name]
    return {name: texts[0] for name, texts in found.link.items()}


def test_after_back_the_next_preset_is_the_one_after_what_is_shown():
    app = open_page(present="1")
    for _ in range(3):
        app.button("turn_next").click().run()
    assert "task" in app.query_params
    for name in [*app.query_params]:
        del app.query_params[name]
    for name, value in {"present": "1", "strength": "0"}.items():  # the browser's Back, twice
        app.query_params[name] = value
    app.run()
    app.button("turn_next").click().run()
    assert app.query_params["strength"] in ("1", ["1"])
    assert "task" not in app.query_params


def test_the_ring_round_the_wrong_points_is_one_and_is_worse_than_the_fitted_plane():
    link = preset("Flat or curved?", "A ring round the wrong points")
    stage = measure_stage(load_preset("circle"), load_sweep("circle"), square_grid(41))
    plane = [float(number) for number in link["plane"].split(",")]
    cut = stage.cut(1.0, plane)
    assert cut.loops > 0
    assert not cut.lines
    assert stage.accuracy(1.0, plane) < stage.accuracy(1.0, stage.plane(1.0))


@pytest.mark.parametrize(("name", "sign"), [
    ("A dome without a gate", 1), ("A saddle", -1), ("Nearly flat, or flat?", 1),
])  # fmt: skip
def test_keys_of_presets_have_the_sign_that_they_say(name, sign):
    model = model_of(preset("Which keys curve?", name))
    assert key_sign(model.keys).sign == sign


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "word"), [
    ("A sphere by gating", POSITIVE), ("A saddle", NEGATIVE), ("Rolled paper", BENT),
    ("Two directions are not enough", BENT), ("A warped grid", FLAT),
    ("A sphere without a gate", POSITIVE),
])  # fmt: skip
def test_gates_of_presets_have_the_verdict_that_they_say(name, word):
    request = GateRequest(preset("Which gates curve?", name)["case"])
    assert at_strengths(request, SETTLING)[-1].whole.word == word


def test_verdicts_of_presets_are_those_of_the_study():
    claims = judged(Source()).claims
    assert claims["C4"].counts == {"tasks": 6, "significantly": 4, "by the mean": 5}
    assert "accuracy goes down with ∫|K| dA" in claims["C6"].sentences
    first = frozen()["claims"]["C3"]
    assert (first.word, "on 8 of 8 tasks" in first.sentences) == ("supported", True)
    assert claims["C3"].word == "partly"
