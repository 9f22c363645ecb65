"""Left out: what may attention leave out, and what does that change?"""

import streamlit as st

from ui.common.page import draw_open, page

with page(
    "Left out",
    question="What may attention leave out?",
    lead="Attention may leave out small weights, keys, whole stretches of text, or the softmax."
    " What does each change in the output? Does a gate make it cheaper?",
    pictures=False,
):
    from ui.common.link_check import warn_about_link
    from ui.left_out.controls import LEFT_OUT
    from ui.left_out.sections import SECTIONS

    warn_about_link(LEFT_OUT)
    draw_open(LEFT_OUT["tab_left_out"].draw(st), SECTIONS)
