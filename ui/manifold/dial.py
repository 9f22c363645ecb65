"""At which strengths of its gate is a model shown? As many as two seconds or so allow."""

from __future__ import annotations

from gating_core.experiments import cost
from gating_core.experiments.specimen import Specimen
from ui.limits import DIAL_COST

STEPS = (20, 10, 5, 2, 1)  # from no gate to a full one
LEAST_COST = 128.0  # what a point costs at least: some of the work is the same for all models


def strengths(specimen: Specimen, grid: int) -> tuple[float, ...]:
    """Evenly spaced from 0 to 1, at a ``grid`` of so many points along each side."""
    each = max(cost(specimen.config), LEAST_COST) * grid**2
    steps = next((n for n in STEPS if (n + 1) * each <= DIAL_COST), STEPS[-1])
    return tuple(round(i / steps, 2) for i in range(steps + 1))
