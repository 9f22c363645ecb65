"""How do our accuracies differ from those that the project's theory document gives?

Its section 6: memory model, one layer, D = 8, n = 3, 16 seeds, 256 training points, 400 steps of
Adam at 0.02, minibatches of 64; mean test accuracies of a prototype. R rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gating_core.claims.grid import LABEL_NOISE, LINEAR
from gating_core.claims.models import BASE, Models
from gating_core.claims.statistics import paired
from gating_core.claims.wording import Table, fixed_interval, signed

WHY = (  # tried one at a time on circle, rings, checkerboard, spiral and xor, with 16 seeds
    "Why is not known. Scoring the best step and not the last, whole batches, half the learning"
    " rate, a half or a quarter of the steps, D = 3, wrong labels and jittered coordinates were"
    " tried one at a time: jitter and fewer steps lower the gated models most, and take some tasks"
    " near that table, but none of these does so for all tasks at once. So the tasks themselves may"
    " be defined otherwise, which the table does not say."
)
SOURCE = "section 6 of the project's theory document (a prototype's figures)"
_VARIANTS = ("ungated", "sigmoid", "silu", "pointwise", "additive")
_ACCURACIES = {
    "linear": (0.995, 0.993, 0.993, 0.996, 0.993),
    "xor": (0.744, 0.975, 0.981, 0.759, 0.957),
    "circle": (0.727, 0.914, 0.920, 0.734, 0.905),
    "spiral": (0.585, 0.727, 0.859, 0.637, 0.672),
    "checkerboard": (0.584, 0.660, 0.682, 0.608, 0.635),
    "rings": (0.516, 0.559, 0.588, 0.535, 0.538),
}
PUBLISHED: dict[tuple[str, str], float] = {
    (task, variant): value
    for task, row in _ACCURACIES.items()
    for variant, value in zip(_VARIANTS, row, strict=True)
}


@dataclass(frozen=True)
class Difference:
    """Ours less theirs, in shares; ``low`` and ``high`` are ours, a Student interval over seeds."""

    task: str
    variant: str
    ours: float
    low: float
    high: float
    theirs: float

    @property
    def outside(self) -> bool:
        """Whether theirs lies outside our interval."""
        return not self.low <= self.theirs <= self.high


def differences(models: Models) -> tuple[Difference, ...]:
    """For all tasks and variants that both have, in the table's order."""
    found = []
    for (task, variant), theirs in PUBLISHED.items():
        rows = [row for row in models.at(BASE, task, variant).values() if row.error is None]
        values = {row.seed: row.test_accuracy for row in rows if row.test_accuracy is not None}
        if values:
            ours = paired([*values], np.array([*values.values()]))
            found.append(Difference(task, variant, ours.mean, ours.low, ours.high, theirs))
    return tuple(found)


def difference_table(found: tuple[Difference, ...]) -> Table:
    """Accuracies as shares, the difference in points."""
    columns = ("task", "variant", "ours", "95 % interval", "theirs", "difference, points")
    return Table(columns, tuple(
        (one.task, one.variant, f"{one.ours:.3f}", fixed_interval(one.low, one.high, 3),
         f"{one.theirs:.3f}", signed(100 * (one.ours - one.theirs)))
        for one in found
    ))  # fmt: skip


def difference_sentence(found: tuple[Difference, ...]) -> str:
    """On how many they differ, and what is known about the reason."""
    outside = [one for one in found if one.outside]
    if not found:
        return "None of the tasks and variants of that table has been trained."
    higher = sum(one.ours > one.theirs for one in outside)
    said = f"{len(outside)} of {len(found)} of its means lie outside our 95 % intervals; ours are"
    said += f" higher in {higher} of these. "
    if any(one.task in LINEAR for one in found):
        said += f"On linear tasks {LABEL_NOISE:.0%} of our training labels are wrong on purpose,"
        said += " which theirs were not: without that both are at their ceiling. "
    return said + WHY
