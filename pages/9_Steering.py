"""Steering: can one feature change the language that a model writes?"""

import streamlit as st

from ui.common.page import draw_open, page

TITLE = "Steering"

with page(
    TITLE,
    lead="After one layer of a small language model (0.5 million weights, broken English) a"
    " steering vector is added. Does it go on in the other language?",
):
    from ui.common.links import checked_link
    from ui.steering import features, steer

    TABS = {"Steer": steer.draw, "Features": features.draw}
    with checked_link(TITLE):
        draw_open(
            st.tabs([*TABS], key="steering_tab", bind="query-params", on_change="rerun"), TABS
        )
