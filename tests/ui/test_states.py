"""Every page opens in each state, whatever its link says, and connects to nobody outside."""

import ast
import json
import re
import socket
import string
from urllib.parse import parse_qs

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.browser.addresses import ADDRESSES, states
from tests.each import each
from tests.profiles import SOAK, fuzz
from tests.ui.foreign_words import HOSTILE
from tests.ui.opening import (
    ROOT,
    bound_names,
    missing_from_data,
    mistakes,
    offered,
    open_page,
    open_settled,
)
from ui.common.bar import PAGES, address

# A page's address is the name of its file without the number. Guide has no widgets.
OPENED = {
    address(title): page.path for title, page in PAGES.items() if len(states(address(title))) > 1
}
STATES = [(address, query) for address in OPENED for query in states(address)]
NUMBERS = st.one_of(
    st.floats().map(repr), st.integers().map(str), st.integers(-(10**30), 10**30).map(str),
    st.sampled_from(["1e999", "-1e999", "nan", "-nan", "Infinity", "0x10", "1_000", "١٢", "½", "²",
                     "1e-999", "-0", "00", "1" * 5000, "0." + "0" * 5000 + "1", "1e", "1,5", "+1",
                     "１", "𝟏", "⑴", "1\0", "1\n", "\u22121"]),
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
).map(json.dumps)
HUGE = st.tuples(
    st.sampled_from(["A", "9", ",", "é", "<", "`", "\n", "1,", "0.", "%"]),
    st.sampled_from([1_000, 50_000]),
).map(lambda x: x[0] * x[1])
LOOK_ALIKE = str.maketrans("aeiocp", "аеіоср")  # Cyrillic
WORDS = st.sampled_from(
    sorted(
        {
            value
            for address, query in STATES
            for values in parse_qs(query).values()
            for value in values
        }
    )
)
TEXTS = st.one_of(
    WORDS,
    NUMBERS,
    JSON,
    HUGE,
    st.text(),
    st.sampled_from(HOSTILE),
    WORDS.map(str.upper),
    WORDS.map(lambda text: text.translate(LOOK_ALIKE)),
    WORDS.map(lambda text: f" {text}\u200b"),
    st.text(string.digits + ".,-eE", max_size=40),
)


DRAWN: dict[tuple[str, str], set[str]] = {}  # parameters of the widgets in a state
VALUES = {  # of parameters in any state of a page
    address: {x for query in states(address) for xs in parse_qs(query).values() for x in xs}
    for address in OPENED
}
SOURCES = [
    path.relative_to(ROOT) for part in ("pages", "ui") for path in (ROOT / part).rglob("*.py")
]
CONTROLS = {"selectbox", "radio", "slider", "select_slider", "toggle", "checkbox", "number_input",
            "text_input", "text_area", "segmented_control", "pills", "multiselect", "expander",
            "tabs"}  # fmt: skip
UNBOUND = {  # what a link should not hold: popovers of every page, texts and files, passing views
    "None", "CHOOSE_HIDDEN", "CHOOSE_LOCKED", "'share_cite'", "'share_qr'", "'take_surface'",
    "'own_text'", "key", "'heads_tokens'",
    "'class_question'",
    "f'{key}_menu'",  # writes data, left or right, whose words are shorter than what is shown
    "f'claim_{name}'",  # writes claim, which opens one row alone
    "f'{prefix}_{name}'",  # writes heads_head, which the wall of Real heads writes, too
}  # fmt: skip
DOCUMENT = (ROOT / "docs" / "extending.md").read_text("utf-8")
STABLE = {  # parameters by address
    address: {*re.findall("`(.*?)`", names)}
    for address, names in re.findall(r"^\| `/(\w*)` \|(.*)\|$", DOCUMENT, re.M)
}


@pytest.fixture
def connections(monkeypatch):
    """Addresses that this process asks for, this machine's apart."""
    addresses = []

    def connect(_, address):
        if address[0] != "127.0.0.1":
            addresses.append(address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *names, **_: addresses.append(names))
    return addresses


@pytest.mark.parametrize(
    ("address", "query"),
    [  # those in `make test` draw all controls between them
        pytest.param(
            *state, marks=[pytest.mark.soak] if state[1] in ADDRESSES[state[0]].looking else []
        )
        for state in STATES
    ],
)
def test_a_page_opens_in_every_state_and_uses_its_whole_link(address, query, connections):
    app = open_settled(OPENED[address], **parse_qs(query))
    assert not app.exception
    assert not app.error
    assert mistakes(app) == []
    assert connections == []
    DRAWN[address, query] = bound_names(app.main)
    drawn = DRAWN[address, query] | {*parse_qs(query)}
    stable = STABLE.get(address, set())
    assert drawn <= stable, f"docs/extending.md, *Addresses that stay*: {drawn - stable}"
    if not query:
        tabs = {tab.label for tab in app.tabs[1:]} - VALUES[address]
        assert not tabs, f"tests/browser/addresses.py: no state of /{address} opens {tabs}"
    charts = [chart.proto for chart in app.get("plotly_chart")]
    assert [chart.id for chart in charts if len(chart.alt) < 20] == []
    for chart in charts:
        go.Figure(json.loads(chart.spec))  # a property that Plotly does not know raises here
    # A lesson's chart is that of the page it comes from, with its data.
    assert bool(offered(app).charts) >= bool(charts) or address in ("Manifold", "Learn")
    if address != "Learn" and (SOAK or query in ("", ADDRESSES[address].unfolded)):
        assert missing_from_data(app) == []


def test_every_address_is_said_to_stay():
    assert set(STABLE) == set(ADDRESSES)


@each(SOURCES)
def test_a_control_is_bound_to_the_link_or_listed(path):
    for call in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") in CONTROLS:
            given = {argument.arg: ast.unparse(argument.value) for argument in call.keywords}
            if given.get("key", "None") not in UNBOUND:
                bound = "bind" in given or None in given  # None: **LINK
                assert bound, f"{path}:{call.lineno}: **LINK binds a control to the link"


@fuzz(2 * len(OPENED), soak=100)  # seconds each
@given(st.data())
def test_a_page_opens_whatever_its_widgets_are_sent(data):
    address = data.draw(st.sampled_from(sorted(OPENED)))
    query = data.draw(st.sampled_from(states(address)))
    if (address, query) not in DRAWN:
        DRAWN[address, query] = bound_names(open_page(OPENED[address], **parse_qs(query)).main)
    names = sorted(DRAWN[address, query] or STABLE[address])  # Learn's come one by one
    sent = st.dictionaries(
        st.sampled_from(names), st.lists(TEXTS, min_size=1, max_size=3), max_size=4
    )
    link = parse_qs(query) | data.draw(sent) | parse_qs(ADDRESSES[address].small)
    app = open_page(OPENED[address], **link)
    assert not app.exception
    assert all(text.isprintable() for text in mistakes(app))
