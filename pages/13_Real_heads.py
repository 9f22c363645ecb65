"""Real heads: the attention heads of a real model, each a window of stained glass."""

import streamlit as st

from ui.common.page import draw_open, page

TITLE = "Real heads"

with page(TITLE):
    from ui.common.links import LINK, checked_link
    from ui.real_heads import gates, keys, norms, own, wall

    TABS = {
        "Heads": wall.draw,
        "Gate": gates.draw,
        "Norms": norms.draw,
        "Sinks and top-k": keys.draw,
        "Your own model": own.draw,
    }
    with checked_link(TITLE):
        draw_open(st.tabs([*TABS], key="heads_tab", on_change="rerun", **LINK), TABS)
