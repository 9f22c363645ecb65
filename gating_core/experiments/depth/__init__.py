"""How does curvature add up with depth?"""

from gating_core.experiments.depth.curves import (
    QUARTILES,
    STRUCTURED_LIMIT,
    Curve,
    DepthResult,
    measure_regime,
    measure_regimes,
    replay,
)
from gating_core.experiments.depth.exponents import (
    COURSES,
    GROWS,
    SATURATES,
    SHRINKS,
    STEADY,
    UNDECIDED,
    ZERO,
    Course,
    Exponent,
)
from gating_core.experiments.depth.quantities import QUANTITIES, Quantity
from gating_core.experiments.depth.regimes import MOST_CURVATURE, REGIMES, Regime, cap_curvature
from gating_core.experiments.depth.request import (
    ARRANGEMENTS,
    Arrangement,
    DepthRequest,
    StackRequest,
    TrainedRequest,
)
from gating_core.experiments.depth.trained import (
    DEPTH_VARIANTS,
    TrainedDepths,
    load_depths,
    load_shipped,
    measure_through,
    replay_trained,
    save_depths,
    train_depths,
)

__all__ = [
    "ARRANGEMENTS",
    "COURSES",
    "DEPTH_VARIANTS",
    "GROWS",
    "MOST_CURVATURE",
    "QUANTITIES",
    "QUARTILES",
    "REGIMES",
    "SATURATES",
    "SHRINKS",
    "STEADY",
    "STRUCTURED_LIMIT",
    "UNDECIDED",
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
