"""What is measured for the landing page, in bounded caches: each changes for reasons of its own.

What is cached here is frozen and shared by all visitors, so nothing may change it.
"""

from __future__ import annotations

from gating_core.experiments.comparison import (
    MEASURED_PRESETS,
    PRESETS,
    Setting,
    StrengthSweep,
    TrainedRun,
    shows_surface,
)
from ui.drawing.panels import View
from ui.landing.controls import landing_setting
from ui.landing.pair import MeasuredPair, measure_pair
from ui.landing.picture import maps_alone, pair_view
from ui.landing.words import map_readings, readings
from ui.limits import LANDING_LAYERS
from ui.work import pool, runs
from ui.work.cache import cached


@cached("Measuring curvature …")
def measured_pair(
    setting: Setting, left: str, _run: TrainedRun, _sweep: StrengthSweep
) -> MeasuredPair:
    """Measure a pair, as `measure_pair` does; what is shipped takes no worker."""
    name = next((name for name in MEASURED_PRESETS if PRESETS[name] == setting), None)
    if name is not None and left == "same":
        return measure_pair(left, _run, _sweep, shipped=name)
    return pool.POOL.call(measure_pair, left, _run, _sweep)


@cached()
def view_of(setting: Setting, left: str, colouring: str, _measured: MeasuredPair) -> View:
    """The linked view of a measured pair; its maps alone where there is no surface to be seen."""
    if not _measured.seen:
        return maps_alone(pair_view(_measured.left, _measured.right))
    return pair_view(_measured.left, _measured.right, colouring)


@cached()
def readings_of(setting: Setting, left: str, _measured: MeasuredPair) -> list[str]:
    """What is said below a measured pair, at every strength."""
    if not _measured.seen:
        return map_readings(_measured.left, _measured.right, left)
    return readings(_measured.left, _measured.right, left)


def nearest_with_surface(setting: Setting) -> int | None:
    """The depth nearest to that of ``setting`` whose run is known to show a surface, if any."""
    for depth in sorted(LANDING_LAYERS, key=lambda depth: (abs(depth - setting.depth), depth)):
        found = runs.cached_run(landing_setting(setting, depth))
        if found and found.sweep and shows_surface(found.run, found.sweep.member):
            return depth
    return None
