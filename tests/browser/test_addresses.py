"""Pictures and texts of all pages cover every page."""

from .addresses import ADDRESSES, addresses, states
from .serving import REPOSITORY


def test_every_page_is_covered():
    files = (path.stem.split("_", 1)[1] for path in (REPOSITORY / "pages").glob("*.py"))
    assert set(ADDRESSES) == {"", *files}, "rows of ADDRESSES in tests/browser/addresses.py"
    assert len(addresses()) == sum(len(states(page)) for page in ADDRESSES)
    assert addresses()["landing"] == "/"
