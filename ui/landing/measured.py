"""What the landing page shows: cached for all visitors, or made in a job.

Cached objects are shared by all visitors; nothing may change them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import streamlit as st

from gating_core.experiments.comparison import (
    FIRST_SETTING,
    PRESETS,
    STRENGTHS,
    Setting,
    StrengthSweep,
    TrainedRun,
    shows_surface,
    sweep_strengths,
)
from gating_core.training import MeanInterval, TrainedEnsemble, mean_interval
from ui.common.view_links import nearest_frame
from ui.drawing.panels import View
from ui.landing.controls import LANDING, landing_setting
from ui.landing.pair import MeasuredModel, MeasuredPair, measure_pair
from ui.landing.picture import pair_view
from ui.landing.words import readings
from ui.limits import LANDING_LAYERS
from ui.work import jobs, pool, runs
from ui.work.cache import cached
from ui.work.shared import shared_stream

JOB, LAST_SHOWN = "landing", "landing_last_shown"
MODEL_NAMES = ("Without gate", "With gate")


@dataclass(frozen=True)
class LandingRequest:
    """What the visitor's controls say."""

    setting: Setting
    left: str  # a value of `LEFT_MODELS`
    colouring: str


@dataclass(frozen=True, eq=False)
class LandingResult:
    """What the page shows: the run of ``request``, or the last one that was there."""

    request: LandingRequest
    run: TrainedRun
    sweep: StrengthSweep
    pair: MeasuredPair
    frame: int  # of the model on the right

    @property
    def models(self) -> list[tuple[str, MeasuredModel, int]]:
        """Name, measured model and shown frame of both."""
        models = self.pair.left, self.pair.right
        return list(zip(MODEL_NAMES, models, (0, self.frame), strict=True))

    @property
    def ensembles(self) -> dict[str, TrainedEnsemble]:
        """All seeds as they were trained, without a gate and with one."""
        variants = self.run.variants.values()
        return dict(zip(MODEL_NAMES, (x.ensemble for x in variants), strict=True))

    @property
    def accuracies(self) -> tuple[MeanInterval, MeanInterval, MeanInterval]:
        """Mean accuracy on new points without a gate, with one, and of the paired difference."""
        left, right = (ensemble.test_accuracy[-1] for ensemble in self.ensembles.values())
        return mean_interval(left), mean_interval(right), mean_interval(right - left)

    @property
    def view(self) -> View:
        return _view(self.run.setting, self.request.left, self.request.colouring, self.pair)

    @property
    def readings(self) -> list[str]:
        """The paragraph below the pictures at every strength."""
        return _readings(self.run.setting, self.request.left, self.pair)


@cached("Measuring curvature …")
def _pair(setting: Setting, left: str, _run: TrainedRun, _sweep: StrengthSweep) -> MeasuredPair:
    shipped = next((name for name, preset in PRESETS.items() if preset == setting), None)
    if shipped is not None and left == "same":  # takes no worker
        return measure_pair(left, _run, _sweep, shipped)
    return pool.POOL.call(measure_pair, left, _run, _sweep, shipped)


@cached()
def _view(setting: Setting, left: str, colouring: str, _pair: MeasuredPair) -> View:
    return pair_view(_pair, colouring)


@cached()
def _readings(setting: Setting, left: str, _pair: MeasuredPair) -> list[str]:
    return readings(_pair, left)


def fetch(request: LandingRequest) -> LandingResult:
    """Return what there is for ``request``, or else what was shown last; draw how work goes."""
    runs.leave(JOB, request.setting)
    shown = _swept(request.setting) or st.session_state.get(LAST_SHOWN)
    shown = shown or runs.cached_run(FIRST_SETTING)
    assert shown is not None  # the first look is shipped
    assert shown.sweep is not None
    st.session_state[LAST_SHOWN] = shown
    pair = _pair(shown.run.setting, request.left, shown.run, shown.sweep)
    frame = nearest_frame(LANDING["strength"], STRENGTHS)
    return LandingResult(request, shown.run, shown.sweep, pair, frame)


def _swept(setting: Setting) -> runs.Shown | None:
    """The run of ``setting`` with its sweep, which may lack totals; draw how work goes."""
    shown = runs.cached_run(setting)
    if shown is None or _lacks_totals(shown):
        with jobs.dock(JOB, setting):
            job = runs.fetch(JOB, setting, _sweep, _lacks_totals)
            jobs.draw_end(job, _what(job.items), job.items)
        jobs.watch(job, lambda items: None, what=_what, share=_share)
        shown = runs.shown_of(JOB, job)
    if shown is None or shown.run.setting != setting or not shown.run.ended:
        return None
    if shown.run.divergence is not None:
        text = shown.run.divergence.text
        st.error(f"{text}. Shown instead: the last experiment that worked.")
        return None
    return shown if shown.sweep is not None else None


def _sweep(shown: runs.Shown) -> Iterator[Any]:
    return shared_stream(sweep_strengths, shown.run)


def _lacks_totals(shown: runs.Shown) -> bool:
    return shown.sweep is None or not shown.sweep.measured.all()


def _what(items: list[Any]) -> str:
    swept = any(isinstance(item, StrengthSweep) for item in items)
    return "Measuring curvature" if swept else "Training"


def _share(items: list[Any]) -> float:
    sweep = next((item for item in reversed(items) if isinstance(item, StrengthSweep)), None)
    return jobs.share_of(items) if sweep is None else float(sweep.measured.mean())


def nearest_with_surface(setting: Setting) -> int | None:
    """Return the depth nearest to that of ``setting`` whose cached run has a surface to see."""
    for depth in sorted(LANDING_LAYERS, key=lambda depth: (abs(depth - setting.depth), depth)):
        shown = runs.cached_run(landing_setting(setting, depth))
        if shown and shown.sweep and shows_surface(shown.run, shown.sweep.member):
            return depth
    return None
