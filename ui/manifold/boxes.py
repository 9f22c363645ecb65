"""Which part of space does each scene show, and does that move with the gate?

A side is seen in one box at all strengths, so that it moves in it, unless its surface would become
too small: then each strength has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ui.drawing.panels import boxed, scene_layout
from ui.manifold.arrays import DrawnSide

SMALLEST = 0.4  # of the box's diagonal: what is smaller gets a box of its own
Box = tuple[np.ndarray, np.ndarray]  # the lowest corner and the highest


def box_layouts(side: DrawnSide, triangle: bool, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """The layout of a side's scene, or one for every frame; with the values' ``triangle`` in it."""
    boxes = _boxes(side, triangle)
    around = _around(boxes)
    if min(map(_diagonal, boxes)) >= SMALLEST * _diagonal(around):
        boxes = [around]
    return [scene_layout(*boxed(*box), names) for box in boxes]


def _boxes(side: DrawnSide, triangle: bool) -> list[Box]:
    values = side.values
    low, high = values.min((1, 2)), values.max((1, 2))
    if triangle and side.corners is not None:
        low = np.minimum(low, side.corners.min(1))
        high = np.maximum(high, side.corners.max(1))
    return list(zip(low, high, strict=True))


def _around(boxes: Sequence[Box]) -> Box:
    lows, highs = zip(*boxes, strict=True)
    return np.min(lows, 0), np.max(highs, 0)


def _diagonal(box: Box) -> float:
    return float(np.linalg.norm(box[1] - box[0]))
