"""Experts: why a gate after attention or on the values, and nowhere else?"""

import streamlit as st

from ui.common.page import draw_open, page

with page(
    "Experts",
    question="Which experts can be learned?",
    lead="Each output of attention is a mixture of small linear maps, its **experts**."
    " A gate per channel between value map W_V and output map W_O tells the experts of a head"
    " apart. Other gates do not.",
    pictures=False,
):
    from ui.common.link_check import warn_about_link
    from ui.experts.controls import EXPERTS
    from ui.experts.sections import SECTIONS

    warn_about_link(EXPERTS)
    draw_open(EXPERTS["picture"].draw(st), SECTIONS)
