"""Claims: does the paper hold here, and by which numbers?"""

import streamlit as st

from ui.common.page import page

with page(
    "Claims",
    question="Does the paper hold here?",
    lead="Seven claims of Bathula & Joshi (arXiv 2604.14702) are tested on small models that learn"
    " tasks in the plane. The claims are in our words.",
    pictures=False,
):
    from ui.claims.controls import CLAIMED, read_request
    from ui.claims.parts import (
        draw_accuracies,
        draw_models,
        draw_numbers,
        draw_picture,
        draw_report,
        draw_table,
        fetch,
    )
    from ui.claims.study import draw_progress, draw_study, study_status
    from ui.common.link_check import warn_about_link

    warn_about_link(CLAIMED)
    controls, progress, stage, folds = (st.container() for _ in range(4))
    with controls:
        request = read_request()
    status = study_status()
    with folds:
        beside = draw_study(status)
    with progress:
        draw_progress(status, request.rows, beside)
    result = fetch(request, status)
    with stage:
        table, picture = st.columns([6, 7])
        with table:
            draw_table(result)
        with picture.container(gap="xsmall"):
            draw_picture(result)
    with folds:
        draw_models(result)
        draw_numbers(result)
        draw_report(result)
        draw_accuracies(result)
