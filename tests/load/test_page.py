"""The page that a session holds, and its widgets, as in a browser."""

import pytest
from streamlit.proto.Delta_pb2 import Delta

from tests.load.page import Page, state_of, texts_of, value_of, was_set
from tests.load.requests import Total, agree


def text(body, fragment=""):
    delta = Delta(fragment_id=fragment)
    delta.new_element.markdown.body = body
    return delta


def block():
    delta = Delta()
    delta.add_block.vertical.SetInParent()
    return delta


def drawn(**kinds):
    delta = Delta()
    for kind, fields in kinds.items():
        message = getattr(delta.new_element, kind)
        for name, value in fields.items():
            if isinstance(value, list):
                getattr(message, name).extend(value)
            else:
                setattr(message, name, value)
    return Page().put(delta, (0, 0), "run")


def filled():
    page = Page()
    page.put(block(), (0, 0), "first")
    page.put(text("inside"), (0, 0, 0), "first")
    page.put(text("in a fragment", "f"), (0, 1), "first")
    page.put(text("last"), (0, 2), "first")
    return page


def test_elements_stand_in_their_order():
    assert filled().texts == ["inside", "in a fragment", "last"]


def test_an_element_replaces_a_block_and_its_content():
    page = filled()
    page.put(text("instead"), (0, 0), "first")
    assert page.texts == ["instead", "in a fragment", "last"]


def test_elements_that_a_run_did_not_draw_again_go():
    page = filled()
    page.put(text("anew"), (0, 2), "second")
    page.end_run("second", [])
    assert page.texts == ["anew"]


def test_a_run_of_a_fragment_removes_its_own_elements_alone():
    page = filled()
    page.end_run("second", ["f"])
    assert page.texts == ["inside", "last"]


def test_a_spinner_replaces_nothing():
    page, spinner = filled(), Delta()
    spinner.new_transient.SetInParent()
    assert page.put(spinner, (0, 0), "second") is None
    assert page.texts[0] == "inside"


def test_troubles_are_exceptions_errors_and_warnings():
    page = Page()
    for n, (body, kind) in enumerate((("so", "INFO"), ("no", "ERROR"), ("mind", "WARNING"))):
        delta = Delta()
        alert = delta.new_element.alert
        alert.body, alert.format = body, getattr(alert, kind)
        page.put(delta, (0, n), "run")
    raised = Delta()
    raised.new_element.exception.type, raised.new_element.exception.message = "KeyError", "x"
    page.put(raised, (0, 3), "run")
    assert page.troubles == ["KeyError: x", "no", "mind"]


WIDGETS = [  # as drawn, its value, another value, that one's field and texts in the link
    (dict(slider=dict(default=[3.0])), 3.0, 4.0, "double_array_value", ["4"]),
    (dict(slider=dict(default=[1.0], options=["a", "b"])), ["b"], ["a"], "string_array_value",
     ["a"]),
    (dict(number_input=dict(default=7.0)), 7.0, 8.0, "double_value", ["8"]),
    (dict(number_input=dict(default=7.0, value=9.0, set_value=True)), 9.0, 7.0, "double_value",
     []),
    (dict(selectbox=dict(options=["a", "b"], default=0)), "a", "b", "string_value", ["b"]),
    (dict(checkbox=dict(default=False)), False, True, "bool_value", ["true"]),
    (dict(multiselect=dict(options=["a", "b"])), [], ["b"], "string_array_value", ["b"]),
    (dict(text_area=dict(default="")), "", "x,y", "string_value", ["x,y"]),
]  # fmt: skip


@pytest.mark.parametrize(("drawing", "value", "other", "field", "texts"), WIDGETS)
def test_a_widget_has_its_value_its_state_and_its_texts(drawing, value, other, field, texts):
    node = drawn(**drawing)
    assert value_of(node) == value
    assert was_set(node) == ("set_value" in next(iter(drawing.values())))
    assert state_of(node, other).WhichOneof("value") == field
    assert texts_of(node, other) == texts


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (["a", ("b", "1.5")], ["a", ("b", "1.5")], True),
        (["a", ("b", "…")], ["a", ("b", "1.5")], True),
        (["a", ("b", "…")], ["c", ("b", "1.5")], False),
        (["a", ("b", "1.4")], ["a", ("b", "1.5")], False),
        ([b"xyz", "…".encode() + b"x"], [b"xyz", b"abc"], True),
        ([b"xyz"], [b"abc"], False),
        (["a"], ["a", "b"], False),
        (Total(4.4, 1.2), Total(3.93, 0.03), True),
        (Total(4.4, 0.2), Total(3.93, 0.03), False),
    ],
)
def test_answers_agree_where_one_is_still_computed(one, other, same):
    assert agree(one, other) == agree(other, one) == same
