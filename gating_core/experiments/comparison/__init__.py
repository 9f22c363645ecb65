"""What happens when several kinds of attention learn the same task?"""

from gating_core.experiments.comparison.along import (
    CurvatureSummary,
    along_cost,
    final_curvature,
    unmeasured,
)
from gating_core.experiments.comparison.clearest import shows_surface
from gating_core.experiments.comparison.filled import filled_shares
from gating_core.experiments.comparison.frames import (
    DRAWN_POINTS,
    FILM_GRID,
    SHOWN,
    ClassifierFrames,
    DrawnData,
    cut_of,
    drawn_data,
    drawn_frames,
    film_data,
    film_frames,
    frame_accuracies,
    inside,
    sample,
    shown_member,
    strengths_model,
    typical_member,
)
from gating_core.experiments.comparison.measured import Curvatures
from gating_core.experiments.comparison.presets import (
    COMPARISONS,
    PRESETS,
    load_measured,
    load_preset,
    load_surface,
    load_sweep,
)
from gating_core.experiments.comparison.refit import refitted
from gating_core.experiments.comparison.run import (
    Divergence,
    TrainedRun,
    train_further,
    train_setting,
)
from gating_core.experiments.comparison.setting import (
    FIRST_COMPARISON,
    FIRST_LOOK,
    LIMITS,
    Setting,
    TooLarge,
    first_look,
)
from gating_core.experiments.comparison.sweep import STRENGTHS, StrengthSweep, sweep_strengths
from gating_core.experiments.comparison.variants import MATCHED, TOKENS_ONLY, VARIANTS

__all__ = [
    "COMPARISONS",
    "DRAWN_POINTS",
    "FILM_GRID",
    "FIRST_COMPARISON",
    "FIRST_LOOK",
    "LIMITS",
    "MATCHED",
    "PRESETS",
    "SHOWN",
    "STRENGTHS",
    "TOKENS_ONLY",
    "VARIANTS",
    "ClassifierFrames",
    "CurvatureSummary",
    "Curvatures",
    "Divergence",
    "DrawnData",
    "Setting",
    "StrengthSweep",
    "TooLarge",
    "TrainedRun",
    "along_cost",
    "cut_of",
    "drawn_data",
    "drawn_frames",
    "filled_shares",
    "film_data",
    "film_frames",
    "final_curvature",
    "first_look",
    "frame_accuracies",
    "inside",
    "load_measured",
    "load_preset",
    "load_surface",
    "load_sweep",
    "refitted",
    "sample",
    "shown_member",
    "shows_surface",
    "strengths_model",
    "sweep_strengths",
    "train_further",
    "train_setting",
    "typical_member",
    "unmeasured",
]
