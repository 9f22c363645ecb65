"""No impossible value reaches a control, and the sentence names what is shown instead."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from tests.ui.common.test_links import BAD, GOOD, PAGES, TEXTS
from tests.ui.opening import TIMEOUT_SECONDS, mistakes
from ui.common.control_table import Controls
from ui.common.link_check import LINE_BREAK
from ui.common.links import check_link

DRAWS = Path(__file__).with_name("link_page.py")


def drawn(table: str) -> Controls:
    """The controls of this page, as they can be drawn without it."""
    controls = PAGES[table]
    if "variances" in controls:  # their number is the page's
        numbers = replace(controls["variances"], label="Variances", default=(1.0, 1.0))
        controls = controls | {"variances": numbers}
    return controls


def opened(table: str, link: dict[str, list[str]]) -> AppTest:
    """Every control of this table, on a page that was opened with this link."""
    app = AppTest.from_file(str(DRAWS), default_timeout=TIMEOUT_SECONDS)
    app.session_state["drawn_table"] = table
    for name, texts in link.items():
        app.query_params[name] = texts
    return app.run()


def is_told(app: AppTest, table: str, link: dict[str, list[str]]) -> None:
    """The page shows what it says that it shows, and its link says the same."""
    assert not app.exception
    controls = drawn(table)
    instead, problems = check_link(link, controls)
    assert mistakes(app) == LINE_BREAK.join(problems).split(LINE_BREAK) * bool(problems)
    assert len(app.warning) <= 1
    for name in set(link) & set(controls):
        control, texts = controls[name], instead.get(name, link[name])
        if name in app.session_state:
            found = control.clean(app.session_state[name])
            if control.times > 1:
                words = tuple(dict.fromkeys(text for text in texts if text))
                assert found == (words or control.default)
            else:
                assert found == (control.parse(texts[0]) if texts else control.default)
        if name in app.query_params:
            assert app.query_params[name] in (texts, *texts)


@given(
    st.sampled_from(sorted(PAGES)).flatmap(
        lambda table: st.tuples(
            st.just(table),
            st.dictionaries(
                st.sampled_from(sorted(PAGES[table])), st.lists(TEXTS, min_size=1, max_size=2),
                min_size=1,
            ),
        )
    )
)  # fmt: skip
def test_whatever_a_link_says_is_shown_or_refused(case):
    table, link = case
    is_told(opened(table, link), table, link)


@pytest.mark.parametrize("text", ["inf", "1e309", "-1e309", "9" * 400, "2.0", "TRUE", "nan", ""])
@pytest.mark.parametrize("table", sorted(PAGES))
def test_no_control_fails_on_what_is_no_number(table, text):
    link = {name: [text] for name in PAGES[table]}
    is_told(opened(table, link), table, link)


@pytest.mark.parametrize("examples", [GOOD, BAD], ids=["good", "bad"])
@pytest.mark.parametrize("table", sorted(PAGES))
def test_all_at_once(table, examples):
    link = {name: [examples[name]] for name in PAGES[table]}
    app = opened(table, link)
    is_told(app, table, link)
    assert bool(app.query_params) == (examples is GOOD)


def test_what_is_wrong_is_said_until_a_control_moves_and_the_link_is_clean_at_once():
    app = opened("decision_boundary", {"first": ["inf"], "steps": ["80"], "utm": ["kept"]})
    assert app.query_params == {"steps": "100", "utm": "kept"}
    assert app.number_input(key="first").value == PAGES["decision_boundary"]["first"].default
    assert len(mistakes(app)) == 2
    app.run()
    assert len(mistakes(app)) == 2
    app.number_input(key="first").set_value(3).run()
    assert not app.warning


def test_back_to_a_bad_link_is_a_page_too():
    """The browser keeps the link that was refused in its history."""
    app = opened("decision_boundary", {"first": ["inf"]})
    app.number_input(key="first").set_value(5).run()
    assert not app.warning
    app.query_params["first"] = "inf"
    app.run()
    assert not app.exception
    assert len(app.warning) == 1
    assert "first" not in app.query_params
