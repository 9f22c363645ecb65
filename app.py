"""Landing page: does this attention layer curve space? Flat beside curved, within seconds.

``streamlit run`` imports this file as ``app``, for the server, and runs it as ``__main__`` for
every visitor of the page.
"""

import streamlit as st

from ui.common.page import page
from ui.work.server import lifespan

if __name__ == "__main__":
    with page(
        "Flat or curved?",
        question="Does this attention layer curve space?",
        lead="Attention that averages **fixed** values fills a **flat** sheet. A gate that"
        " multiplies its outputs can **curve** the sheet. A flat cut through a curved sheet can be"
        " a loop.",
    ):
        from ui.common.link_check import warn_about_link
        from ui.landing.controls import LANDING, explore_controls, front_controls
        from ui.landing.measured import LandingRequest, fetch
        from ui.landing.parts import draw_details, draw_pair, draw_proof, draw_seeds

        warn_about_link(LANDING)
        task, left, colouring = front_controls()
        status, stage = st.container(key="status"), st.container()
        with LANDING["explore"].draw(st) as explore:
            setting = explore_controls(task)
            details = st.container()
        with status:
            result = fetch(LandingRequest(setting, left, colouring))
        with stage:
            draw_pair(result)
            draw_seeds(result)
        if explore.open:
            with details:
                draw_details(result)
        draw_proof(result)
else:
    app = st.App(__file__, lifespan=lifespan)
