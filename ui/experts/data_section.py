"""The third section: errors of experts and of predictions against the number of data."""

from __future__ import annotations

from functools import partial

import streamlit as st

from gating_core.experts import GATES, Learned, SampleRequest
from ui.common.lessons import section, sections
from ui.common.parts import draw_explanation, draw_figure
from ui.experts import data_measured, data_words
from ui.experts.data_chart import error_chart
from ui.experts.data_controls import FOLDS, read_data
from ui.experts.data_request import DataSelection
from ui.work import jobs

HEADS = {"expert": "head_expert_errors", "prediction": "head_prediction_errors"}


def draw_data() -> None:
    """Draw both errors side by side, and what they say."""
    controls, stage, folds = st.container(), st.container(), st.container()
    with controls:
        selection = read_data(folds)
    with folds:
        row, every = st.container(horizontal=True), FOLDS["every_place"].draw(st)
    # One job for all that is shown: two would cancel each other at every run.
    learned = _fetch(selection.request, GATES if every.open else selection.gates)
    shown = {gate: learned[gate] for gate in selection.gates if gate in learned}
    with stage:
        if not shown:  # nothing is there yet: the shipped ones stand in
            st.caption(f":material/hourglass: {section('experts', 'still_shipped')}")
            shown = {gate: data_measured.shipped_samples()[gate] for gate in DataSelection().gates}
        _draw(shown)
    with row:
        _draw_explanation(shown)
    if every.open and len(learned) == len(GATES):
        with every:
            st.table(data_words.table(learned))
            st.caption(section("experts", "every_place"))
    with folds, FOLDS["data_code"].draw(st) as code:
        if code.open:
            st.code(sections("experts")["data_code"], language="python")


def _fetch(request: SampleRequest, gates: tuple[str, ...]) -> dict[str, Learned]:
    """Return what is there of the selection, and draw how its job goes."""
    learned, job = data_measured.learned(request, gates)
    if job is not None:
        with jobs.dock(data_measured.LEARNED.name, job.about):
            what = f"Learning {len(gates)} × {request.repeats} teachers"
            data_measured.LEARNED.watch(job, what, again="Learn")
    return learned


def _draw(learned: dict[str, Learned]) -> None:
    for column, (name, head) in zip(st.columns(2), HEADS.items(), strict=True):
        with column:
            st.markdown(section("experts", head))
            request = next(iter(learned.values())).request
            draw_figure("errors", (name, request, tuple(learned)),
                        partial(error_chart, learned, name),
                        data_words.alt(learned, name))  # fmt: skip
    st.markdown(data_words.summary(learned))
    if text := data_words.caution(learned):
        st.caption(text)


def _draw_explanation(learned: dict[str, Learned]) -> None:
    draw_explanation("experts", "errors against data", "samples", **data_words.fields(learned))
    st.download_button(
        "Errors (CSV)", lambda: data_words.errors_csv(learned), "errors.csv",
        icon=":material/table:", key="take_errors", on_click="ignore",
    )  # fmt: skip
