"""Which gates curve? A gallery of gates on a flat sheet, each with the law checked live."""

import streamlit as st

from ui.common.page import page

with page(
    "Which gates curve?",
    question="Which gates curve?",
    lead="A gate multiplies every point of the flat sheet (u, v, 1). Some gates curve it. Some only"
    " bend it. Some do neither. The law below says which.",
):
    from ui.common.link_check import warn_about_link
    from ui.gates.controls import GATES
    from ui.gates.panels import draw_panels
    from ui.gates.parts import draw_explanations, draw_gallery, draw_why

    warn_about_link(GATES)
    result = draw_gallery()
    draw_explanations(result)
    with GATES["why"].draw(st) as why:
        if why.open:
            draw_why(result)
    draw_panels(result)
