"""How does curvature add up with depth?"""

from gating_core.experiments.depth.curves import (
    QUARTILES,
    SMALL,
    Curve,
    DepthResult,
    measure_regime,
    measure_regimes,
    replay,
)
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
    VARIANTS,
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
