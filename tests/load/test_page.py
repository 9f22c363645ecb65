"""What lets a load test fail: troubles on a page, and answers that differ."""

import pytest
from streamlit.proto.Delta_pb2 import Delta

from tests.load.page import Page
from tests.load.requests import Total, agree


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
