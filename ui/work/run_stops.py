"""The end of a page run that was stopped while it waits.

Streamlit 1.67 stops a run, because the visitor has moved a control or has left, at its next call of
Streamlit. A run that waits makes none: it would wait to the end, and its task would stand before
those of visitors who still look. So whoever waits calls `end_if_stopped` again and again.
"""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

POLL_SECONDS = 0.1  # between two checks whether the run was stopped


def end_if_stopped() -> None:
    """End the run of a page in this thread if another run has taken its place, or nobody is there.

    Other threads, such as those of jobs, are not affected.
    """
    context = get_script_run_ctx(suppress_warning=True)
    requests = context.script_requests if context is not None else None
    if requests is not None and requests._state == ScriptRequestType.STOP:
        st.stop()
