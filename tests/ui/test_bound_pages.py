"""Pages whose widgets are bound to the link in place open in every state, whatever a link says."""

from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.browser.addresses import ADDRESSES, states
from tests.profiles import fuzz
from tests.ui.common.test_link_fuzz import TEXTS
from tests.ui.opening import bound_names, mistakes, open_page, open_settled
from ui.common.page import PAGES

# Guide has no widgets. A page's address is the name of its file without the number.
BOUND = {
    address: page.path
    for page in PAGES.values()
    if (row := ADDRESSES.get(address := page.path.partition("_")[2].removesuffix(".py")))
    and not row.controls
    and len(states(address)) > 1
}


STATES = [(address, query) for address in BOUND for query in states(address)]


@pytest.mark.parametrize(("address", "query"), STATES)
def test_a_page_opens_in_every_state_and_uses_its_whole_link(address, query):
    app = open_settled(BOUND[address], **parse_qs(query))
    assert not app.exception
    assert mistakes(app) == []


@fuzz(3 * max(len(BOUND), 1), soak=50)  # seconds each
@given(st.data())
def test_a_page_opens_whatever_its_widgets_are_sent(data):
    if not BOUND:
        return
    address = data.draw(st.sampled_from(sorted(BOUND)))
    query = data.draw(st.sampled_from(states(address)))
    names = sorted(bound_names(open_page(BOUND[address], **parse_qs(query)).main))
    sent = st.dictionaries(
        st.sampled_from(names), st.lists(TEXTS, min_size=1, max_size=3), max_size=4
    )
    link = parse_qs(query) | data.draw(sent) | parse_qs(ADDRESSES[address].small)
    app = open_page(BOUND[address], **link)
    assert not app.exception
    assert all(text.isprintable() for text in mistakes(app))
