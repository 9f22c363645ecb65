"""How unevenly is curvature spread? Its share where the surface curves most."""

from __future__ import annotations

import numpy as np

from gating_core.geometry.surface import SurfaceResult

MOST_CURVED = 0.01  # of the area


def concentration(surface: SurfaceResult, part: float = MOST_CURVED) -> np.ndarray:
    """(T,): the share of the integral of |K| dA on the most curved ``part`` of the area.

    Of the grid points that are resolved; ``part`` where |K| is the same everywhere, near 1 where
    the surface is flat but for a crease, 0 where nothing is known to curve.
    """
    density = np.where(surface.decided, np.abs(surface.gaussian), 0.0)
    density = density.reshape(len(density), -1)
    line = np.full(len(surface.axis), 1.0)
    line[[0, -1]] = 0.5  # the trapezoid rule's weights, but for a factor
    area = np.nan_to_num(surface.area_element) * np.outer(line, line)
    area = area.reshape(density.shape)
    order = np.argsort(-density, axis=1)
    density, area = (np.take_along_axis(x, order, 1) for x in (density, area))
    whole = area.sum(1, keepdims=True)
    before = np.cumsum(area, 1) - area
    counted = np.clip(part * whole - before, 0.0, area)  # of the last point only what is left
    total = (density * area).sum(1)
    return np.divide((density * counted).sum(1), total, out=np.zeros_like(total), where=total > 0)
