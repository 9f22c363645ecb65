"""How does curvature add up with depth?"""

from gating_core.experiments.depth.arrangements import ARRANGEMENTS, Arrangement
from gating_core.experiments.depth.exponents import (
    GROWS,
    SATURATES,
    SHRINKS,
    STEADY,
    UNDECIDED,
    WORDS,
    ZERO,
    Course,
    Exponent,
)
from gating_core.experiments.depth.measured import (
    QUARTILES,
    SMALL,
    Curve,
    DepthResult,
    measure_regime,
    measure_regimes,
    replay,
)
from gating_core.experiments.depth.quantities import QUANTITIES, Quantity
from gating_core.experiments.depth.regimes import REGIMES, Regime
from gating_core.experiments.depth.request import DepthRequest, StackRequest, TrainedRequest
from gating_core.experiments.depth.sheets import MOST_CURVATURE, cap_curvature
from gating_core.experiments.depth.shipped import load_depths, load_shipped, save_depths
from gating_core.experiments.depth.trained import (
    VARIANTS,
    TrainedDepths,
    measure_through,
    replay_trained,
    train_depths,
)

__all__ = [
    "ARRANGEMENTS",
    "GROWS",
    "MOST_CURVATURE",
    "QUANTITIES",
    "QUARTILES",
    "REGIMES",
    "SATURATES",
    "SHRINKS",
    "SMALL",
    "STEADY",
    "UNDECIDED",
    "VARIANTS",
    "WORDS",
    "ZERO",
    "Arrangement",
    "Course",
    "Curve",
    "DepthRequest",
    "DepthResult",
    "Exponent",
    "Quantity",
    "Regime",
    "StackRequest",
    "TrainedDepths",
    "TrainedRequest",
    "cap_curvature",
    "load_depths",
    "load_shipped",
    "measure_regime",
    "measure_regimes",
    "measure_through",
    "replay",
    "replay_trained",
    "save_depths",
    "train_depths",
]
