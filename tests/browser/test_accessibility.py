"""Axe finds nothing serious on any page, and words are of five sizes."""

import pytest

from .accessibility import assert_accessible
from .addresses import ADDRESSES
from .visiting import settle, visit

pytestmark = [pytest.mark.usefixtures("nothing_goes_wrong"), pytest.mark.soak]
STYLE = "style => document.querySelectorAll('h1, h1 *').forEach(part => { part.style = style; })"


@pytest.mark.parametrize("path", ADDRESSES)
def test_nothing_serious_is_found(visitor, served, watch, path):
    visit(visitor, watch, f"{served.url}/{path}", settle)
    for scheme in ("light", "dark"):
        visitor.emulate_media(color_scheme=scheme)
        settle(visitor)
        assert_accessible(visitor)


def test_what_is_serious_would_be_found(visitor, served, watch):
    visit(visitor, watch, f"{served.url}/Guide", settle)
    visitor.emulate_media(color_scheme="dark")
    settle(visitor)
    for style, word in (("color: #333", "color-contrast"), ("font-size: 11px", "11.0 px: ")):
        visitor.evaluate(STYLE, style)
        with pytest.raises(AssertionError, match=word):
            assert_accessible(visitor, "h1")
    visitor.evaluate(STYLE, "")  # other pages reuse it
