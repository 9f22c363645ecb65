"""Decision boundary: a boundary that trains sixteen seeds of two models and scrubs in time."""

import streamlit as st

from ui.common.page import page

TITLE = "Decision boundary"

with page(
    TITLE,
    lead="Two kinds of attention learn the same points from the same initial weights, with many"
    " seeds. Watch them train, drag the run back, or draw points of your own.",
):
    from ui.common.charts import Charts
    from ui.common.links import checked_link
    from ui.decision_boundary import curves, film, inside, model, own_data, results, shared

    with checked_link(TITLE):
        front, which = shared.draw_front()
        stage, folds = st.container(), st.container()
        with folds:
            more, view = shared.draw_more()
            request = model.BoundaryRequest(**front, **more)
            own, lost = own_data.draw(request.train_share or model.OWN_SHARE)
        measurement, charts = shared.read_measurement(which), Charts("decision_boundary")
        with stage:
            setting = shared.find_setting(request, own, lost)
            job = film.draw(setting, view, measurement, inside.is_open() or curves.is_open())
        shown = shared.complete_run(job)
        if shown is not None:
            results.draw(job, shown, measurement, charts)
            curves.draw(shown, measurement, charts)
            inside.draw(shown, measurement, charts)
            calibrated = results.draw_calibration(shown.run, charts)
            results.draw_files(shown, view, measurement, charts, calibrated)
