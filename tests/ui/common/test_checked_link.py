"""Streamlit's controls take what they can from a link; the page says which values they did not."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.opening import TIMEOUT_SECONDS, mistakes
from ui.common import links

PAGE = Path(__file__).with_name("controls_page.py")
DEFAULTS = {"whole": 5, "decimal": 0.5, "stepped": 0.5, "named": 10, "several": ["a"],
            "formatted": 1, "switch": False, "text": ""}  # fmt: skip


def opened(**link):
    app = AppTest.from_file(str(PAGE), default_timeout=TIMEOUT_SECONDS)
    for name, value in link.items():
        app.query_params[name] = value
    return app.run()


@pytest.mark.parametrize(("name", "text", "value"), [
    ("whole", "7", 7), ("whole", "5", 5), ("decimal", "0.25", 0.25), ("decimal", "5e-1", 0.5),
    ("stepped", "0.55", 0.55), ("named", "0.01", 0.01), ("named", "10", 10),
    ("several", ["b", "c"], ["b", "c"]), ("several", "a", ["a"]), ("several", "", []),
    ("formatted", "seed 2", 2), ("switch", "TRUE", True), ("switch", "false", False),
    ("text", "nan", "nan"), ("tab", "First", "First"), ("utm_source", "elsewhere", None),
])  # fmt: skip
def test_a_value_that_can_be_used_is_used_without_a_word(name, text, value):
    app = opened(**{name: text})
    assert not app.exception
    assert not app.warning
    if value is not None:
        assert app.session_state[name] == value
    else:
        assert app.query_params[name] in (text, [text])


@pytest.mark.parametrize(("name", "text", "value"), [
    *((name, text, DEFAULTS[name]) for name in ("whole", "decimal", "stepped", "named", "switch")
      for text in ("inf", "1e999", "-inf", "nan", "", "9" * 400, "two")),
    ("whole", "3.7", 3), ("whole", "101", 5), ("decimal", "-0.1", 0.5), ("named", "0.5", 10),
    ("whole", ["3", "4"], 4), ("several", "z", ["a"]), ("formatted", "seed 9", 1),
    ("tab", "Third", "First"), ("tab", "", "First"),
])  # fmt: skip
def test_a_value_that_cannot_be_used_is_named_with_what_is_shown_instead(name, text, value):
    app = opened(**{name: text})
    assert not app.exception
    (note,) = mistakes(app)
    assert app.session_state[name] == value
    assert f"`{name}` = `{', '.join([text] if isinstance(text, str) else text)[:40]}" in note
    shown = value[0] if isinstance(value, list) else value
    assert note.endswith(f"Shown instead: {shown}.".replace("0.5", "0\\.5"))


def test_all_bad_values_are_said_until_the_link_changes():
    app = opened(whole="inf", decimal="2", point="1.x")
    assert len(mistakes(app)) == 3
    assert "whole" not in app.query_params
    assert "point" not in app.query_params
    app.run()  # a timer, or a control that is not in the link
    assert len(mistakes(app)) == 3
    app.query_params["whole"] = "8"  # as the browser does when the visitor moves the control
    app.number_input(key="whole").set_value(8).run()
    assert not app.warning


def test_a_control_of_another_tab_is_checked_when_that_is_opened():
    app = opened(later="z")
    assert not app.warning
    assert app.query_params["later"] in ("z", ["z"])
    app.session_state["tab"] = "Second"
    app.run()
    (note,) = mistakes(app)
    assert "`later` = `z`" in note
    app = opened(tab="Second", later="y", whole="inf")
    assert app.session_state["later"] == "y"
    assert not app.warning


@pytest.mark.parametrize(("text", "shown", "notes"), [
    ("3.4", "(3, 4)", 0), (["3.4", "5.6"], "(5, 6)", 1), ("99.99", "(0, 0)", 1),
    ("", "(0, 0)", 1), ("`[x](https://example.org)", "(0, 0)", 1),
])  # fmt: skip
def test_a_value_that_no_control_holds_is_read_from_the_link(text, shown, notes):
    app = opened(point=text)
    assert not app.exception
    assert app.code[0].value == shown
    assert len(mistakes(app)) == notes
    if notes and shown == "(0, 0)":
        assert app.warning[0].value.endswith("Shown instead: no point.")
        assert "point" not in app.query_params


def test_text_of_a_link_is_quoted_as_text():
    (note,) = mistakes(opened(whole="`[x](https://example.org)" + "y" * 100))
    assert note.count("`") == 4
    assert len(note) < 200


def test_what_a_link_asks_for_and_what_is_shown_are_cut():
    note = links._note("formula", ["u" * 10_001], ["v" * 10_000])
    assert len(note) < 300
    assert note.count("…") == 2
