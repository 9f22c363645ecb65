"""What the page Steering shows: shipped, written by a worker, or measured by one."""

from __future__ import annotations

import streamlit as st

from gating_core.steering import (
    Opening,
    SteerRequest,
    load_opening,
    write_judged,
)
from ui.work import writing
from ui.work.job import Job

WRITING = "steering"


@st.cache_resource(show_spinner=False)
def opening() -> Opening:
    """Load the text that the page opens with."""
    return load_opening()


def written(request: SteerRequest) -> Job:
    """Return the job that writes: a new one, unless this text is written or was stopped."""
    shipped = opening()
    steps = shipped.steps if request == shipped.request else ()
    return writing.written(WRITING, write_judged, request, steps)
