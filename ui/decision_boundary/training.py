"""The run of the Decision boundary page: what is measured of it, and in which order.

What is shown of a run may change while it is measured: the shown seed is measured first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import streamlit as st

import gating_core.experiments.comparison as comparison
from gating_core.experiments.comparison import Setting, TrainedRun
from ui.decision_boundary.names import page_text
from ui.decision_boundary.request import TYPICAL, WHO
from ui.limits import OTHERS_COST
from ui.work import jobs, runs
from ui.work.job import State
from ui.work.pool import Rank
from ui.work.runs import Shown
from ui.work.shared import shared_stream

JOB, MEASUREMENT, COMPLETE = "boundary", "boundary_measurement", "boundary_complete"
STOPPED = "boundary_stopped"  # a setting, and the frame that its visitor has stopped at


@dataclass
class MeasurementRequest:
    """The seed that is measured first: ``which`` of `WHO`, or the ``picked`` one.

    There is one for a session, and its job reads it as well. Curvature of the other seeds along the
    run is measured where that takes few seconds, and for the setting ``all_of``.
    """

    which: str = TYPICAL
    picked: str = ""
    all_of: Setting | None = None

    def member(self, run: TrainedRun) -> int:
        """Return the index of the shown seed, which is the same for both variants."""
        chosen = self.chosen(run)
        if chosen == "picked":
            return run.task.seeds.index(int(self.picked))
        if (whose := WHO[chosen]) is None:
            return comparison.typical_member(run)
        side, which = whose
        name = run.setting.compared[("left", "right").index(side)]
        return comparison.shown_member(run.variants[name].ensemble, which)

    def chosen(self, run: TrainedRun) -> str:
        """Return by which of `WHO` it is shown; "picked" for a seed of the run that was picked."""
        if self.which == "picked" and self.picked in map(str, run.task.seeds):
            return "picked"
        return self.which if self.which in WHO else TYPICAL

    def others(self, run: TrainedRun) -> bool:
        """Whether seeds that are not shown are measured, too."""
        count = len(run.task.seeds) - 1
        return self.all_of == run.setting or count * comparison.along_cost(run) <= OTHERS_COST

    def lacks(self, shown: Shown) -> bool:
        """Whether there is something left to measure."""
        return bool(shown.run.frames) and self._next(shown, set(), set()) is not None

    def measure(self, shown: Shown) -> Iterator[Any]:
        """Measure the curvatures that are missing, those of the shown seed first.

        Only its curvature along the run ranks first: the rest waits for others' trainings, and for
        their first pictures.
        """
        along: set[tuple[str, int]] = set()
        final: set[tuple[str, int]] = set()
        while (work := self._next(shown, along, final)) is not None:
            function, name, member = work
            at_end = function is comparison.final_curvature
            (final if at_end else along).add((name, member))
            first = not at_end and member == self.member(shown.run)
            rank = Rank.FIRST if first else Rank.REST
            yield from shared_stream(function, shown.run, name, member, rank=rank)

    def _next(
        self, shown: Shown, along: set[tuple[str, int]], final: set[tuple[str, int]]
    ) -> tuple[Callable[..., Any], str, int] | None:
        """Return what is measured next, besides what is ``shown``, ``along`` and ``final``.

        Of seeds that are not shown, totals are enough.
        """
        run, seed = shown.run, self.member(shown.run)
        enough = along | {key for key in shown.along if key[1] != seed or has_field(shown, key)}
        settled = final | set(shown.final)
        work = next(
            comparison.pending_measurements(run, run.setting.compared, seed, enough, settled), None
        )
        return work if work is not None and (work[2] == seed or self.others(run)) else None


def has_field(shown: Shown, key: tuple[str, int]) -> bool:
    """Whether K along the run of a variant and member is there, not its total alone."""
    summary = shown.along.get(key)
    return summary is not None and summary.known is not None


def read_measurement(which: str | None = None) -> MeasurementRequest:
    """Return this session's request, brought up to date with the controls if ``which`` is given."""
    request = st.session_state.setdefault(MEASUREMENT, MeasurementRequest())
    if which is not None:
        request.which = which
        request.picked = st.query_params.get("picked_seed", "")
    return request


def stopped_frame(run: TrainedRun) -> int:
    """Return the drawn frame that the visitor has stopped at, or else the last one."""
    last = len(comparison.drawn_frames(run)) - 1
    about, frame = st.session_state.get(STOPPED, (None, last))
    return min(frame, last) if about == run.setting else last


def draw_others(job: jobs.Job, measurement: MeasurementRequest) -> None:
    """Offer to measure the other seeds, where that takes long."""
    shown = shown_of(job)
    if job.state is not State.DONE or shown is None:
        return
    seeds = range(len(shown.run.task.seeds))
    if all((name, i) in shown.along for name in shown.run.setting.compared for i in seeds):
        return
    count = len(seeds) - 1
    st.button(
        f"Measure the other {count} seeds" if count > 1 else "Measure the other seed",
        icon=":material/stacked_line_chart:", key="measure_others",
        on_click=lambda: setattr(measurement, "all_of", shown.run.setting),
        help=page_text("others_help"),
    )  # fmt: skip


def fetch(setting: Setting, measurement: MeasurementRequest) -> jobs.Job:
    """Return the job that runs ``setting``: the current one, or one that is started now."""
    return runs.fetch(JOB, setting, measurement.measure, measurement.lacks)


def shown_of(job: jobs.Job) -> Shown | None:
    """Return the newest run of a job, with its curvatures; else the last one there was."""
    return runs.shown_of(JOB, job)


def numbers_of(job: jobs.Job) -> Shown | None:
    """Return the run for the table: a complete one, or what is left of one; else the last."""
    if job.over or runs.trained(job.items):
        shown = shown_of(job)
        if shown is not None and shown.run.frames:
            st.session_state[COMPLETE] = shown
    return st.session_state.get(COMPLETE)


def what(items: list[Any]) -> str:
    """Return what a job is doing."""
    return "Measuring curvature" if runs.trained(items) else "Training"


def share_of(items: list[Any]) -> float:
    """Return how much of it is done."""
    run = runs.newest_run(items)
    if run is None or not run.ended:
        return jobs.share_of(items)
    measured = sum(isinstance(x, comparison.CurvatureSummary) and not x.at_end for x in items)
    seeds = len(run.task.seeds) if read_measurement().others(run) else 1
    return measured / (len(run.setting.compared) * seeds)
