"""What is measured for the landing page, in bounded caches: each changes for reasons of its own.

What is cached here is frozen and shared by all visitors, so nothing may change it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from gating_core.attention import Classifier
from gating_core.experiments.comparison import (
    STRENGTHS,
    Setting,
    StrengthSweep,
    TrainedRun,
    drawn_data,
    frame_accuracies,
    refitted,
    sample,
    strengths_model,
)
from gating_core.geometry import Grid, concentration, measure_surface, square_grid
from ui.drawing.panels import View
from ui.landing.picture import Side, pair_view
from ui.limits import LANDING_KEPT
from ui.work.runtime import place

DRAWN_POINTS = 200
AT_NOTHING = STRENGTHS.index(0.0)


@dataclass(frozen=True, eq=False)
class MeasuredPair:
    """What stands on both sides; the right one at every strength."""

    left: Side
    right: Side


def measured_side(
    model: Classifier, run: TrainedRun, member: int, grid: Grid | None = None
) -> Side:
    """The versions of one member, sampled and measured, with the first of its training points."""
    grid = grid or square_grid()
    first = np.arange(min(DRAWN_POINTS, run.task.train_points.shape[1]))
    data = drawn_data(run, member, grid, train=first, test=first[:0])
    surface = measure_surface(model.attention, grid)
    return Side(
        seed=run.setting.seeds[member],
        frames=sample(model, grid, data.points),
        surface=surface,
        concentration=concentration(surface),
        data=data,
        test_accuracy=frame_accuracies(model, run, member),
        value_vectors=model.attention.blocks[-1].slot_values()[0].numpy(),
    )


@st.cache_resource(max_entries=LANDING_KEPT, show_spinner="Measuring curvature …")
def measured_pair(
    setting: Setting, left: str, _run: TrainedRun, _sweep: StrengthSweep
) -> MeasuredPair:
    """The gated member at all strengths; beside it, the same or one trained without a gate."""
    with place():
        dialled = _sweep.model(_run)
        right = measured_side(dialled, _run, _sweep.member)
        if left == "same":
            model, member = _at_nothing(dialled), _sweep.member
        else:
            ensemble = _run.variants[setting.compared[0]].ensemble
            member = ensemble.best
            model = strengths_model(ensemble, member)
            model = refitted(model, _run.task.train_points[member], _run.task.train_labels[member])
        return MeasuredPair(measured_side(model, _run, member), right)


def _at_nothing(dialled: Classifier) -> Classifier:
    """The version with the gate taken out, alone."""
    model = Classifier(dialled.attention.member(AT_NOTHING), dialled.bias.shape[-1])
    model.requires_grad_(False)
    for own, all_versions in ((model.weight, dialled.weight), (model.bias, dialled.bias)):
        own.data = all_versions.data[AT_NOTHING : AT_NOTHING + 1]
    return model


@st.cache_resource(max_entries=LANDING_KEPT, show_spinner=False)
def view_of(setting: Setting, left: str, colouring: str, _measured: MeasuredPair) -> View:
    """The linked view of a measured pair."""
    return pair_view(_measured.left, _measured.right, colouring)
