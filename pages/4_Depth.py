"""Depth: does curvature add up from layer to layer, and when not?"""

import streamlit as st

from ui.common.page import page

with page(
    "Depth",
    question="How does curvature grow with depth?",
    lead="A stack is several attention layers in a row. Trained stacks add each layer's output to"
    " its input, so they curve **without** a gate, too.",
):
    from ui.common.link_check import warn_about_link
    from ui.depth.controls import DEPTH, read_selection
    from ui.depth.parts import draw_chart, draw_folds, draw_replay, fetch

    warn_about_link(DEPTH)
    controls, stage, folds = st.container(), st.container(), st.container()
    with controls:
        selection = read_selection(below=folds)
    with stage:
        view = fetch(selection)
        chart, replay = st.columns([5, 7])
        with chart:
            draw_chart(view)
        with replay:
            draw_replay(view)
    with folds:
        draw_folds(view)
