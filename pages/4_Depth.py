"""Depth: does curvature add up from layer to layer, and when not?"""

import streamlit as st

from ui.common.page import page

with page(
    "Depth",
    question="How does depth add up?",
    lead="Trained stacks add each layer's output to its input: they curve **without** a gate, too.",
):
    from ui.common.link_check import warn_about_link
    from ui.depth.controls import DEPTH, asked_request
    from ui.depth.parts import (
        draw_chart,
        draw_elsewhere,
        draw_every,
        draw_explanations,
        draw_replay,
        draw_training,
        draw_why,
        fetch,
    )

    warn_about_link(DEPTH)
    controls, stage, folds = st.container(), st.container(), st.container()
    with controls:
        asked = asked_request(below=folds)
    with stage:
        found = fetch(asked)
        chart, replay = st.columns([5, 7])
        with chart:
            draw_chart(found)
        with replay:
            draw_replay(found)
    with folds:
        draw_training(found)
        draw_explanations(found)
        draw_elsewhere(found)
        draw_every(found)
        draw_why(found)
