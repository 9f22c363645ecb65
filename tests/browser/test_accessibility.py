"""Axe finds nothing serious on *How to read it*; other pages are looked at in their own tests."""

import pytest

from .accessibility import assert_accessible
from .visiting import DESK, open_page, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")


def test_nothing_serious_is_found_and_what_is_serious_would_be(browser, served, watch):
    with open_page(browser, watch, **DESK) as page:
        visit(page, watch, f"{served.url}/How_to_read", settle)
        assert_accessible(page)
        page.emulate_media(color_scheme="dark")
        settle(page)
        assert_accessible(page)
        page.evaluate("document.querySelector('h1').style.color = '#333'")  # on nearly black
        with pytest.raises(AssertionError, match="color-contrast"):
            assert_accessible(page)
