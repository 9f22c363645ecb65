"""A link may hide or lock controls: they keep value and link, and anybody can show all of them."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.opening import TIMEOUT_SECONDS, bound_names, containers
from ui.common import page as frame
from ui.common.simplified import HIDDEN, VIEW

PAGE = Path(__file__).with_name("framed_page.py")
VALUES = {
    "whole": ("7", 7), "stepped": ("0.2", 0.2), "selected": ("b", "b"), "choice": ("y", "y"),
    "several": (["b", "c"], ["b", "c"]), "switch": ("true", True), "segment": ("n", "n"),
    "named": ("100", 100), "text": ("words", "words"), "area": ("lines", "lines"),
}  # fmt: skip
LINK = {name: text for name, (text, _) in VALUES.items()}
HOSTILE = "[x](https://example.org)`<b>"


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """A page without links to others, which Streamlit wants beside the script that is run."""
    monkeypatch.setattr(frame, "draw_guide", lambda _: None)
    monkeypatch.setattr(frame, "beside", lambda _: [None, None])


def opened(**link):
    app = AppTest.from_file(str(PAGE), default_timeout=TIMEOUT_SECONDS)
    for name, value in link.items():
        app.query_params[name] = value
    return app.run()


def hidden(app):
    """Names of the bound controls that stand in a container that is not displayed."""
    return {
        name
        for node, within in containers(app.main)
        for name in bound_names(node)
        if any(key.endswith(f"{HIDDEN}{name}") for key in within)
    }


def disabled(app):
    return {
        name
        for node, _ in containers(app.main)
        for name in bound_names(node)
        if node.proto.disabled
    }


def kept(app):
    return {name: app.session_state[name] for name in VALUES} == {
        name: value for name, (_, value) in VALUES.items()
    } and all(app.query_params[name] in (text, [text]) for name, text in LINK.items())


def test_without_such_a_link_all_controls_are_shown():
    app = opened(**LINK)
    assert not hidden(app)
    assert not disabled(app)
    assert kept(app)
    assert not [button for button in app.button if button.key == "show_all_controls"]
    view = app.session_state[VIEW]
    assert {*view.labels} == {*VALUES, "more"}
    assert view.foldable == {"more"}


@pytest.mark.parametrize(("parameter", "found"), [("lock", disabled), ("hide", hidden)])
def test_all_controls_can_be_locked_or_hidden_and_keep_value_and_link(parameter, found):
    app = opened(**LINK, **{parameter: ",".join(VALUES)})
    assert not app.exception
    for _ in range(2):
        assert found(app) == {*VALUES}
        assert kept(app)
        app.button(key="again").click().run()


def test_whoever_opens_it_can_show_all_controls():
    app = opened(**LINK, hide="whole, stepped", lock="choice")
    assert hidden(app) == {"whole", "stepped"}
    assert disabled(app) == {"choice"}
    button = app.button(key="show_all_controls")
    assert button.label == "Simplified view · show all controls"
    button.click().run()
    assert not hidden(app)
    assert not disabled(app)
    assert kept(app)
    assert not {"hide", "lock"} & {*app.query_params}


@pytest.mark.parametrize("names", ["speed", f"speed,{HOSTILE}", "whole,speed", "x" * 10_000])
def test_names_that_no_control_has_get_one_sentence(names):
    app = opened(hide=names, lock=names)
    assert not app.exception
    (warning,) = app.warning
    assert "no control on this page is called" in warning.value
    assert len(warning.value) < 300
    assert "https://example.org" not in warning.value.replace("`[x](https://example.org) <b>`", "")
    assert "`whole`" not in warning.value
    app.slider(key="stepped").set_value(0.8).run()
    assert app.session_state["stepped"] == 0.8


def test_a_link_with_nothing_between_commas_hides_nothing():
    app = opened(hide=",,", lock="")
    assert not app.warning
    assert not hidden(app)


def test_present_mode_shows_the_controls_that_play_alone():
    app = opened(**LINK, present="1")
    assert hidden(app) == {*VALUES} - {"whole"}
    assert kept(app)
    app.button(key="present").click().run()
    assert not hidden(app)
    assert "present" not in app.query_params
