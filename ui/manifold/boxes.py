"""Which part of space does each scene show, and does that move with the gate?

A side is seen in one box at all strengths, so that it moves in it, unless its surface would become
too small: then each strength has its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ui.manifold.arrays import DrawnSide

SMALLEST = 0.35  # of the box's diagonal: what is smaller gets a box of its own
Box = tuple[np.ndarray, np.ndarray]  # the lowest corner and the highest, as they are seen


def boxes_of(side: DrawnSide, beside: np.ndarray | None) -> tuple[dict[float, Box], bool]:
    """By strength the box of a side's scene, and whether that has room for more.

    For the points ``beside`` the surface, (M, 3): they are in the box if it is one for all, and if
    no surface becomes too small in it.
    """
    boxes = {
        strength: (seen.min((0, 1)), seen.max((0, 1)))
        for strength, values in side.reach.items()
        for seen in [side.frame.drawn(values)]
    }
    if beside is not None:
        seen = side.frame.drawn(beside)
        around = _around([*boxes.values(), (seen.min(0), seen.max(0))])
        if _fit(list(boxes.values()), around):
            return dict.fromkeys(boxes, around), True
    around = _around(list(boxes.values()))
    return (dict.fromkeys(boxes, around) if _fit(list(boxes.values()), around) else boxes), False


def vary(boxes: dict[float, Box]) -> bool:
    """Whether each strength has a box of its own."""
    first, *rest = boxes.values()
    return any(box is not first for box in rest)


def _fit(boxes: Sequence[Box], around: Box) -> bool:
    return min(map(_diagonal, boxes)) >= SMALLEST * _diagonal(around)


def _around(boxes: Sequence[Box]) -> Box:
    lows, highs = zip(*boxes, strict=True)
    return np.min(lows, 0), np.max(highs, 0)


def _diagonal(box: Box) -> float:
    return float(np.linalg.norm(box[1] - box[0]))
