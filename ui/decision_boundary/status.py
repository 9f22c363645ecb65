"""What stands where a run is not there yet, was stopped or has failed."""

from __future__ import annotations

import streamlit as st

from gating_core.experiments.comparison import Setting
from ui.decision_boundary.frame_words import coming_text
from ui.decision_boundary.training import what
from ui.work import jobs
from ui.work.job import State
from ui.work.runs import newest_run

STAGE = 400  # pixels, of the pictures' place while there are none


def draw_empty_stage(requested: Setting) -> None:
    """Draw the pictures' place before a first run is there."""
    with st.container(
        height=STAGE, border=True, horizontal_alignment="center", vertical_alignment="center"
    ):
        st.markdown(coming_text(requested), width="content")


def draw_end(job: jobs.Job) -> None:
    """Draw why a run is not complete, and where it was stopped, beside the way to go on."""
    items = job.items
    run = newest_run(items)
    where = ""
    if run is not None and not run.ended:
        where = f", at step {run.steps[-1]} of {run.setting.steps}"
    text = jobs.end_text(job, what(items), items, where)
    if job.state is State.FAILED:
        st.error(text)
    elif text:
        st.caption(f":material/stop_circle: {text}")
