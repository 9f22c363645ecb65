"""Where on a picture is the part that curves most?"""

from __future__ import annotations

import numpy as np

from gating_core.geometry import SurfaceResult, crease_levels
from ui.drawing.lines import zero_curve


def crease_curves(surface: SurfaceResult, drawn: np.ndarray) -> list[np.ndarray]:
    """For each frame (M, 2 + D): around the most curved part, in the chart and on ``drawn``.

    ``drawn`` (T, R, C, D) are the surface's points in the drawn axes. Rows of NaN separate pieces;
    a single one where that part holds too little to be worth it (see `crease_levels`).
    """
    sizes = np.where(surface.decided, np.abs(surface.gaussian), 0.0)
    found = []
    for size, level, values in zip(sizes, crease_levels(surface), drawn, strict=True):
        above = size - level if np.isfinite(level) else np.ones_like(size)
        found.append(np.concatenate(zero_curve(above, surface.axis, values), -1))
    return found
