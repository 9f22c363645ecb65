"""The surface of one model instance, measured at each point of a grid."""

from gating_core.experiments.instance.measured import (
    COLOURINGS,
    Colouring,
    MeasuredInstance,
    instance_values,
    integrate_instance,
    measure_instance,
)
from gating_core.experiments.instance.model import (
    CHARTS,
    CHOSEN_SEEDS,
    NEAR_DEGENERATE,
    SEEDS,
    ModelInstance,
    build_instance,
    chart_of,
    chosen_config,
    draggable_values,
    elongation,
    link_digits,
    own_values,
)
from gating_core.experiments.instance.second_opinions import (
    SecondOpinions,
    bundled_second_opinions,
)

__all__ = [
    "CHARTS",
    "CHOSEN_SEEDS",
    "COLOURINGS",
    "NEAR_DEGENERATE",
    "SEEDS",
    "Colouring",
    "MeasuredInstance",
    "ModelInstance",
    "SecondOpinions",
    "build_instance",
    "bundled_second_opinions",
    "chart_of",
    "chosen_config",
    "draggable_values",
    "elongation",
    "instance_values",
    "integrate_instance",
    "link_digits",
    "measure_instance",
    "own_values",
]
