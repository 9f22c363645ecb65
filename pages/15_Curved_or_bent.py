"""The page Curved or bent: what a closed decision boundary needs, and what it does not."""

import streamlit as st

from ui.common.page import draw_open, page

TITLE = "Curved or bent?"

with page(TITLE):
    from ui.bent import guess, islands, price
    from ui.common.links import checked_link

    TABS = {"Which is flat?": guess.draw, "Islands": islands.draw, "Price": price.draw}
    with checked_link(TITLE):
        draw_open(st.tabs([*TABS], key="bent_tab", bind="query-params", on_change="rerun"), TABS)
