"""The end of a page run while it waits.

Streamlit ends a run, because the visitor has moved a control or has left, at its next call of
Streamlit, and only then begins the next one. A run that waits makes no such call: whoever waits
calls `end_if_stopped` again and again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

from streamlit.runtime.scriptrunner_utils.script_run_context import get_run_yield_check

POLL_SECONDS = 0.05  # between two checks: a visitor who moves a control waits half of it


def end_if_stopped() -> None:
    """End the run of a page in this thread if a newer one is requested, or nobody is there.

    Other threads, such as those of jobs, are not affected.
    """
    if (check := get_run_yield_check()) is not None:
        check()


def wait_for(done: Callable[[float], bool], seconds: float = inf) -> None:
    """Wait until ``done``, which itself waits for the seconds that it is given, returns true.

    Or until so many ``seconds`` are over, or the run of a page in this thread ends.
    """
    end = time.monotonic() + seconds
    while not done(min(POLL_SECONDS, seconds)):
        end_if_stopped()
        if (seconds := end - time.monotonic()) <= 0:
            return
