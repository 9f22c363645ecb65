"""Mixture of experts: what an attention layer is made of, and what of it data can determine."""

import streamlit as st

from ui.common.page import draw_open, page

TITLE = "Mixture of experts"

with page(
    TITLE,
    lead="Each expert, a linear map, gives every token its own value; attention weighs the tokens."
    " Only with a gate per channel at G1 or G2 can data tell the experts of a head apart.",
):
    from ui.common.links import checked_link
    from ui.experts import decomposition, identifiability, learning_curves, sample_efficiency

    TABS = {
        "Decomposition": decomposition.draw,
        "Identifiability": identifiability.draw,
        "Sample efficiency": sample_efficiency.draw,
        "Learning curves": learning_curves.draw,
    }
    with checked_link(TITLE):
        tabs = st.tabs([*TABS], key="experts_tab", bind="query-params", on_change="rerun")
        draw_open(tabs, TABS)
