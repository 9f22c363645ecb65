"""Which seed shows best what a gate does? One rule, so that nobody has to choose by hand.

Among the half of the seeds that are best on the training points, first those with a surface to be
seen at all (`gating_core.experiments.comparison.seen`), then the largest product of three numbers
from 0 to 1: how much of the triangle of its values the surface covers without its gate, how far
that triangle is from a needle, and how little of the curvature sits on the most curved part of the
area. What several folds cover counts once. Test points are not looked at.
"""

from __future__ import annotations

import numpy as np

from gating_core.experiments.comparison.filled import covered_share
from gating_core.experiments.comparison.frames import strengths_model
from gating_core.experiments.comparison.run import TrainedRun
from gating_core.experiments.comparison.seen import surface_seen
from gating_core.geometry.concentration import concentration
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import measure_surface
from gating_core.training.trained import TrainedEnsemble

GRID = 31  # points along each side: enough to compare areas


def clearest_member(run: TrainedRun) -> int:
    """The member of the second variant of ``run``, of one with three fixed values, by the rule."""
    ensemble = run.variants[run.setting.compared[1]].ensemble
    candidates = ensemble.ranking[: (len(ensemble.seeds) + 1) // 2]
    return int(max(candidates, key=lambda member: clarity(ensemble, int(member))))


def shows_surface(run: TrainedRun, member: int) -> bool:
    """Whether that member has a surface to be seen, by the rule of `surface_seen`."""
    return clarity(run.variants[run.setting.compared[1]].ensemble, member)[0]


def clarity(ensemble: TrainedEnsemble, member: int) -> tuple[bool, float]:
    """Of a gated member: whether it is seen, and the product of the three numbers, 0 to 1."""
    model = strengths_model(ensemble, member, [0.0, 1.0]).attention
    surface = measure_surface(model, square_grid(GRID), bound="estimate")
    corners = model.blocks[-1].slot_values()[0].numpy()
    flat, gated = surface.values
    covered = float(np.nan_to_num(covered_share(flat, corners)))
    even = 1.0 - float(concentration(surface)[1])
    return surface_seen(flat, gated, corners), covered * regularity(corners) * even


def triangle_area(corners: np.ndarray) -> float:
    """Of a triangle with ``corners`` (3, D)."""
    first, second = corners[1:] - corners[0]
    square = (first @ first) * (second @ second) - (first @ second) ** 2
    return float(np.sqrt(max(square, 0.0))) / 2


def regularity(corners: np.ndarray) -> float:
    """4 sqrt(3) area / sum of squared sides: 1 for an equilateral triangle, 0 for a needle."""
    sides = corners - np.roll(corners, 1, axis=0)
    squares = float((sides**2).sum())
    return 4 * np.sqrt(3.0) * triangle_area(corners) / squares if squares > 0 else 0.0
