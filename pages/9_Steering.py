"""Steering: can one feature change the language?"""

import streamlit as st

from ui.common.page import draw_open, page

with page(
    "Steering",
    question="Can one feature change the language?",
    lead="After one layer, a direction is added to the state of a small model that writes. Does the"
    " model go on in the other language? Does it still write real words?",
    pictures=False,
):
    from ui.common.link_check import warn_about_link
    from ui.steering.controls import STEERING
    from ui.steering.sections import SECTIONS

    warn_about_link(STEERING)
    draw_open(STEERING["tab_steering"].draw(st), SECTIONS)
