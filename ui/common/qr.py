"""A link as a QR code, with a warning where no phone could follow it."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

import segno
import streamlit as st

LOOPBACK = (
    "This address leads every device to itself: phones cannot follow it. Serve a classroom with"
    " `streamlit run app.py --server.address 0.0.0.0`, and open the page by the name or address of"
    " this machine (docs/serving.md)."
)


def draw_qr(link: str, width: int = 220) -> None:
    """Draw ``link`` as a QR code ``width`` pixels wide."""
    if is_loopback(link):
        st.warning(LOOPBACK, icon=":material/wifi_off:")
    svg = qr_svg(link)
    if svg is None:
        st.caption(f"With {len(link):,} characters this link is too long for a QR code.")
    else:
        st.image(svg, width=width)


def qr_svg(link: str) -> str | None:
    """Return ``link`` as a QR code in SVG, dark on white in both themes; ``None`` if too long."""
    try:
        code = segno.make_qr(link, error="l", boost_error=True)
    except segno.DataOverflowError:
        return None
    return str(code.svg_inline(scale=4, border=4, light="#fff", title=link))


def is_loopback(link: str) -> bool:
    """Return whether ``link`` leads every device to itself."""
    host = urlsplit(link).hostname or ""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified
