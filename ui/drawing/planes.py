"""The classifier's plane in a picture, and whether the drawn axes can show it.

Shapes: T frames (versions of a model), R x C grid points, D model dimension.
"""

from __future__ import annotations

import numpy as np

from gating_core.experiments.comparison import ClassifierFrames
from ui.drawing.axes import Axes

PATCH_MARGIN = 1.15  # length of the drawn part of a plane, in lengths of the cut
PATCH_WIDTH = 0.35  # its least half-width, in root mean square radii of the surface
PLANE_TOLERANCE = 0.01  # share of the largest margin, and of the points, it may miss


def classifier_planes(
    frames: ClassifierFrames, axes: Axes
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the classifier's planes normal . y + offset = 0 in the drawn axes.

    Returns ``normal`` (T, 3), ``offset`` (T,) and ``honest`` (T,): whether the plane's margin in
    the drawn axes is the classifier's to 1 % of the largest on the surface, and its decision the
    same at 99 % of the points. In R^3 it always is. In more dimensions some are not drawn, and a
    classifier that reads those has no plane in the view. ``None`` for more than two classes.
    """
    if frames.logits.shape[-1] != 2:
        return None
    if not axes.principal:
        return frames.normal, frames.offset, np.ones(len(frames.offset), dtype=bool)
    normal, offset = frames.normal @ axes.basis, frames.offset + frames.normal @ axes.origin
    drawn = np.einsum("trcd,td->trc", axes.project(frames.values), normal)
    drawn, margin = drawn + offset[:, None, None], frames.margin
    close = np.abs(drawn - margin).max((1, 2)) <= PLANE_TOLERANCE * np.abs(margin).max((1, 2))
    otherwise = ((drawn > 0) != (margin > 0)).mean((1, 2))
    return normal, offset, close & (otherwise <= PLANE_TOLERANCE)


def drawn_planes(frames: ClassifierFrames, axes: Axes, cuts: np.ndarray) -> np.ndarray | None:
    """Return the corners (T, 4, 3) of the drawn planes; ``None`` if none can be shown honestly.

    ``cuts`` (T, M, 3) are the curves in which the planes cut the surfaces, in the drawn ``axes``. A
    plane that misses its surface is not drawn.
    """
    planes = classifier_planes(frames, axes)
    if planes is None or not planes[2].any():
        return None
    values = axes.project(frames.values)
    out = np.full((len(cuts), 4, 3), np.nan)
    for frame, (normal, offset, honest) in enumerate(zip(*planes, strict=True)):
        cut = cuts[frame][~np.isnan(cuts[frame][:, 0])]
        if honest and len(cut) > 1:
            out[frame] = plane_patch(normal, offset, cut, values[frame])
    return out


def plane_patch(
    normal: np.ndarray, offset: float, cut: np.ndarray, surface: np.ndarray
) -> np.ndarray:
    """Return the corners (4, 3), in order, of a rectangle in the plane normal . y + offset = 0.

    It lies along the ``cut`` (M, 3), reaches a little beyond it, and is at least as wide as a good
    part of the ``surface`` (R, C, 3).
    """
    unit = normal / np.linalg.norm(normal)
    points = cut - (cut @ unit + offset / np.linalg.norm(normal))[:, None] * unit
    middle = points.mean(0)
    _, _, turn = np.linalg.svd(points - middle, full_matrices=False)
    along = turn[0] - (turn[0] @ unit) * unit
    along /= np.linalg.norm(along)
    sides = np.stack([along, np.cross(unit, along)])
    within = (points - middle) @ sides.T
    middle = middle + (within.min(0) + within.max(0)) / 2 @ sides
    spread = surface.reshape(-1, 3)
    least = PATCH_WIDTH * np.sqrt(((spread - spread.mean(0)) ** 2).sum(1).mean())
    half = np.maximum(PATCH_MARGIN * np.ptp(within, axis=0) / 2, least)
    return middle + np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half @ sides
