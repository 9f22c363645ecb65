"""Claims: what holds, of the paper's claims and of ours, and by which numbers?"""

import streamlit as st

from ui.common.page import page

TITLE = "Claims"

with page(
    TITLE,
    lead="C1 to C7 are of Bathula & Joshi (arXiv 2604.14702), in our words; C8 and C9 are ours."
    " A preregistered rule decided each. Open a claim to see how.",
):
    from ui.claims import findings, models, study
    from ui.common.links import LINK, checked_link

    with checked_link(TITLE):
        tabs = st.tabs(
            ("Findings", "Trained models", "Run the study"), key="tab", on_change="rerun", **LINK
        )
        with tabs[0]:
            source, judged = findings.draw()
        if tabs[1].open:
            with tabs[1]:
                models.draw(source, judged)
        if tabs[2].open:
            with tabs[2]:
                study.draw()
