"""The seed shown of a run, and what is measured of it and of the others, in which order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

import gating_core.experiments.comparison as comparison
from gating_core.experiments.comparison import LIMITS, Setting, TrainedRun
from ui import limits
from ui.common.links import link_value
from ui.decision_boundary.model import PICKED, TYPICAL, WHO
from ui.limits import OTHERS_COST
from ui.work import pool
from ui.work.pool import Rank
from ui.work.runs import Shown

MEASUREMENT = "boundary_measurement"
STOPPED = "boundary_stopped"  # a setting, and the step at which its visitor has stopped
AT_ONCE = 4  # curvatures that a worker measures before it is the turn of another visitor
LEAST_SEED, LAST_SEED = LIMITS["seed"][0], LIMITS["seed"][1] + limits.BOUNDARY_SEEDS[1]


@dataclass
class MeasurementRequest:
    """The seed that is measured first: ``which`` of `WHO`, or the ``picked`` one.

    There is one for a session, and its job reads it as well. Curvature of the other seeds along the
    run is measured where that takes few seconds, and for the setting ``all_of``.
    """

    which: str = TYPICAL
    picked: int | None = None
    all_of: Setting | None = None
    _growing: tuple[object, int] = (None, 0)

    def chosen(self, run: TrainedRun) -> str:
        """Return by which of `WHO` a seed is shown, or `PICKED` for a seed of the run that was."""
        is_there = self.which != PICKED or self.picked in run.task.seeds
        return self.which if is_there else TYPICAL

    def member(self, run: TrainedRun) -> int:
        """Return the index of the seed shown, which is the same for both variants."""
        chosen = self.chosen(run)
        if chosen == PICKED:
            return run.task.seeds.index(self.picked)
        if (whose := WHO[chosen]) is None:
            return comparison.typical_member(run)
        name = run.setting.compared[("left", "right").index(whose[0])]
        return comparison.shown_member(run.variants[name].ensemble, whose[1])

    def growing_member(self, run: TrainedRun) -> int:
        """Return the seed shown while a run trains: the first that was, so its film goes on."""
        about = run.setting, self.which, self.picked
        if self._growing[0] != about:
            self._growing = about, self.member(run)
        return self._growing[1]

    def others(self, run: TrainedRun) -> bool:
        """Return whether seeds that are not shown are measured, too."""
        count = len(run.task.seeds) - 1
        return self.all_of == run.setting or count * comparison.along_cost(run) <= OTHERS_COST

    def lacks(self, shown: Shown) -> bool:
        """Return whether there is something left to measure."""
        return bool(shown.run.frames and self._pending(shown))

    def measure(self, shown: Shown) -> Iterator[Any]:
        """Measure the curvatures that are missing, those of the seed shown first.

        Only its curvature along the run ranks first, while nobody waits for a worker: the rest
        waits for others' trainings, and for their first pictures. A worker is sent the run once for
        several.
        """
        done: set[Any] = set()
        while pending := self._pending(shown, done):
            seed = self.member(shown.run)
            first = [x for x in pending if x[0] is not comparison.final_curvature and x[2] == seed]
            works = first or pending[:AT_ONCE]
            rank = Rank.FIRST if first and not pool.POOL.crowded else Rank.REST
            items = pool.POOL.stream(comparison.measure_each, shown.run, tuple(works), rank=rank)
            with closing(items):
                for item in items:
                    yield item
                    if isinstance(item, comparison.CurvatureSummary):
                        done.add((item.at_end, item.variant, item.member))
                    if self.member(shown.run) != seed:
                        break

    def _pending(
        self, shown: Shown, done: Collection[Any] = ()
    ) -> list[tuple[Callable[..., Any], str, int]]:
        """List what is to be measured; of seeds that are not shown, totals are enough."""
        run, seed = shown.run, self.member(shown.run)
        enough = {key for key, x in shown.along.items() if key[1] != seed or x.known is not None}
        pending = comparison.pending_measurements(
            run, run.setting.compared, seed, enough, shown.final
        )
        return [
            (function, name, member)
            for function, name, member in pending
            if (function is comparison.final_curvature, name, member) not in done
            and (member == seed or self.others(run))
        ]


def read_measurement(which: str) -> MeasurementRequest:
    """Return this session's request, brought up to date with the controls and the link."""
    request = st.session_state.setdefault(MEASUREMENT, MeasurementRequest())
    request.which = which
    request.picked = link_value("picked_seed", _parse_seed, None, "the typical one")
    return request


def _parse_seed(word: str) -> int | None:
    seed = int(word) if word.isascii() and word.isdigit() and len(word) <= 5 else -1
    return seed if LEAST_SEED <= seed <= LAST_SEED else None


def stopped_frame(run: TrainedRun) -> int:
    """Return the drawn frame that the visitor has stopped at, or else the last one."""
    steps = run.steps[comparison.drawn_frames(run)]
    about, step = st.session_state.get(STOPPED, (None, 0))
    return int(np.abs(steps - step).argmin()) if about == run.setting else len(steps) - 1
