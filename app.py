"""Landing page: does this attention layer curve space? Flat beside curved, within seconds."""

import streamlit as st

from ui.common.page import page
from ui.landing.controls import LANDING, explore_controls, front_controls
from ui.landing.parts import LandingRequest, draw_control, draw_details, draw_pair, fetch

with page(
    "Flat or curved?",
    LANDING,
    question="Does this attention layer curve space?",
    lead="Attention averages fixed value vectors: its outputs fill a **flat** sheet. A gate that"
    " multiplies them can **curve** it, and a flat cut through a curved sheet can be a loop.",
):
    task, left, colouring = front_controls()
    status, stage = st.container(), st.container()
    with LANDING["explore"].draw(st) as explore:
        setting = explore_controls(task)
        details = st.container()
    with status:
        found = fetch(LandingRequest(setting, left, colouring))
    with stage:
        draw_pair(found)
        draw_control(found)
    if explore.open:
        with details:
            draw_details(found)
