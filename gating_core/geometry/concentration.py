"""Concentration of curvature: its share where the surface curves most."""

from __future__ import annotations

import numpy as np

from gating_core.geometry.surface import SurfaceResult

MOST_CURVED = 0.01  # of the area
CREASE = 0.25  # of the curvature, on that part


def concentration(surface: SurfaceResult, part: float = MOST_CURVED) -> np.ndarray:
    """(T,): the share of the integral of |K| dA on the most curved ``part`` of the area.

    From decided grid points: ``part`` where |K| is the same everywhere, near 1 where the surface is
    flat but for a crease, 0 where nothing is known to curve.
    """
    size, area, counted = _most_curved(surface, part)
    total = (size * area).sum(1)
    return np.divide((size * counted).sum(1), total, out=np.zeros_like(total), where=total > 0)


def crease_levels(surface: SurfaceResult, part: float = MOST_CURVED) -> np.ndarray:
    """(T,): the least |K| (1 / length^2) of a point in the most curved ``part`` of the area.

    Infinite where that part holds less than a quarter of the integral of |K| dA: no crease.
    """
    size, _, counted = _most_curved(surface, part)
    least = np.where(counted > 0, size, np.inf).min(1)
    return np.where(concentration(surface, part) >= CREASE, least, np.inf)


def _most_curved(surface: SurfaceResult, part: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(T, R C) each, most curved first: |K|, area of each point, and its share within ``part``."""
    size = np.where(surface.decided, np.abs(surface.gaussian), 0.0)
    size = size.reshape(len(size), -1)
    area = np.nan_to_num(surface.area_element) * surface.quadrature
    area = area.reshape(size.shape)
    order = np.argsort(-size, axis=1)
    size, area = (np.take_along_axis(x, order, 1) for x in (size, area))
    before = np.cumsum(area, 1) - area
    whole = area.sum(1, keepdims=True)
    return size, area, np.clip(part * whole - before, 0.0, area)
