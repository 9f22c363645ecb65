"""A gated model at every strength beside one without a gate, sampled and measured.

Shapes: T frames, which are strengths of a gate; D model dimension.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gating_core.attention.stack import Classifier
from gating_core.experiments.comparison.frames import (
    ClassifierFrames,
    DrawnData,
    drawn_data,
    frame_accuracies,
    sample,
    strengths_model,
)
from gating_core.experiments.comparison.presets import load_surface
from gating_core.experiments.comparison.run import TrainedRun
from gating_core.experiments.comparison.sweep import (
    STRENGTHS,
    StrengthSweep,
    refitted,
    shows_surface,
)
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.surface import SurfaceResult, concentration, measure_surface

PAIR_POINTS = 200  # training points that are drawn
NO_GATE = STRENGTHS.index(0.0)


@dataclass(frozen=True, eq=False)
class MeasuredModel:
    """One model of a pair; ``concentration`` is the share of ∫|K| dA on the most curved part."""

    seed: int
    frames: ClassifierFrames
    surface: SurfaceResult
    concentration: np.ndarray  # (T,)
    data: DrawnData
    test_accuracy: np.ndarray  # (T,)
    value_vectors: np.ndarray  # (3, D): the last layer's

    def frame(self, index: int) -> MeasuredModel:
        """Return the model at one strength alone."""
        frames = self.frames.frame(index)
        if frames.averaged is None and self.surface.proof[index]:  # outputs are averages of values
            frames = replace(frames, averaged=self.value_vectors[None])
        return replace(
            self,
            frames=frames,
            surface=self.surface.frame(index),
            concentration=self.concentration[index : index + 1],
            test_accuracy=self.test_accuracy[index : index + 1],
        )


@dataclass(frozen=True, eq=False)
class MeasuredPair:
    """A model without a gate, a gated one at every strength, and whether its surface is visible."""

    left: MeasuredModel
    right: MeasuredModel
    seen: bool


def measure_model(
    model: Classifier,
    run: TrainedRun,
    member: int,
    grid: Grid | None = None,
    bundled: str | None = None,
) -> MeasuredModel:
    """Sample and measure all frames of one member, with the first of its training points.

    The curvature of a ``bundled`` run, one of `PRESETS`, is loaded and not measured.
    """
    grid = grid or square_grid()
    first = np.arange(min(PAIR_POINTS, run.task.train_points.shape[1]))
    data = drawn_data(run, member, grid, train=first, test=first[:0])
    frames = sample(model, grid, data.points)
    surface = (
        measure_surface(model.attention, grid)
        if bundled is None
        else load_surface(bundled, frames.values, grid)
    )
    return MeasuredModel(
        seed=run.setting.seeds[member],
        frames=frames,
        surface=surface,
        concentration=concentration(surface),
        data=data,
        test_accuracy=frame_accuracies(model, run, member),
        value_vectors=model.attention.blocks[-1].slot_values()[0].numpy(),
    )


def measure_pair(
    left: str, run: TrainedRun, sweep: StrengthSweep, bundled: str | None = None
) -> MeasuredPair:
    """Measure the gated member of a ``sweep`` at all strengths, and the model beside it.

    Args:
        left: "same" for the same member with its gate ablated, "own" for the best member that was
            trained without a gate, with its classifier refitted.
        run: The training of both.
        sweep: The gated member, with a classifier refitted at every strength.
        bundled: The name of the run among `PRESETS`, see `measure_model`.
    """
    right = measure_model(sweep.model(run), run, sweep.member, bundled=bundled)
    if left == "same":
        beside = right.frame(NO_GATE)
    else:
        ensemble = run.variants[run.setting.compared[0]].ensemble
        member, task = ensemble.best, run.task
        model = refitted(
            strengths_model(ensemble, member), task.train_points[member], task.train_labels[member]
        )
        beside = measure_model(model, run, member)
    return MeasuredPair(beside, right, shows_surface(run, sweep.member))
