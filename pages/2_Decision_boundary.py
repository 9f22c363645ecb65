"""Decision boundary: a boundary that trains sixteen seeds of two models and scrubs in time."""

import streamlit as st

from ui.common.page import page

with page(
    "Decision boundary",
    question="Which decision boundary does it learn?",
    lead="Two kinds of attention learn the same points from the same initial weights, with many"
    " seeds. Play the run, drag it back, or draw points of your own.",
):
    from ui.common.link_check import warn_about_link
    from ui.decision_boundary import training
    from ui.decision_boundary.controls import (
        DECISION_BOUNDARY,
        front_controls,
        more_controls,
        read_setting,
        read_view,
    )
    from ui.decision_boundary.inside import draw_inside
    from ui.decision_boundary.own_points import draw_own, own_data, table_is_lost
    from ui.decision_boundary.parts import (
        draw_buttons,
        draw_downloads,
        draw_end,
        draw_numbers,
        draw_reliability,
    )
    from ui.decision_boundary.stage import draw_frames
    from ui.work import jobs

    warn_about_link(DECISION_BOUNDARY)
    front_controls()
    stage, folds = st.container(), st.container()
    with folds:
        more_controls()
        draw_own()
    with stage:
        setting, view = read_setting(own_data(), table_is_lost()), read_view()
        measurement = training.read_measurement(view.which)
        with jobs.dock(training.JOB, setting):
            job = training.fetch(setting, measurement)
            draw_end(job)
        jobs.watch(
            job,
            lambda items: draw_frames(training.shown_of(job), view, measurement, setting),
            what=training.what,
            share=training.share_of,
        )
    shown = training.numbers_of(job)
    if shown is not None:
        draw_buttons(job, measurement)
        draw_numbers(shown, measurement, shown.run.setting == setting)
        looking = DECISION_BOUNDARY["looking"].draw(st)
        if looking.open:
            with looking:
                draw_inside(shown, measurement)
        calibration = DECISION_BOUNDARY["calibration"].draw(st)
        if calibration.open:
            with calibration:
                draw_reliability(shown.run)
        st.subheader("Downloads", anchor=False)
        draw_downloads(shown, view, measurement)
