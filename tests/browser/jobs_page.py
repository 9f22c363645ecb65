"""A page for the tests of `ui.work.jobs`, which counts slowly.

The count writes the time into a file of its own at each step, so that a test sees from outside
when it stopped. The script is started with the folder for these files.
"""

import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import mkstemp

import streamlit as st

from ui.work import jobs
from ui.work.jobs import Jobs
from ui.work.pool import POOL

STEP_SECONDS = 0.05
STEPS = 40  # of a short count


def steps(folder: str, last: int | None, whose: str = "") -> Iterator[int]:
    """Count to ``last``, or for ever; not the same count for another visitor."""
    path = Path(mkstemp(dir=folder, suffix=".count")[1])
    for step in count(1):
        time.sleep(STEP_SECONDS)  # the work
        with path.open("a") as file:
            file.write(f"{time.time()}\n")
        yield step
        if step == last:
            return


COUNT: Jobs[tuple[str, int | None, str], int] = Jobs(
    "count", lambda request: POOL.stream(steps, *request)
)


def page() -> None:
    jobs.arrive("counting")
    folder = sys.argv[1]
    st.session_state["runs"] = st.session_state.get("runs", 0) + 1
    st.text(f"run {st.session_state['runs']} of the page")
    if st.button("Count"):
        whose = str(st.session_state.get("visit"))
        COUNT.start((folder, None, whose))
    if st.button("Count to the end"):
        COUNT.start((folder, STEPS, ""))
    job = jobs.current("count")
    if job is not None:

        def counted() -> int:
            return next(iter(job.so_far.values()), 0)

        jobs.watch(
            job,
            "Counting",
            lambda: st.text(f"counted {counted()}"),
            share=lambda: counted() / STEPS,
        )
        jobs.draw_end(job, "Counting")
