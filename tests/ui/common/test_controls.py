"""A control that is declared once says the same to a link, a widget and a request."""

import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st

from tests.each import each
from tests.profiles import fuzz
from tests.ui.common.test_links import BAD, EVERY, GOOD, PAGES
from ui.common.control_table import put, read
from ui.common.controls import Choice, Choices, Flag
from ui.decision_boundary import controls as boundary
from ui.decision_boundary.request import BoundaryRequest, BoundaryView

DRAWN = [(page, name) for page, name in EVERY if PAGES[page][name].label]


@each(DRAWN)
def test_an_empty_value_is_the_default_and_others_are_themselves(page, name):
    control = PAGES[page][name]
    assert control.key == name
    assert control.clean(None) == control.default
    assert control.clean(control.raw(control.default)) == control.default
    value = control.parse(GOOD[name])
    assert control.clean(control.raw(value)) == value
    assert control.parse(BAD[name]) is None


def a_request(kind, table):
    """Any request of this kind that the controls of ``table`` can say."""

    def values(control):
        if isinstance(control, Choice):
            return st.sampled_from([control.parse(word) for word in control.words])
        if isinstance(control, Choices):
            return st.lists(st.sampled_from(control.words), max_size=control.most).map(tuple)
        if isinstance(control, Flag):
            return st.booleans()
        low, high = control.within
        return (st.integers if isinstance(low, int) else st.floats)(low, high)

    return st.builds(kind, **{control.feeds: values(control) for control in table.values()})


def session(monkeypatch, request, table):
    """The table read again after it was set to ``request``."""
    monkeypatch.setattr(streamlit, "session_state", {})
    monkeypatch.setattr(streamlit, "query_params", {})
    put(table, request)
    return read(table, type(request))


KINDS = pytest.mark.parametrize(
    ("kind", "table"),
    [
        (BoundaryRequest, boundary.RUN),
        (BoundaryView, boundary.VIEW),
    ],
    ids=["boundary", "view"],
)


@KINDS
@fuzz()
@given(data=st.data())
def test_the_link_of_a_request_says_what_it_is(kind, table, data):
    request = data.draw(a_request(kind, table))
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(streamlit, "session_state", {})
        monkeypatch.setattr(streamlit, "query_params", {})
        link = put(table, request)
    for name, texts in link.items():
        control, value = table[name], getattr(request, table[name].feeds)
        if isinstance(control, Choices):
            assert tuple(texts) == value
        elif texts:
            assert [control.parse(text) for text in texts] == [value]
        else:
            assert value == control.default


@KINDS
@fuzz()
@given(data=st.data())
def test_what_the_controls_are_set_to_is_what_they_say(kind, table, data):
    request = data.draw(a_request(kind, table))
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert session(monkeypatch, request, table) == request


@pytest.mark.parametrize("kind", [BoundaryRequest, BoundaryView])
def test_before_anything_is_said_a_request_is_the_first_example(kind, monkeypatch):
    table = {BoundaryRequest: boundary.RUN, BoundaryView: boundary.VIEW}[kind]
    monkeypatch.setattr(streamlit, "session_state", {})
    monkeypatch.setattr(streamlit, "query_params", {})
    assert read(table, kind) == kind()
