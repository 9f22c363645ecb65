"""The popover *Share*: the link of this state, its QR code, fewer controls, and how to cite it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import streamlit as st

from ui.common.links import CAMERA, current_link
from ui.common.simplified import HIDE, LOCK, VIEW, View
from ui.components.browser import camera_now

CHOOSE_HIDDEN, CHOOSE_LOCKED = "share_hide", "share_lock"


def draw_share(title: str) -> None:
    """Draw the popover of the page called ``title``, after all its controls.

    In no fragment: a click outside closes the popover, and Streamlit would run what is clicked as a
    part of that fragment.
    """
    with st.popover(
        "Share", icon=":material/share:", type="tertiary", key="share_view", on_change="rerun"
    ) as popover:
        if not popover.open:
            return
        view: View = st.session_state[VIEW]
        st.markdown(
            "The address holds the controls of this page, what you dragged and marked, and the"
            " camera."
        )
        link = st.container()
        names = [*view.labels]
        hidden = st.multiselect(
            "Hide controls",
            names,
            sorted(view.hidden & {*names}),
            format_func=_label,
            key=CHOOSE_HIDDEN,
        )
        lockable = [name for name in names if name not in view.foldable and name not in hidden]
        locked = st.multiselect(
            "Lock controls",
            lockable,
            sorted(view.locked & {*lockable}),
            format_func=_label,
            key=CHOOSE_LOCKED,
        )
        st.caption(
            "Whoever opens a link with hidden or locked controls can show all of them. Tabs, and"
            " what is dragged in a picture, can be neither hidden nor locked."
        )
        camera = camera_now()
        address = shared_link({HIDE: hidden, LOCK: locked, CAMERA: [camera] if camera else []})
        with link:
            st.code(address, language=None, wrap_lines=True)
            with st.expander("QR code", key="share_qr", on_change="rerun") as code:
                if code.open:
                    draw_qr(address)
        with st.expander("Cite this state", key="share_cite", on_change="rerun") as cite:
            if cite.open:
                st.code(bibtex(title, address), language=None, wrap_lines=True)


def shared_link(instead: Mapping[str, list[str]]) -> str:
    """Return the address of this page in its state, but for the parameters ``instead``."""
    link = {name: texts for name, texts in current_link().items() if name not in instead}
    link |= {name: [",".join(texts)] for name, texts in instead.items() if texts}
    query = urlencode(link, doseq=True, quote_via=quote, safe=",;.:|")
    place = (st.context.url or "").partition("?")[0]
    return f"{place}?{query}" if query else place


def _label(name: str) -> str:
    view: View = st.session_state[VIEW]
    label = view.labels.get(name) or name
    return label if [*view.labels.values()].count(label) < 2 else f"{label} ({name})"


# --- QR codes -------------------------------------------------------------------------------------

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
    import segno  # not above: every page draws this popover, closed

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


# --- Citing ---------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]


@cache
def citation() -> dict[str, Any]:
    """Return what CITATION.cff says."""
    import yaml

    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


@cache
def commit(root: Path = ROOT) -> str:
    """Return the commit that is checked out in ``root``; "" if it is no checkout."""
    git = root / ".git"
    try:
        if git.is_file():  # of a further worktree
            git = root / git.read_text().removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref:"):
            return head
        name = head.removeprefix("ref:").strip()
        common = git / "commondir"
        shared = git / common.read_text().strip() if common.exists() else git
        if (shared / name).exists():
            return (shared / name).read_text().strip()
        packed = (shared / "packed-refs").read_text()
        return next(line.split()[0] for line in packed.splitlines() if line.endswith(f" {name}"))
    except (OSError, StopIteration):
        return ""


def bibtex(page: str, link: str, at: datetime | None = None) -> str:
    """Return an entry that cites the ``page`` as ``link`` shows it, visited ``at`` (now)."""
    found = citation()
    at = at or datetime.now(UTC)
    parts = f"page {page}", (code := commit()) and f"commit {code[:12]}", f"visited {at:%Y-%m-%d}"
    note = ", ".join(filter(None, parts))
    fields = {
        "author": " and ".join(f"{{{author['name']}}}" for author in found["authors"]),
        "title": f"{{{found['title']}}}",
        "year": f"{at:%Y}",
        "version": found["version"],
        "note": re.sub(r"([#$%&_{}])", r"\\\1", note),
        "url": link.replace("{", "%7B").replace("}", "%7D"),  # else BibTeX counts them as braces
    }
    key = re.sub(r"\W+", "-", page.lower()).strip("-")
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@software{{gated-attention-{key},", *lines, "}"])
