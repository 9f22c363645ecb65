"""Seconds and memory of the largest that each page allows.

Every link is opened in a process of its own, as by a first visitor. Seconds are until there is a
picture of what was asked for, which is the goal's, and until all is measured that is measured
unasked: of trainings also curvature along the run, which no picture waits for and Cancel ends.
Memory is the peak of the largest process, the page's own or a worker's, which is 0.3 to 0.4 GB
before it does anything.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from psutil import Process

ROOT = Path(__file__).resolve().parents[2]
GOAL_SECONDS, GOAL_GB = 30.0, 2.0
POLL_SECONDS = 0.1
KB_PER_GB = 1e6  # as Linux counts the peak
MODEL = dict(
    layers="8",
    dim="16",
    n="12",
    heads="4",
    source="tokens",
    norm="pre",
    residual="true",
    projection="true",
    sharpness="60",
)
RUN = {"from": "tokens", "width": "16", "slots": "8", "attention_heads": "4", "stack": "4",
       "rms": "pre", "skip": "true", "out": "true", "points": "4000", "batch": "128",
       "seeds": "32", "steps": "4000"}  # fmt: skip
LARGEST = {  # page and link by what is the most about it
    "landing: four layers": ("app.py", dict(depth="4", seed="7")),
    "manifold: finest grid": ("pages/1_Manifold.py", dict(grid="151")),
    "manifold: largest model": ("pages/1_Manifold.py", MODEL),
    "manifold: finest grid, error analysis": (
        "pages/1_Manifold.py", dict(grid="151", tab="Error analysis"),
    ),
    "manifold: largest model, error analysis": (
        "pages/1_Manifold.py", MODEL | dict(tab="Error analysis"),
    ),
    "decision boundary: all at once": ("pages/2_Decision_boundary.py", RUN),
    "decision boundary: longest": ("pages/2_Decision_boundary.py", dict(seeds="32", steps="4000")),
    "decision boundary: widest": (
        "pages/2_Decision_boundary.py",
        RUN | dict(seeds="4", batch="16", steps="50", points="1250"),
    ),
}  # fmt: skip


def largest() -> str:
    """A table of seconds and peak memory, and what the page said."""
    lines = [f"{'what':34} {'seconds':>8} {'in all':>8} {'GB':>6}  message"]
    for what in LARGEST:
        command = [sys.executable, "-m", "tests.benchmarks.largest", what]
        result = json.loads(
            subprocess.run(
                command, cwd=ROOT, check=True, capture_output=True, text=True
            ).stdout.splitlines()[-1]
        )
        over = " (!)" if result["seconds"] > GOAL_SECONDS or result["gb"] > GOAL_GB else ""
        message = " ".join(result["messages"]) + over
        numbers = f"{result['seconds']:8.1f} {result['all']:8.1f} {result['gb']:6.2f}"
        lines.append(f"{what:34} {numbers}  {message}")
    return "\n".join(lines)


def opened(what: str) -> dict[str, object]:
    """Seconds until its picture and until all is measured, peak memory, and what it said."""
    from tests.ui.opening import open_page  # imports belong to the process that is measured

    page, link = LARGEST[what]
    began = time.perf_counter()
    app = open_page(page, **link)
    seconds = time.perf_counter() - began
    begun = tuple(app.session_state["_jobs"].values()) if "_jobs" in app.session_state else ()
    for job, *_ in begun:  # each run may begin others
        while not (job.join(POLL_SECONDS) or any(getattr(x, "ended", False) for x in job.items)):
            pass
        seconds = time.perf_counter() - began
        job.join()
        app.run()
    in_all = time.perf_counter() - began
    assert not app.exception, app.exception
    peak = max(map(_peak_kb, [os.getpid(), *(x.pid for x in Process().children())])) / KB_PER_GB
    messages = [box.value for box in (*app.info, *app.error)]
    return {"seconds": seconds, "all": in_all, "gb": peak, "messages": messages}


def _peak_kb(process: int) -> int:
    """The most memory that a process has had."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)[1])


if __name__ == "__main__":
    print(json.dumps(opened(sys.argv[1])))
