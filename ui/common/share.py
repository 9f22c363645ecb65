"""The popover *Share*: the link of this state, its QR code, fewer controls, and how to cite it.

What its two folds need is imported where they are opened: every page draws this.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

import streamlit as st

from ui.common.links import CAMERA, current_link
from ui.common.simplified import HIDE, LOCK, VIEW, View
from ui.components.camera import camera_now

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
                    from ui.common.qr import draw_qr

                    draw_qr(address)
        with st.expander("Cite this state", key="share_cite", on_change="rerun") as cite:
            if cite.open:
                from ui.common.citing import bibtex

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
