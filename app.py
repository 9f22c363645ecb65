"""Landing page: does this attention layer curve space? Flat beside curved, within seconds.

``streamlit run`` imports this file as ``app``, for the server, and runs it as ``__main__`` for
every visitor of the page.
"""

import streamlit as st

from ui.common.lessons import section
from ui.common.page import page
from ui.work.server import lifespan

TITLE = "Flat or curved?"

if __name__ == "__main__":
    with page(
        TITLE,
        question=section("landing", "question"),
        lead=section("landing", "lead"),
    ):
        from ui.common.links import checked_link
        from ui.landing.page import draw

        with checked_link(TITLE):
            draw()
else:
    from ui.classroom.routes import routes
    from ui.work.guard import GUARDED

    app = st.App(__file__, lifespan=lifespan, routes=routes(), middleware=GUARDED)
