"""What is said of a run that is not there yet, was stopped or has failed, and where?"""

from __future__ import annotations

import streamlit as st

from gating_core.experiments.comparison import Setting
from ui.decision_boundary import film_words
from ui.decision_boundary.training import what
from ui.work import jobs
from ui.work.job import State
from ui.work.runs import newest_run

STAGE = 400  # pixels, of the pictures' place while there are none


def draw_empty_stage(wanted: Setting) -> None:
    """The place of the pictures before a first run is there: nothing of another setting."""
    with st.container(
        height=STAGE, border=True, horizontal_alignment="center", vertical_alignment="center"
    ):
        st.markdown(film_words.coming_text(wanted), width="content")


def draw_end(job: jobs.Job) -> None:
    """Why a run is not complete, and where it was stopped: one line beside the way to go on."""
    items = job.items
    run = newest_run(items)
    where = film_words.stopped_text(run) if run is not None and not run.ended else ""
    text = jobs.end_text(job, what(items), items, where)
    if job.state is State.FAILED:
        st.error(text)
    elif text:
        st.caption(f":material/stop_circle: {text}")
