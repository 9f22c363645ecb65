"""The playground's run: which seed is looked at, what is measured, and whose numbers are told.

What is shown of a run may change while it is measured: whichever seed is looked at is measured
first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import streamlit as st

from gating_core.experiments.comparison import (
    SHOWN,
    CurvatureSummary,
    Setting,
    TrainedRun,
    measure_run,
    shown_member,
)
from ui.work import jobs, runs
from ui.work.runs import Shown

JOB, WISH, COMPLETE = "playground", "playground_wish", "playground_complete"


@dataclass
class Wish:
    """Which seed the visitor looks at: best, median, worst, or the picked one."""

    which: str = SHOWN[0]
    picked: str = ""

    def member(self, run: TrainedRun) -> int:
        """Its place among the seeds; the right-hand variant says which is best."""
        seeds = run.task.seeds
        if self.which == "picked" and self.picked in map(str, seeds):
            return seeds.index(int(self.picked))
        which = self.which if self.which in SHOWN else SHOWN[0]
        return shown_member(run.variants[run.setting.compared[-1]].ensemble, which)

    def lacks(self, shown: Shown) -> bool:
        """Whether there is something to measure of the seed that is looked at."""
        run = shown.run
        if not run.frames:
            return False
        return any((name, self.member(run)) not in shown.final for name in run.setting.compared)

    def measure(self, shown: Shown) -> Iterator[Any]:
        """The curvatures that are not known yet, of the seed that is looked at first."""
        run = shown.run
        return measure_run(
            run, run.setting.compared, lambda: self.member(run), set(shown.along), set(shown.final)
        )


def wish(which: str) -> Wish:
    """What this visitor wishes to see: one object for the session, read by its job as well."""
    found = st.session_state.setdefault(WISH, Wish())
    found.which = which
    found.picked = st.query_params.get("picked_seed", "")
    return found


def fetch(setting: Setting, wished: Wish) -> jobs.Job:
    """The job that runs ``setting``: the current one, or one that is started now."""
    return runs.fetch(JOB, setting, wished.measure, wished.lacks)


def shown_of(job: jobs.Job) -> Shown | None:
    """The newest run of a job, with its curvatures; else the last one there was."""
    return runs.shown_of(JOB, job)


def numbers_of(job: jobs.Job) -> Shown | None:
    """The run whose numbers are told: a complete one, or what was left of one; else the last."""
    if job.over or runs.trained(job.items):
        shown = shown_of(job)
        if shown is not None and shown.run.frames:
            st.session_state[COMPLETE] = shown
    return st.session_state.get(COMPLETE)


def what(items: list[Any]) -> str:
    """What a job is doing."""
    return "Measuring curvature" if runs.trained(items) else "Training"


def share_of(items: list[Any]) -> float:
    """How much of it is done."""
    run = runs.newest_run(items)
    if run is None or not run.ended:
        return runs.share_of(items)
    found = sum(isinstance(x, CurvatureSummary) and x.known is not None for x in items)
    return found / (len(run.setting.compared) * len(run.task.seeds))
