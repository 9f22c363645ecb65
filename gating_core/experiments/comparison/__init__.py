"""What happens when several kinds of attention learn the same task?"""

from gating_core.experiments.comparison.along import CurvatureAlong, FinalCurvature, measure_run
from gating_core.experiments.comparison.frames import (
    DRAWN_POINTS,
    FILM_GRID,
    SHOWN,
    CutSurface,
    FilmData,
    FilmSide,
    cut_of,
    cut_surface,
    drawn_frames,
    film_data,
    film_side,
    inside,
    shown_member,
)
from gating_core.experiments.comparison.pair import (
    DEPTH_RANGE,
    GATES,
    SEED_RANGE,
    TASK_NAMES,
    Comparison,
    TrainedPair,
    train_pair,
)
from gating_core.experiments.comparison.presets import PRESETS, load_preset
from gating_core.experiments.comparison.run import TrainedRun, go_on, start
from gating_core.experiments.comparison.setting import Setting
from gating_core.experiments.comparison.variants import TOKENS_ONLY, VARIANTS

__all__ = [
    "DEPTH_RANGE",
    "DRAWN_POINTS",
    "FILM_GRID",
    "GATES",
    "PRESETS",
    "SEED_RANGE",
    "SHOWN",
    "TASK_NAMES",
    "TOKENS_ONLY",
    "VARIANTS",
    "Comparison",
    "CurvatureAlong",
    "CutSurface",
    "FilmData",
    "FilmSide",
    "FinalCurvature",
    "Setting",
    "TrainedPair",
    "TrainedRun",
    "cut_of",
    "cut_surface",
    "drawn_frames",
    "film_data",
    "film_side",
    "go_on",
    "inside",
    "load_preset",
    "measure_run",
    "shown_member",
    "start",
    "train_pair",
]
