"""Pictures and texts of all pages cover every page, in states that the pages understand."""

from urllib.parse import parse_qs, urlsplit

import pytest

from ui.common.links import check_link

from .addresses import ADDRESSES, addresses, states
from .serving import REPOSITORY


def test_every_page_is_covered():
    files = (path.stem.split("_", 1)[1] for path in (REPOSITORY / "pages").glob("*.py"))
    assert set(ADDRESSES) == {"", *files}, "rows of ADDRESSES in tests/browser/addresses.py"
    assert len(addresses()) == sum(len(states(page)) for page in ADDRESSES)
    assert addresses()["landing"] == "/"


@pytest.mark.parametrize("page", [page for page, row in ADDRESSES.items() if row.controls])
def test_every_state_is_one_that_the_page_understands(page):
    for address in addresses(page).values():
        link = parse_qs(urlsplit(address).query)
        assert check_link(link, ADDRESSES[page].controls) == ({}, []), address
