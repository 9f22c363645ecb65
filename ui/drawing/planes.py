"""Where is the classifier's plane in a picture, and is it honest to draw it?

Shapes: T frames (versions of a model), R x C grid points, D model dimension.
"""

from __future__ import annotations

import numpy as np

from gating_core.experiments.comparison import ClassifierFrames
from ui.drawing.axes import Axes

PATCH_MARGIN = 1.15  # of the cut: how far the drawn part of a plane reaches
PATCH_WIDTH = 0.35  # of the surface's root mean square radius: its least half width
PLANE_TOLERANCE = 0.01  # of the largest margin, and of the points: what a drawn plane may miss


def classifier_planes(
    frames: ClassifierFrames, axes: Axes
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The classifier's planes normal . y + offset = 0 in the drawn axes, and where they are honest.

    ``normal`` (T, 3), ``offset`` (T,), ``honest`` (T,): in the drawn axes the plane's margin is the
    classifier's to 1 % of the largest on the surface, and decides alike at 99 % of its points. In
    R^3 it always is; of more dimensions some are not drawn, and a classifier that looks at those
    has no plane in the view. ``None`` where there are more than two classes.
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
    """(T, 4, 3): the classifier's plane where it cuts; ``None`` where it is never honest.

    ``cuts`` (T, M, 3) are the curves in which it cuts the surfaces, in the drawn ``axes``; a plane
    that misses its surface is not drawn.
    """
    found = classifier_planes(frames, axes)
    if found is None or not found[2].any():
        return None
    values = axes.project(frames.values)
    out = np.full((len(cuts), 4, 3), np.nan)
    for frame, (normal, offset, honest) in enumerate(zip(*found, strict=True)):
        cut = cuts[frame][~np.isnan(cuts[frame][:, 0])]
        if honest and len(cut) > 1:
            out[frame] = plane_patch(normal, offset, cut, values[frame])
    return out


def plane_patch(
    normal: np.ndarray, offset: float, cut: np.ndarray, surface: np.ndarray
) -> np.ndarray:
    """(4, 3): the corners, in order, of a rectangle in the plane normal . y + offset = 0.

    It lies along the ``cut`` (M, 3) and reaches a little beyond it, and to both sides at least as
    far as a good part of the ``surface`` (R, C, 3).
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
