"""The page Which gates curve: gates on a flat surface, each with its curvature."""

import streamlit as st

from ui.common.page import page

TITLE = "Which gates curve?"
TABS = ("Gallery", "Gated layer", "Theorem", "Gate design")

with page(
    TITLE,
    lead="A gate multiplies every point of the plane (u, v, 1). Some gates curve it. Some only"
    " bend it. Some do neither. The curvature formula for scalar gates says which.",
):
    from ui.common.links import checked_link
    from ui.gates import gallery

    with checked_link(TITLE):
        tabs = st.tabs(TABS, key="tab_gates", on_change="rerun", bind="query-params")
        with tabs[0]:
            if tabs[0].open:
                gallery.draw()
        if any(tab.open for tab in tabs[1:]):  # Plotly takes a second, and the gallery needs none
            from ui.gates import design, layer, theorem

            for tab, shown in zip(tabs[1:], (layer, theorem, design), strict=True):
                with tab:
                    if tab.open:
                        shown.draw()
