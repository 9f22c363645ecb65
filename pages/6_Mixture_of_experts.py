"""Mixture of experts: which parameters of an attention layer can data determine?"""

import streamlit as st

from ui.common.page import draw_open, page

TITLE = "Mixture of experts"

with page(
    TITLE,
    lead="Attention is a mixture of small linear maps, its **experts** W_V[:, c] W_O[c, :]."
    " A gate per channel between W_V and W_O makes the experts of a head identifiable; other gates"
    " do not.",
    pictures=False,
):
    from ui.common.links import checked_link
    from ui.experts import decomposition, identifiability, learning_curves, sample_efficiency

    TABS = {
        "Identifiability": identifiability.draw,
        "Decomposition": decomposition.draw,
        "Sample efficiency": sample_efficiency.draw,
        "Learning curves": learning_curves.draw,
    }
    with checked_link(TITLE):
        tabs = st.tabs([*TABS], key="experts_tab", bind="query-params", on_change="rerun")
        draw_open(tabs, TABS)
