"""What is measured for the landing page, in bounded caches: each changes for reasons of its own.

What is cached here is frozen and shared by all visitors, so nothing may change it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from gating_core.experiments.comparison import (
    Setting,
    TrainedRun,
    drawn_data,
    frame_accuracies,
    sample,
    strengths_model,
)
from gating_core.geometry import (
    Grid,
    Integral,
    adaptive_total_absolute_curvature,
    measure_surface,
    square_grid,
)
from ui.drawing.panels import View
from ui.landing.picture import Side, pair_view
from ui.work.runtime import place

STRENGTH_STEPS = 20
STRENGTHS = tuple(round(i / STRENGTH_STEPS, 2) for i in range(STRENGTH_STEPS + 1))
MEASURED_KEPT = 24
DRAWN_POINTS = 200


@dataclass(frozen=True, eq=False)
class MeasuredPair:
    """Both shown members, measured; the gated one at every strength."""

    left: Side
    right: Side


def measured_side(
    run: TrainedRun, name: str, strengths: Sequence[float] | None = None, grid: Grid | None = None
) -> Side:
    """The best member of a variant, sampled and measured, with the first of its training points."""
    grid = grid or square_grid()
    ensemble = run.variants[name].ensemble
    member = ensemble.best
    model = strengths_model(ensemble, member, strengths)
    first = np.arange(min(DRAWN_POINTS, run.task.train_points.shape[1]))
    data = drawn_data(run, member, grid, train=first, test=first[:0])
    return Side(
        frames=sample(model, grid, data.points),
        surface=measure_surface(model.attention, grid),
        data=data,
        test_accuracy=frame_accuracies(model, run, member),
        value_vectors=model.attention.blocks[-1].values[0].numpy(),
    )


@st.cache_resource(max_entries=MEASURED_KEPT, show_spinner="Measuring curvature …")
def measured_pair(setting: Setting, _run: TrainedRun) -> MeasuredPair:
    """The best member of each side, measured on the default grid."""
    ungated, gated = setting.compared
    with place():
        return MeasuredPair(measured_side(_run, ungated), measured_side(_run, gated, STRENGTHS))


@st.cache_resource(max_entries=400, show_spinner="Adding up curvature …")
def total_curvature(setting: Setting, strength: float | None, _run: TrainedRun) -> Integral:
    """Total absolute curvature of the best member, adaptively; ``None`` is the ungated one."""
    ensemble = _run.variants[setting.compared[strength is not None]].ensemble
    strengths = None if strength is None else [strength]
    model = strengths_model(ensemble, ensemble.best, strengths)
    with place():
        return adaptive_total_absolute_curvature(model.attention, bound="rigorous")


@st.cache_resource(max_entries=MEASURED_KEPT, show_spinner=False)
def view_of(setting: Setting, colouring: str, _measured: MeasuredPair) -> View:
    """The linked view of a measured pair."""
    return pair_view(_measured.left, _measured.right, colouring)


def frame_of(strength: float) -> int:
    """The frame that shows a strength."""
    return int(np.argmin(np.abs(np.array(STRENGTHS) - strength)))
