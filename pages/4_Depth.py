"""Depth: does curvature add up from layer to layer, and when not?"""

import streamlit as st

from ui.common.page import draw_open, page

TITLE = "Depth"

with page(TITLE):
    from ui.common.links import checked_link
    from ui.depth import comparison, layers

    TABS = {
        "Layer by layer": layers.draw,
        "Comparison": comparison.draw,
        "Theory": comparison.draw_theory,
    }
    with checked_link(TITLE):
        tabs = st.tabs([*TABS], key="tab_depth", bind="query-params", on_change="rerun")
        draw_open(tabs, TABS)
