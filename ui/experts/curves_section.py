"""The fourth section: learning curves of gated and ungated attention in training."""

from __future__ import annotations

import streamlit as st

from gating_core.claims import THRESHOLDS
from gating_core.experts import LearningCurves
from ui.common.lessons import section
from ui.common.parts import draw_explanation, draw_figure
from ui.experts import curves_words, data_measured
from ui.experts.data_chart import curves_chart, difference_chart
from ui.experts.data_controls import read_curves
from ui.experts.data_request import CurvesSelection
from ui.work import jobs


def draw_curves() -> None:
    """Draw test errors against training points, differences, and the verdict."""
    selection = read_curves()
    curves, job = data_measured.curves(selection.request)
    if job is not None:
        with jobs.dock(data_measured.CURVES.name, job.about):
            data_measured.CURVES.watch(job, "Training on more and more points", again="Train")
    if curves is None:
        st.caption(f":material/hourglass: {section('experts', 'still_shipped')}")
        curves = data_measured.shipped_curves()
    _draw(curves, selection)


def _draw(curves: LearningCurves, selection: CurvesSelection) -> None:
    level, request = selection.level, curves.request
    left, right = st.columns(2)
    with left:
        st.markdown(section("experts", "head_curves", task=request.task, count=request.seed_count))
        draw_figure("curves", ("errors", request, level),
                    lambda: curves_chart(curves, level), curves_words.alt(curves))  # fmt: skip
    with right:
        st.markdown(section("experts", "head_differences"))
        margin = THRESHOLDS.margin
        draw_figure(
            "curves", ("gains", request), lambda: difference_chart(curves, margin),
            curves_words.verdicts(curves),
        )  # fmt: skip
    st.markdown(f"{curves_words.summary(curves, level)} {curves_words.verdicts(curves)}")
    with st.container(horizontal=True):
        draw_explanation(
            "experts", "learning curves", "curves",
            steps=request.steps, count=request.seed_count, gate=request.gate,
            sentence=curves_words.summary(curves, level), power=f"{THRESHOLDS.power:.0%}",
        )  # fmt: skip
        st.download_button(
            "Curves (CSV)", lambda: curves_words.curves_csv(curves), "curves.csv",
            icon=":material/table:", key="take_curves", on_click="ignore",
        )  # fmt: skip
