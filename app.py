"""Landing page: does this attention layer curve space? Flat beside curved, within seconds."""

import streamlit as st

from ui.common.link_check import warn_about_link
from ui.common.page import begin, end
from ui.landing.controls import LANDING, explore_controls, gate_controls, picked
from ui.landing.parts import Shown, draw_details, draw_numbers, draw_pair, fetch
from ui.work import runtime  # noqa: F401  (first: it settles threads and memory for the process)

begin("Flat or curved?")
st.title("Does this attention layer curve space?", anchor=False)
st.markdown(
    "Attention mixes fixed value vectors with weights that sum to one, so its outputs fill a"
    " **flat** sheet. A gate that multiplies them can **curve** it, and a flat cut through a"
    " curved sheet can be a loop."
)
warn_about_link("landing", LANDING)
gated, strength = gate_controls()
stage = st.container()
with st.expander("Explore: other tasks, depths, gates and seeds", key="explore",
                 bind="query-params", on_change="rerun") as explore:  # fmt: skip
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
end("Flat or curved?")
