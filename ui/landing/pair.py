"""The two models of the landing page, sampled and measured.

Shapes: T frames, which are strengths of a gate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import gating_core.experiments.comparison as comparison
from gating_core.attention import Classifier
from gating_core.experiments.comparison import TrainedRun
from gating_core.geometry import Grid, SurfaceResult, concentration, measure_surface, square_grid

DRAWN_POINTS = 200
NO_GATE = comparison.STRENGTHS.index(0.0)


@dataclass(frozen=True, eq=False)
class MeasuredModel:
    """One model of the pair."""

    seed: int
    frames: comparison.ClassifierFrames
    surface: SurfaceResult
    concentration: np.ndarray  # (T,): the share of |K| on the most curved part
    data: comparison.DrawnData
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
    """The models on the left and on the right, and whether the gated one has a surface to see."""

    left: MeasuredModel
    right: MeasuredModel  # at every strength
    seen: bool


def measure_model(
    model: Classifier,
    run: TrainedRun,
    member: int,
    grid: Grid | None = None,
    shipped: str | None = None,
) -> MeasuredModel:
    """Sample and measure all frames of one member, with the first of its training points.

    The curvature of a ``shipped`` run, one of `PRESETS`, is loaded and not measured.
    """
    grid = grid or square_grid()
    first = np.arange(min(DRAWN_POINTS, run.task.train_points.shape[1]))
    data = comparison.drawn_data(run, member, grid, train=first, test=first[:0])
    frames = comparison.sample(model, grid, data.points)
    surface = (
        measure_surface(model.attention, grid)
        if shipped is None
        else comparison.load_surface(shipped, frames.values, grid)
    )
    return MeasuredModel(
        seed=run.setting.seeds[member],
        frames=frames,
        surface=surface,
        concentration=concentration(surface),
        data=data,
        test_accuracy=comparison.frame_accuracies(model, run, member),
        value_vectors=model.attention.blocks[-1].slot_values()[0].numpy(),
    )


def measure_pair(
    left: str, run: TrainedRun, sweep: comparison.StrengthSweep, shipped: str | None = None
) -> MeasuredPair:
    """Measure the gated member at all strengths, and the model beside it.

    ``left`` is "same", the member with its gate taken out, or "own", the best member that was
    trained without one. ``shipped``: see `measure_model`.
    """
    right = measure_model(sweep.model(run), run, sweep.member, shipped=shipped)
    if left == "same":
        beside = right.frame(NO_GATE)
    else:
        ensemble = run.variants[run.setting.compared[0]].ensemble
        member = ensemble.best
        model = comparison.strengths_model(ensemble, member)
        model = comparison.refitted(
            model, run.task.train_points[member], run.task.train_labels[member]
        )
        beside = measure_model(model, run, member)
    return MeasuredPair(beside, right, comparison.shows_surface(run, sweep.member))
