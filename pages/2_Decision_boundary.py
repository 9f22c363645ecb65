"""Decision boundary: a boundary that trains sixteen seeds of two models and scrubs in time."""

import streamlit as st

from ui.common.page import page

with page(
    "Decision boundary",
    question="Where does it draw the line?",
    lead="Two kinds of attention learn the same points from the same start, many seeds each. Play"
    " the run, drag it back, draw points of your own.",
):
    from ui.common.link_check import warn_about_link
    from ui.decision_boundary import training
    from ui.decision_boundary.controls import (
        DECISION_BOUNDARY,
        asked_look,
        asked_setting,
        front_controls,
        more_controls,
    )
    from ui.decision_boundary.inside import draw_inside
    from ui.decision_boundary.own_points import draw_own, own_data, table_is_lost
    from ui.decision_boundary.parts import draw_buttons, draw_film, draw_numbers, draw_take
    from ui.decision_boundary.status import draw_end
    from ui.work import jobs

    warn_about_link(DECISION_BOUNDARY)
    front_controls()
    stage, folds = st.container(), st.container()
    with folds, DECISION_BOUNDARY["setup"].draw(st):
        more_controls()
    with folds, DECISION_BOUNDARY["own"].draw(st):
        draw_own()
    with stage:
        setting, look = asked_setting(own_data(), table_is_lost()), asked_look()
        wished = training.wish(look.which)
        with jobs.dock(training.JOB, setting):
            job = training.fetch(setting, wished)
            draw_end(job)
        jobs.watch(
            job,
            lambda items: draw_film(training.shown_of(job), look, wished, setting),
            what=training.what,
            share=training.share_of,
            ends=False,
        )
    shown = training.numbers_of(job)
    if shown is not None:
        draw_buttons(job, wished)
        draw_numbers(shown, wished, shown.run.setting == setting)
        looking = DECISION_BOUNDARY["looking"].draw(st)
        if looking.open:
            with looking:
                draw_inside(shown, wished)
        st.subheader("Take it with you", anchor=False)
        draw_take(shown, look, wished)
