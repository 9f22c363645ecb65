"""What stands on the landing page's two sides, sampled and measured?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gating_core.attention import Classifier
from gating_core.experiments.comparison import (
    STRENGTHS,
    StrengthSweep,
    TrainedRun,
    drawn_data,
    frame_accuracies,
    load_surface,
    refitted,
    sample,
    shows_surface,
    strengths_model,
)
from gating_core.geometry import Grid, concentration, measure_surface, square_grid
from ui.landing.picture import Side

DRAWN_POINTS = 200
AT_NOTHING = STRENGTHS.index(0.0)


@dataclass(frozen=True, eq=False)
class MeasuredPair:
    """What stands on both sides; the right one at every strength.

    ``seen`` says whether the gated member has a surface to be seen.
    """

    left: Side
    right: Side
    seen: bool


def measured_side(
    model: Classifier,
    run: TrainedRun,
    member: int,
    grid: Grid | None = None,
    shipped: str | None = None,
) -> Side:
    """Sample and measure all versions of one member, with the first of its training points.

    The curvature of a ``shipped`` run, one of `MEASURED_PRESETS`, is read and not measured.
    """
    grid = grid or square_grid()
    first = np.arange(min(DRAWN_POINTS, run.task.train_points.shape[1]))
    data = drawn_data(run, member, grid, train=first, test=first[:0])
    frames = sample(model, grid, data.points)
    surface = (
        measure_surface(model.attention, grid)
        if shipped is None
        else load_surface(shipped, frames.values, grid)
    )
    return Side(
        seed=run.setting.seeds[member],
        frames=frames,
        surface=surface,
        concentration=concentration(surface),
        data=data,
        test_accuracy=frame_accuracies(model, run, member),
        value_vectors=model.attention.blocks[-1].slot_values()[0].numpy(),
    )


def measure_pair(
    left: str, run: TrainedRun, sweep: StrengthSweep, shipped: str | None = None
) -> MeasuredPair:
    """Measure the gated member at all strengths; beside it, itself or one trained without a gate.

    ``left`` is "same", the same with its gate taken out, or "own"; ``shipped`` as above.
    """
    right = measured_side(sweep.model(run), run, sweep.member, shipped=shipped)
    if left == "same":
        left_side = right.frame(AT_NOTHING)
    else:
        ensemble = run.variants[run.setting.compared[0]].ensemble
        member = ensemble.best
        model = strengths_model(ensemble, member)
        model = refitted(model, run.task.train_points[member], run.task.train_labels[member])
        left_side = measured_side(model, run, member)
    return MeasuredPair(left_side, right, shows_surface(run, sweep.member))
