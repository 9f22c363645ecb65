"""Language models: what does a gate change in small models that read text?"""

import streamlit as st

from ui.common.page import draw_open, page

TITLE = "Language models"

with page(
    TITLE,
    lead="Attention sinks, effective rank, gate sparsity, calibration and block topology of small"
    " character models: each architecture with three seeds, compared with no gate.",
):
    from ui.common.links import checked_link
    from ui.language_models import calibration, generate, overview, rank, sinks, sparsity, topology

    TABS = {
        "Overview": overview.draw,
        "Attention sinks": sinks.draw,
        "Effective rank": rank.draw,
        "Gate sparsity": sparsity.draw,
        "Calibration": calibration.draw,
        "Block topology": topology.draw,
        "Generate": generate.draw,
    }
    with checked_link(TITLE):
        draw_open(st.tabs([*TABS], key="measure", bind="query-params", on_change="rerun"), TABS)
