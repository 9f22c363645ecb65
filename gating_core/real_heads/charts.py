"""Heads of a checkpoint as numbers that a browser can draw: charts, and surfaces over them.

The chart of a head is the principal plane of the states that its layer reads. Scores are affine in
its coordinates, so three numbers for each key are all there is to know of the chart.
Shapes: L layers, H heads, T tokens, n keys, d channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gating_core.checkpoints import HeadMap, Layer, Plane, head_map, principal_plane
from gating_core.geometry import square_grid

COMPONENTS = 3  # of the outputs: what can be seen
GRID_SIZE = 31  # points along each side, from which principal components are taken


@dataclass(frozen=True, eq=False)
class HeadCharts:
    """The drawn quantities of all heads of some layers that read one text."""

    scores: np.ndarray  # (L, H, 3, n): at the origin of the chart, and the slopes along u and v
    values: np.ndarray  # (L, H, n, 3): in the principal components of the head's outputs
    states: np.ndarray  # (L, T, 2): the tokens' own states in the chart
    ranks: np.ndarray  # (T,): of a token by the area on which it gets most of the attention


@dataclass(frozen=True, eq=False)
class HeadChart:
    """The drawn quantities of one head on one plane, as in `HeadCharts`.

    On an attention-weight chart weights are ``prescribed``: ``scores`` are the weights themselves.
    ``flat``: K = 0 is proved, for outputs are averages of three values.
    """

    tokens: tuple[int, ...]  # (n,) of the keys
    scores: np.ndarray  # (3, n)
    values: np.ndarray  # (n, 3)
    states: np.ndarray  # (T, 2)
    prescribed: bool
    flat: bool


def chart_heads(
    layers: Sequence[Layer], states: Sequence[Tensor], keys: Sequence[int]
) -> HeadCharts:
    """Return the charts of all heads of ``layers`` on principal planes.

    Args:
        layers: one or several layers with the same number of heads.
        states: of each layer the (T, D) that its attention reads.
        keys: indices of the tokens that may be attended to.
    """
    planes = [principal_plane(read) for read in states]
    maps = [
        [head_map(layer, read, head, plane, keys=keys) for head in range(layer.heads)]
        for layer, read, plane in zip(layers, states, planes, strict=True)
    ]
    charts = [
        [chart_head(each, plane, read) for each in row]
        for row, plane, read in zip(maps, planes, states, strict=True)
    ]
    points = square_grid(GRID_SIZE).points
    top = torch.cat([x.tokens[x.weights(points).argmax(-1)] for row in maps for x in row])
    areas = torch.bincount(top, minlength=len(states[0]))
    ranks = areas.argsort(descending=True, stable=True).argsort()
    scores, values = (
        np.array([[getattr(x, part) for x in row] for row in charts])
        for part in ("scores", "values")
    )
    drawn = np.array([row[0].states for row in charts])
    return HeadCharts(scores, values, drawn, ranks.numpy())


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
