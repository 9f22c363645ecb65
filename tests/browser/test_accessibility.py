"""Axe finds nothing serious on *Guide*; other pages are looked at in their own tests."""

import pytest

from .accessibility import assert_accessible
from .visiting import settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")


@pytest.mark.soak
def test_nothing_serious_is_found_and_what_is_serious_would_be(visitor, served, watch):
    visit(visitor, watch, f"{served.url}/Guide", settle)
    assert_accessible(visitor)
    visitor.emulate_media(color_scheme="dark")
    settle(visitor)
    assert_accessible(visitor)
    visitor.evaluate("document.querySelector('h1').style.color = '#333'")  # on nearly black
    with pytest.raises(AssertionError, match="color-contrast"):
        assert_accessible(visitor, "h1")
    visitor.evaluate("document.querySelector('h1').style.color = ''")  # other pages reuse it
