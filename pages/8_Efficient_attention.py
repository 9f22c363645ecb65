"""Efficient attention: what is lost when attention reads fewer keys, or drops the softmax?"""

import streamlit as st

from ui.common.page import draw_open, page

TITLE = "Efficient attention"

with page(
    TITLE,
    lead="Small language models attend to fewer keys, or without softmax. The **Δ loss** is what"
    " that adds to the loss of the same model with full attention.",
):
    from ui.common.links import checked_link
    from ui.efficient import delta, eviction, linear, top_k

    TABS = {
        "Top-k": top_k.draw,
        "KV-cache eviction": eviction.draw,
        "Delta correction": delta.draw,
        "Linear and hybrid": linear.draw,
    }
    with checked_link(TITLE):
        draw_open(st.tabs([*TABS], key="method", bind="query-params", on_change="rerun"), TABS)
