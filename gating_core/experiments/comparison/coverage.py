"""The share of its values' triangle that a flat surface covers, and the breadth of a surface.

Shapes: T frames (versions of a model), R x C grid points, D model dimension, F triangles.
"""

from __future__ import annotations

import numpy as np
import torch

from gating_core.experiments.comparison.frames import ClassifierFrames

SWEEP_LINES = 256  # across a folded sheet
UNIT_TRIANGLE = 0.5  # area of a triangle in coordinates along its sides
THINNEST_TRIANGLE = 1e-9  # breadth by length: a narrower one counts as a line


def covered_shares(frames: ClassifierFrames) -> np.ndarray | None:
    """(T,): the part of the triangle of values that the sheet covers; NaN where that is a line.

    Overlapping folds count once. ``None`` unless the outputs are averages of three fixed vectors.
    """
    if frames.averaged is None or frames.averaged.shape[1] != 3:
        return None
    return np.array(
        [
            covered_share(values, corners)
            for values, corners in zip(frames.values, frames.averaged, strict=True)
        ]
    )


def covered_share(values: np.ndarray, corners: np.ndarray) -> float:
    """Compute the part of the triangle ``corners`` (3, D) that a flat sheet (R, C, D) covers.

    NaN where the triangle is a line.
    """
    sides = (corners[1:] - corners[0]).T
    extents = np.linalg.svd(sides, compute_uv=False)
    if len(extents) < 2 or extents[1] <= THINNEST_TRIANGLE * extents[0]:
        return float("nan")
    return covered_area((values - corners[0]) @ np.linalg.pinv(sides).T) / UNIT_TRIANGLE


def covered_area(points: np.ndarray) -> float:
    """Compute the area that a mesh over a grid of ``points`` (R, C, 2) of a plane covers.

    Exact where it does not fold; otherwise from 256 lines across its extent.
    """
    faces = points.reshape(-1, 2)[triangles(*points.shape[:2])]
    one, other = faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0]
    signed = (one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]) / 2
    if (signed >= 0).all() or (signed <= 0).all():
        return float(abs(signed.sum()))
    return _swept_area(faces)


def _swept_area(faces: np.ndarray) -> float:
    """Integrate the length that the union of ``faces`` (F, 3, 2) covers of parallel lines."""
    lowest, highest = faces[..., 1].min(1), faces[..., 1].max(1)
    gap = (highest.max() - lowest.min()) / SWEEP_LINES
    heights = lowest.min() + (np.arange(SWEEP_LINES) + 0.5) * gap
    first = np.searchsorted(heights, lowest, "right")  # of the lines that a face is cut by
    # None cuts a face that lies along it, or that is not finite.
    count = np.maximum(np.searchsorted(heights, highest, "left") - first, 0)
    face = np.repeat(np.arange(len(faces)), count)
    line = np.arange(len(face)) + np.repeat(first - np.cumsum(count) + count, count)
    order = np.argsort(line, kind="stable")
    line, face = line[order], face[order]
    cuts = np.bincount(line, minlength=SWEEP_LINES)
    place = np.arange(len(line)) - np.repeat(np.cumsum(cuts) - cuts, cuts)  # within its line
    shape = (SWEEP_LINES, int(cuts.max()))
    starts, ends = np.full(shape, np.inf), np.full(shape, -np.inf)  # unused places hold nothing
    starts[line, place], ends[line, place] = _chords(faces[face], heights[line])
    return float(_unions(starts, ends).sum() * gap)


def _chords(faces: np.ndarray, heights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both ends (F,) of the line at ``heights`` (F,) within each face that it cuts."""
    heights = heights[:, None]
    ends = np.roll(faces, -1, 1)
    start, rise = faces[..., 1], ends[..., 1] - faces[..., 1]
    crossed = (start < heights) != (ends[..., 1] < heights)
    share = (heights - start) / np.where(crossed, rise, 1.0)
    x = faces[..., 0] + share * (ends[..., 0] - faces[..., 0])
    return np.where(crossed, x, np.inf).min(1), np.where(crossed, x, -np.inf).max(1)


def _unions(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Compute the length (lines,) of each line's union of intervals (lines, places)."""
    order = np.argsort(starts, 1)
    starts = np.take_along_axis(starts, order, 1)
    ends = np.maximum.accumulate(np.take_along_axis(ends, order, 1), 1)
    before = np.concatenate([starts[:, :1], ends[:, :-1]], 1)
    return np.maximum(ends - np.maximum(starts, before), 0).sum(1)


def triangles(rows: int, columns: int) -> np.ndarray:
    """(2 (R - 1) (C - 1), 3): two triangles for every cell of a grid in row order."""
    a = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    b, c, d = a + 1, a + columns, a + columns + 1
    return np.concatenate([np.stack([a, b, c], -1), np.stack([b, d, c], -1)])


# --- Breadth --------------------------------------------------------------------------------------

LEAST_COVERED = 0.05  # of the triangle of the values, without the gate
LEAST_BREADTH = 0.04  # projected area by the square of its length


def surface_visible(flat: np.ndarray, gated: np.ndarray, corners: np.ndarray) -> bool:
    """Return whether a surface (R, C, D), ``flat`` without and ``gated`` with its gate, is no line.

    The rule: without its gate it covers a twentieth of the triangle ``corners`` (3, D), and both
    are broader than a strip twenty-five times as long as broad.
    """
    covered = covered_share(flat, corners)  # may be NaN, which fails the comparison
    return covered >= LEAST_COVERED and min(breadth(flat), breadth(gated)) >= LEAST_BREADTH


def breadth(values: np.ndarray) -> float:
    """Compute breadth by length of a sheet (R, C, D): 0 for a curve, pi / 4 at most, for a disc.

    The area of its projection on its two largest principal components, where folds count once,
    divided by the square of its longest extent there.
    """
    points = values.reshape(-1, values.shape[-1])
    centred = points - points.mean(0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    projected = centred @ axes.T
    length = float(torch.pdist(torch.from_numpy(projected)).max())
    if not length > 0 or projected.shape[1] < 2:
        return 0.0
    return covered_area((projected / length).reshape(*values.shape[:2], 2))
