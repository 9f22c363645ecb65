"""The page Which gates curve: gates on a flat surface, each with its curvature."""

import streamlit as st

from ui.common.page import page

TITLE = "Which gates curve?"
TABS = ("Gallery", "Gated layer", "Theorem", "Gate design")

with page(
    TITLE,
    lead="A gate pulls each point of a flat surface towards 0 by its own factor. **Equal factors**"
    " keep it flat, one that changes **along one line** rolls it, **most others** must stretch it.",
):
    from ui.common.links import checked_link
    from ui.gates import gallery

    with checked_link(TITLE):
        tabs = st.tabs(TABS, key="tab_gates", on_change="rerun", bind="query-params")
        with tabs[0]:
            if tabs[0].open:
                gallery.draw()
        if any(tab.open for tab in tabs[1:]):  # Plotly takes a second, and the gallery needs none
            from ui.gates import layer, theorem

            draws = (layer.draw, theorem.draw, theorem.draw_design)
            for tab, draw in zip(tabs[1:], draws, strict=True):
                with tab:
                    if tab.open:
                        draw()
