"""Claims: does the paper hold here, and by which numbers?"""

import streamlit as st

from ui.common.page import page

TITLE = "Claims"

with page(
    TITLE,
    lead="Seven claims of Bathula & Joshi (arXiv 2604.14702), in our words, tested on small models"
    " that learn tasks in the plane. What was found stands beside each; click one to see how.",
):
    from ui.claims import findings, models, shared, study
    from ui.common.links import LINK, checked_link

    with checked_link(TITLE):
        tabs = st.tabs(
            ("Findings", "Trained models", "Run the study"), key="tab", on_change="rerun", **LINK
        )
        left, right = tabs[0].columns([6, 7])
        list_of_findings = left.container()
        with left:
            rows = findings.choose_rows()
        source, judged, note = shared.fetch(rows)
        with tabs[0]:
            findings.draw(list_of_findings, right, source, judged, note)
        if tabs[1].open:
            with tabs[1]:
                models.draw(source, judged)
        if tabs[2].open:
            with tabs[2]:
                study.draw()
        models.offer_files(source)
