"""What is measured for the landing page, in bounded caches: each changes for reasons of its own.

What is cached here is frozen and shared by all visitors, so nothing may change it.
"""

from __future__ import annotations

from gating_core.experiments.comparison import Setting, StrengthSweep, TrainedRun
from ui.drawing.panels import View
from ui.landing.pair import MeasuredPair, measure_pair
from ui.landing.picture import pair_view
from ui.landing.words import readings
from ui.work import pool
from ui.work.shelf import shelved


@shelved("Measuring curvature …")
def measured_pair(
    setting: Setting, left: str, _run: TrainedRun, _sweep: StrengthSweep
) -> MeasuredPair:
    """The gated member at all strengths; beside it, the same or one trained without a gate."""
    return pool.POOL.call(measure_pair, left, _run, _sweep)


@shelved()
def view_of(setting: Setting, left: str, colouring: str, _measured: MeasuredPair) -> View:
    """The linked view of a measured pair."""
    return pair_view(_measured.left, _measured.right, colouring)


@shelved()
def readings_of(setting: Setting, left: str, _measured: MeasuredPair) -> list[str]:
    """What is said below a measured pair, at every strength."""
    return readings(_measured.left, _measured.right, left)
