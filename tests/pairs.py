"""A small pair of models as the landing page shows it, trained for a moment."""

from dataclasses import replace
from functools import cache

from gating_core.experiments.comparison.frames import strengths_model
from gating_core.experiments.comparison.run import TrainedRun, train_setting
from gating_core.experiments.comparison.setting import FIRST_SETTING
from gating_core.geometry.grid import square_grid
from ui.landing.picture import MeasuredModel, measure_model


@cache
def small_pair() -> tuple[TrainedRun, MeasuredModel, MeasuredModel]:
    """The run, its best gated member without the gate, and the same at λ = 0, 0.5 and 1."""
    *_, run = train_setting(replace(FIRST_SETTING, task="xor", steps=60, seed_count=3))
    grid = square_grid(21)
    gated = run.variants["sigmoid"].ensemble
    models = (strengths_model(gated, gated.best, x) for x in ([0.0], [0.0, 0.5, 1.0]))
    left, right = (measure_model(model, run, gated.best, grid) for model in models)
    return run, left, right
