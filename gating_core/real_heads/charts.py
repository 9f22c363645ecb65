"""Heads of a checkpoint as numbers that a browser can draw: charts, and surfaces over them.

The chart of a head is the principal plane of the states that its layer reads. Scores are affine in
its coordinates, so three numbers for each key are all there is to know of the chart.
Shapes: L layers, H heads, T tokens, n keys, d channels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gating_core.checkpoints import HeadMap, Plane
from gating_core.geometry import square_grid

COMPONENTS = 3  # of the outputs: what can be seen
GRID_SIZE = 31  # points along each side, from which principal components are taken


@dataclass(frozen=True, eq=False)
class HeadChart:
    """One head on one plane as it is drawn: scores at its origin and the slopes along u and v.

    On an attention-weight chart weights are ``prescribed``: ``scores`` are the weights themselves.
    ``flat``: K = 0 is proved, for outputs are averages of three values.
    """

    tokens: tuple[int, ...]  # (n,) of the keys
    scores: np.ndarray  # (3, n)
    values: np.ndarray  # (n, 3)
    states: np.ndarray  # (T, 2)
    prescribed: bool
    flat: bool


def chart_head(head: HeadMap, plane: Plane, states: Tensor) -> HeadChart:
    """Return what is drawn of a ``head`` on a ``plane``; ``states`` (T, D): of the text."""
    scores = head.logits if head.prescribed is None else head.prescribed
    assert scores is not None
    return HeadChart(
        tokens=tuple(head.tokens.tolist()),
        scores=scores.float().numpy(),
        values=principal_values(head).float().numpy(),
        states=plane.project(states).float().numpy(),
        prescribed=head.prescribed is not None,
        flat=head.prescribed is not None and not head.gated,
    )


def principal_values(map: HeadMap) -> Tensor:
    """Return the values (n, 3) in the principal components of the outputs over the chart.

    A convex combination of them is the output there; components that outputs lack are 0.
    """
    outputs = map.with_strength(0.0)(square_grid(GRID_SIZE).points)
    mean = outputs.mean(0)
    _, _, axes = torch.linalg.svd(outputs - mean, full_matrices=False)
    found = (map.values - mean) @ axes[:COMPONENTS].T
    return torch.nn.functional.pad(found, (0, COMPONENTS - found.shape[1]))
