"""Does a tab keep of a page what a browser keeps, and say of widgets what a browser says?"""

import pytest
from streamlit.proto.Delta_pb2 import Delta

from tests.load.asking import Total, agree
from tests.load.shown import Page
from tests.load.widgets import state_of, texts_of, value_of, was_set


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


def test_an_element_takes_the_place_of_all_that_lay_in_a_block():
    page = filled()
    page.put(text("instead"), (0, 0), "first")
    assert page.texts == ["instead", "in a fragment", "last"]


def test_what_a_run_did_not_draw_again_goes():
    page = filled()
    page.put(text("anew"), (0, 2), "second")
    page.end_run("second", [])
    assert page.texts == ["anew"]


def test_a_run_of_a_fragment_takes_away_its_own_alone():
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


WIDGETS = [  # as drawn, what the browser holds, another value, its field, what the link says
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


@pytest.mark.parametrize(("drawing", "held", "other", "field", "said"), WIDGETS)
def test_a_widget_is_read_and_spoken_for(drawing, held, other, field, said):
    node = drawn(**drawing)
    assert value_of(node) == held
    assert was_set(node) == ("set_value" in next(iter(drawing.values())))
    assert state_of(node, other).WhichOneof("value") == field
    assert texts_of(node, other) == said


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
def test_what_is_still_worked_out_contradicts_nobody(one, other, same):
    assert agree(one, other) == agree(other, one) == same
