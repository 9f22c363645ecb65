"""The most curved part of a surface. Shapes: R x C grid points, M points of a line."""

from __future__ import annotations

import numpy as np

from gating_core.geometry import SurfaceResult, ridge_levels
from ui.drawing.lines import zero_curve


def ridge_curves(surface: SurfaceResult, drawn: np.ndarray) -> list[np.ndarray]:
    """Return the outline (M, 2 + D) of each frame's most curved part, in the chart and as drawn.

    ``drawn`` (T, R, C, D) are the surface's points in the drawn axes. There is one row of NaN alone
    if that part holds too little curvature (see `ridge_levels`).
    """
    sizes = np.where(surface.decided, np.abs(surface.gaussian), 0.0)
    outlines = []
    for size, level, values in zip(sizes, ridge_levels(surface), drawn, strict=True):
        above = size - level if np.isfinite(level) else np.ones_like(size)
        outlines.append(np.concatenate(zero_curve(above, surface.axis, values), -1))
    return outlines
