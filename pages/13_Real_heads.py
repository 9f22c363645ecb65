"""Real heads: how much the attention heads of a real model curve, and what they attend to."""

import streamlit as st

from ui.common.page import draw_open, page

TITLE = "Real heads"

with page(TITLE):
    from ui.common.links import LINK, checked_link
    from ui.real_heads import curvature, gates, own, records, wall

    TABS = {
        "Curvature": curvature.draw,
        "Heads": wall.draw,
        "Gate": gates.draw,
        "Norms": records.draw_norms,
        "Sinks and top-k": records.draw,
        "Your own model": own.draw,
    }
    with checked_link(TITLE):
        draw_open(st.tabs([*TABS], key="heads_tab", on_change="rerun", **LINK), TABS)
