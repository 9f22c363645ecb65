"""Outlines of the most curved part of a surface."""

from __future__ import annotations

import numpy as np

from gating_core.geometry import SurfaceResult, crease_levels
from ui.drawing.lines import zero_curve


def crease_curves(surface: SurfaceResult, drawn: np.ndarray) -> list[np.ndarray]:
    """Return for each frame the outline (M, 2 + D) in the chart and on the drawn surface.

    ``drawn`` (T, R, C, D) are the surface's points in the drawn axes. Rows of NaN separate pieces.
    There is one such row alone if that part holds too little curvature (see `crease_levels`).
    """
    sizes = np.where(surface.decided, np.abs(surface.gaussian), 0.0)
    outlines = []
    for size, level, values in zip(sizes, crease_levels(surface), drawn, strict=True):
        above = size - level if np.isfinite(level) else np.ones_like(size)
        outlines.append(np.concatenate(zero_curve(above, surface.axis, values), -1))
    return outlines
