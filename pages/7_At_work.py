"""At work: what else does a gate do, on models that read text?"""

import streamlit as st

from ui.common.page import draw_open, page

with page(
    "At work",
    question="What does a gate do at work?",
    lead="Attention has to put its weight somewhere, and it mixes values by one low-rank map. A"
    " gate is said to change both. See what it does in small models that read text.",
    pictures=False,
):
    from ui.at_work.controls import AT_WORK
    from ui.at_work.sections import SECTIONS
    from ui.common.link_check import warn_about_link

    warn_about_link(AT_WORK)
    draw_open(AT_WORK["tab_at_work"].draw(st), SECTIONS)
