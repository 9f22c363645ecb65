"""Should I gate: what does a gate change in small models that read text, and what does it cost?"""

import streamlit as st

from ui.common.page import draw_open, page

TITLE = "Should I gate?"

with page(TITLE):
    from ui.common.links import checked_link
    from ui.language_models import decision, details, generate, sinks, topology

    TABS = {
        "Decision": decision.draw,
        "Attention sinks": sinks.draw,
        "Rank, sparsity, calibration": details.draw,
        "Block topology": topology.draw,
        "Generate": generate.draw,
    }
    with checked_link(TITLE):
        draw_open(st.tabs([*TABS], key="measure", bind="query-params", on_change="rerun"), TABS)
