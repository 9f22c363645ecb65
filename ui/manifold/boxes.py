"""Which part of space does each scene show, and does that move with the gate?

A side is seen in one box at all strengths, so that it moves in it, unless its surface would become
too small: then each strength has its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ui.manifold.arrays import DrawnSide

SMALLEST = 0.35  # of the box's diagonal: what is smaller gets a box of its own
Box = tuple[np.ndarray, np.ndarray]  # the lowest corner and the highest


def boxes_of(side: DrawnSide, beside: np.ndarray | None) -> tuple[list[Box], bool]:
    """The box of a side's scene, or one for every frame, and whether that has room for more.

    For the points ``beside`` the surface, (M, 3): they are in the box if it is one, and if no
    surface becomes too small in it.
    """
    boxes = [(surface.min((0, 1)), surface.max((0, 1))) for surface in side.values]
    if beside is not None:
        around = _around([*boxes, (beside.min(0), beside.max(0))])
        if _fit(boxes, around):
            return [around], True
    around = _around(boxes)
    return ([around] if _fit(boxes, around) else boxes), False


def _fit(boxes: Sequence[Box], around: Box) -> bool:
    return min(map(_diagonal, boxes)) >= SMALLEST * _diagonal(around)


def _around(boxes: Sequence[Box]) -> Box:
    lows, highs = zip(*boxes, strict=True)
    return np.min(lows, 0), np.max(highs, 0)


def _diagonal(box: Box) -> float:
    return float(np.linalg.norm(box[1] - box[0]))
