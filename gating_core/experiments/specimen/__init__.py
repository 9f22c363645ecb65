"""What is the surface of one model, at each of its points?"""

from gating_core.experiments.specimen.measured import (
    COLOURINGS,
    Colouring,
    MeasuredSpecimen,
    integrate_specimen,
    integrate_steps,
    measure_specimen,
    specimen_values,
)
from gating_core.experiments.specimen.model import (
    CHARTS,
    Specimen,
    build_specimen,
    chart_of,
    draggable_gates,
    draggable_values,
    gate_arrows,
    link_digits,
    moved_gate,
    own_values,
)
from gating_core.experiments.specimen.selection import (
    CHOSEN_SEEDS,
    NEEDLE,
    SEEDS,
    chosen_config,
    needle,
    select_seed,
)

__all__ = [
    "CHARTS",
    "CHOSEN_SEEDS",
    "COLOURINGS",
    "NEEDLE",
    "SEEDS",
    "Colouring",
    "MeasuredSpecimen",
    "Specimen",
    "build_specimen",
    "chart_of",
    "chosen_config",
    "draggable_gates",
    "draggable_values",
    "gate_arrows",
    "integrate_specimen",
    "integrate_steps",
    "link_digits",
    "measure_specimen",
    "moved_gate",
    "needle",
    "own_values",
    "select_seed",
    "specimen_values",
]
