"""Decision boundary's run: which seed is looked at, what is measured, and whose numbers are told.

What is shown of a run may change while it is measured: whichever seed is looked at is measured
first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import streamlit as st

from gating_core.experiments.comparison import (
    CurvatureSummary,
    Setting,
    TrainedRun,
    along_cost,
    drawn_frames,
    final_curvature,
    pending_measurements,
    shown_member,
    typical_member,
)
from ui.decision_boundary.request import TYPICAL, WHO
from ui.limits import OTHERS_COST
from ui.work import jobs, runs
from ui.work.job import State
from ui.work.pool import Rank
from ui.work.runs import Shown
from ui.work.shared import shared_stream

JOB, WISH, COMPLETE = "boundary", "boundary_wish", "boundary_complete"
STOPPED = "boundary_stopped"  # the setting of a film, and where the visitor has stopped it


@dataclass
class Wish:
    """Which seed the visitor looks at: one of `WHO`, or the picked one.

    Curvature of all other seeds along the run is measured where that takes few seconds, and where
    they ask for it: of the setting ``all_of``.
    """

    which: str = TYPICAL
    picked: str = ""
    all_of: Setting | None = None

    def member(self, run: TrainedRun) -> int:
        """Its place among the seeds, of which both sides have the same one."""
        seeds = run.task.seeds
        if self.chosen(run) == "picked":
            return seeds.index(int(self.picked))
        left, right = (run.variants[name].ensemble for name in run.setting.compared)
        whose = WHO.get(self.which)
        if whose is None:
            return typical_member(left, right)
        side, which = whose
        return shown_member(left if side == "left" else right, which)

    def chosen(self, run: TrainedRun) -> str:
        """By which of `WHO` it is shown; "picked" one that somebody picked."""
        if self.which == "picked":
            return "picked" if self.picked in map(str, run.task.seeds) else TYPICAL
        return self.which if self.which in WHO else TYPICAL

    def lacks(self, shown: Shown) -> bool:
        """Whether there is something to measure of the seeds that are measured."""
        run = shown.run
        if not run.frames:
            return False
        if self.others(run) and self.lacks_others(shown):
            return True
        own = [(name, self.member(run)) for name in run.setting.compared]
        return any(key not in shown.final or not has_field(shown, key) for key in own)

    def lacks_others(self, shown: Shown) -> bool:
        """Whether there is something to measure of other seeds."""
        seeds = range(len(shown.run.task.seeds))
        return any((n, i) not in shown.along for n in shown.run.setting.compared for i in seeds)

    def others(self, run: TrainedRun) -> bool:
        """Whether other seeds are measured, too."""
        count = len(run.task.seeds) - 1
        return self.all_of == run.setting or count * along_cost(run) <= OTHERS_COST

    def measure(self, shown: Shown) -> Iterator[Any]:
        """The curvatures that are not known yet, of the seed that is looked at first.

        All but its own along the run can wait: for others' trainings, and their first pictures.
        """
        run, settled = shown.run, set(shown.final)
        known = {key for key in shown.along if has_field(shown, key)}
        totals = set(shown.along)  # of other seeds they are enough
        while True:
            looked_at = self.member(run)
            enough = known | {key for key in totals if key[1] != looked_at}
            missing = pending_measurements(run, run.setting.compared, looked_at, enough, settled)
            function, name, member = next(missing, (None, "", 0))
            if function is None or (member != looked_at and not self.others(run)):
                return
            (settled if function is final_curvature else known).add((name, member))
            first = member == looked_at and function is not final_curvature
            rank = Rank.FIRST if first else Rank.REST
            yield from shared_stream(function, run, name, member, rank=rank)


def has_field(shown: Shown, key: tuple[str, int]) -> bool:
    """Whether K itself is known along the run of that variant and member, not its total alone."""
    found = shown.along.get(key)
    return found is not None and found.known is not None


def stopped_frame(run: TrainedRun) -> int:
    """The drawn frame that the visitor has stopped at; the last one unless they have."""
    last = len(drawn_frames(run)) - 1
    about, frame = st.session_state.get(STOPPED, (None, last))
    return min(frame, last) if about == run.setting else last


def wish(which: str) -> Wish:
    """What this visitor wishes to see: one object for the session, read by its job as well."""
    found = asked_wish()
    found.which = which
    found.picked = st.query_params.get("picked_seed", "")
    return found


def asked_wish() -> Wish:
    """What they have wished by now."""
    return st.session_state.setdefault(WISH, Wish())


def draw_others(job: jobs.Job, wished: Wish) -> None:
    """Where other seeds are not measured, as that takes long: a button that asks for it."""
    shown = shown_of(job)
    if job.state is not State.DONE or shown is None or not wished.lacks_others(shown):
        return
    count = len(shown.run.task.seeds) - 1
    st.button(
        f"Measure the other {count} seeds" if count > 1 else "Measure the other seed",
        icon=":material/stacked_line_chart:", key="measure_others", on_click=_measure_others,
        args=(wished, shown.run.setting),
        help="Their total curvature along the run. A model of this size takes long: only the shown"
        " seed is measured by itself.",
    )  # fmt: skip


def _measure_others(wished: Wish, setting: Setting) -> None:
    wished.all_of = setting


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
        return jobs.share_of(items)
    found = sum(isinstance(x, CurvatureSummary) and not x.at_end for x in items)
    seeds = len(run.task.seeds) if asked_wish().others(run) else 1
    return found / (len(run.setting.compared) * seeds)
