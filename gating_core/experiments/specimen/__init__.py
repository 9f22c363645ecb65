"""What is there to see of one model, looked at closely?"""

from gating_core.experiments.specimen.handles import (
    draggable_gates,
    draggable_values,
    gate_arrows,
    link_digits,
    moved_gate,
    own_values,
)
from gating_core.experiments.specimen.measured import (
    MeasuredSpecimen,
    integrate_specimen,
    integrate_steps,
    measure_specimen,
)
from gating_core.experiments.specimen.model import CHARTS, Specimen, build_specimen, chart_of
from gating_core.experiments.specimen.quantities import COLOURINGS, Colouring

__all__ = [
    "CHARTS",
    "COLOURINGS",
    "Colouring",
    "MeasuredSpecimen",
    "Specimen",
    "build_specimen",
    "chart_of",
    "draggable_gates",
    "draggable_values",
    "gate_arrows",
    "integrate_specimen",
    "integrate_steps",
    "link_digits",
    "measure_specimen",
    "moved_gate",
    "own_values",
]
