"""Landing page: does this attention layer curve space? Flat beside curved, within seconds."""

import streamlit as st

from ui.common.page import page
from ui.landing.controls import LANDING, explore_controls, gate_controls, picked
from ui.landing.parts import Shown, draw_details, draw_numbers, draw_pair, fetch

with page(
    "Flat or curved?",
    LANDING,
    question="Does this attention layer curve space?",
    lead="Attention mixes fixed value vectors with weights that sum to one, so its outputs fill a"
    " **flat** sheet. A gate that multiplies them can **curve** it, and a flat cut through a"
    " curved sheet can be a loop.",
):
    gated, strength = gate_controls()
    stage = st.container()
    with LANDING["explore"].draw(st) as explore:
        setting, colouring = explore_controls()
        details = st.container()

    shown = Shown(setting, gated, strength, colouring, picked())
    with stage:
        found = fetch(shown)
        draw_pair(found)
        draw_numbers(found)
    if explore.open:
        with details:
            draw_details(found)
