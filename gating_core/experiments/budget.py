"""The cost of measuring a model, and integrals that take a few seconds at most."""

from __future__ import annotations

from collections.abc import Callable

import torch

from gating_core.attention.config import AttentionConfig
from gating_core.geometry.adaptive import LARGEST_SAMPLE, PART_POINTS, adaptive_integrals
from gating_core.geometry.flatness import flatness_proofs
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import SurfaceIntegrals, grid_integrals
from gating_core.geometry.metric import Matrix
from gating_core.jets.second_order import jet_by_parts
from gating_core.progress import Progress, silent

AFFORDABLE_COST = 1e8  # of `cost` times points: some five seconds of one core, bounds included
PART_COST = 4e6  # of `cost` times points, between two reports of progress: a fifth of a second
FEWEST_REFINED = 24_000  # points: twice what the first cells take
COARSEST_GRID = 19  # points along each side, where a model is too large for more
TOLERANCE = 0.02  # relative, of the total curvature
Chart = Callable[..., torch.Tensor]


def cost(config: AttentionConfig) -> float:
    """Estimate the cost of one point, in numbers touched."""
    attending = config.model_dim * config.value_count
    if config.layer.state_axes(config):  # tokens, which attend in pairs
        attending *= 8 * config.value_count
    return config.depth * (attending + config.model_dim**2)


def affordable_integrals(
    chart: Chart,
    config: AttentionConfig,
    covariance: Matrix | None = None,
    points: int = LARGEST_SAMPLE,
    progress: Progress = silent,
) -> SurfaceIntegrals:
    """Compute all integrals over a chart of a model with ``config``, within a few seconds.

    From ``points`` at most; ``progress`` is called with ``None``.
    """
    sample = min(int(AFFORDABLE_COST / cost(config)), points)
    part = max(int(PART_COST / cost(config)), 1)
    if sample < FEWEST_REFINED:  # not even the first cells: then a coarse grid as it is
        grid = square_grid(COARSEST_GRID)
        jet = jet_by_parts(chart, grid.points, "rigorous", part, lambda _: progress(None))
        integrals = grid_integrals(jet, grid.weights, covariance)
        return integrals.of_flat() if any(flatness_proofs(chart, jet.value)) else integrals
    part = min(part, PART_POINTS)
    return adaptive_integrals(
        chart, covariance, TOLERANCE, "rigorous", sample, part=part, progress=progress
    )
