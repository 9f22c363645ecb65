"""The page Which gates curve: gates on a flat surface, each with its curvature."""

import streamlit as st

from ui.common.page import page

TITLE = "Which gates curve?"
TABS = ("Gallery", "Gated layer", "Theorem", "Gate design")

with page(
    TITLE,
    question="Which gates curve?",
    lead="A gate multiplies every point of the plane (u, v, 1). Some gates curve it. Some only"
    " bend it. Some do neither. The curvature formula for scalar gates says which.",
):
    from ui.common.links import checked_link
    from ui.gates import design, gallery, layer, theorem

    with checked_link(TITLE):
        tabs = st.tabs(TABS, key="tab_gates", on_change="rerun", bind="query-params")
        for tab, shown in zip(tabs, (gallery, layer, theorem, design), strict=True):
            if tab.open:
                with tab:
                    shown.draw()
