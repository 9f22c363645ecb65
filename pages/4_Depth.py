"""Depth: does curvature add up from layer to layer, and when not?"""

import streamlit as st

from ui.common.page import page

with page(
    "Depth",
    question="How does curvature grow with depth?",
    lead="With the same small gate in every layer, twice the layers give four times the curvature"
    " at the middle. With other gates curvature adds up more slowly, or in no simple way.",
):
    from ui.common.link_check import warn_about_link
    from ui.depth.controls import DEPTH, read_selection
    from ui.depth.parts import (
        draw_chart,
        draw_details,
        draw_folds,
        draw_replay,
        draw_side_by_side,
        fetch,
    )
    from ui.depth.request import SIDE_BY_SIDE, TRAINED, DepthSelection

    warn_about_link(DEPTH)
    controls, stage, folds = st.container(), st.container(), st.container()
    with controls:
        selection = read_selection(below=folds)
    with stage:
        if selection.stacked == SIDE_BY_SIDE:
            view = fetch(DepthSelection(TRAINED))
            draw_side_by_side()
        else:
            view = fetch(selection)
            chart, replay = st.columns([5, 7])
            with chart:
                draw_chart(view)
            with replay:
                draw_replay(view)
    with folds:
        if selection.stacked != SIDE_BY_SIDE:
            draw_details(view)
        draw_folds(view)
