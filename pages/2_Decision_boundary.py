"""Decision boundary: a boundary that trains sixteen seeds of two models and scrubs in time."""

import streamlit as st

from ui.common.page import page

TITLE = "Decision boundary"

with page(TITLE):
    from ui.common.charts import Charts
    from ui.common.links import checked_link
    from ui.decision_boundary import controls, film, own_data, results

    with checked_link(TITLE):
        front, which = controls.draw_front()
        own = st.container()
        stage, folds = st.container(), st.container()
        with folds:
            more, view = controls.draw_more(front["steps"])
        with own:
            found = own_data.draw(front, more.get("train_share") or controls.OWN_SHARE)
        measurement, charts = film.read_measurement(which), Charts("decision_boundary")
        with stage:
            setting = controls.find_setting(front, more, *found)
            follows = bool(st.session_state.get(results.CURVES))
            job = film.draw(setting, view, measurement, follows)
        shown = results.draw_finding(job, setting, measurement)
        if shown is not None:
            results.draw(job, shown, measurement, charts, front["steps"])
            results.draw_curves(shown, measurement, charts)
            results.draw_files(shown, view, measurement, charts)
