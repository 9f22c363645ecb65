"""How is a classified surface drawn: its boundary, its classes, and the plane that cuts it?

Shapes: T frames (snapshots of a run), R x C grid points, F faces of the mesh, D model dimension,
K classes.
"""

from __future__ import annotations

import itertools

import numpy as np

from gating_core.experiments.comparison import FilmSide
from ui.drawing.axes import Axes
from ui.drawing.lines import hatch, triangles, zero_curve

MOST_CORNERS = 6  # of a plane in a box
PLANE_TOLERANCE = 0.01  # of the largest margin, and of the points: what a drawn plane may miss


def boundaries(logits: np.ndarray, axis: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(T, M, 5): where two classes are equally likely, in the chart and on the surface."""
    found = []
    for frame, surface in zip(logits, values, strict=True):
        pieces = []
        for label in range(frame.shape[-1] if frame.shape[-1] > 2 else 1):
            others = np.delete(frame, label, -1).max(-1)
            pieces.append(np.concatenate(zero_curve(frame[..., label] - others, axis, surface), -1))
        found.append(np.concatenate(pieces))
    out = np.full((len(found), max(map(len, found)), 5), np.nan)
    for frame_out, curve in zip(out, found, strict=True):
        frame_out[: len(curve)] = curve
    return out


def face_classes(logits: np.ndarray) -> np.ndarray:
    """(T, F): the likeliest class in the middle of every face of the mesh."""
    corners = logits.reshape(len(logits), -1, logits.shape[-1])[:, triangles(logits.shape[1])]
    return corners.mean(2).argmax(-1).astype(float)


def classifier_planes(
    side: FilmSide, axes: Axes
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The classifier's planes normal . y + offset = 0 in the drawn axes, and where they are honest.

    ``normal`` (T, 3), ``offset`` (T,), ``honest`` (T,): in the drawn axes the plane's margin is the
    classifier's to 1 % of the largest on the surface, and decides alike at 99 % of its points. In
    R^3 it always is; of more dimensions some are not drawn, and a classifier that looks at those
    has no plane in the view. ``None`` where there are more than two classes.
    """
    if side.logits.shape[-1] != 2:
        return None
    across = side.weight[..., 1] - side.weight[..., 0]  # (T, D)
    offset = side.bias[:, 1] - side.bias[:, 0]
    if not axes.principal:
        return across, offset, np.ones(len(offset), dtype=bool)
    normal, offset = across @ axes.basis, offset + across @ axes.origin
    margin = side.logits[..., 1] - side.logits[..., 0]
    drawn = np.einsum("trcd,td->trc", axes.project(side.values), normal)
    drawn = drawn + offset[:, None, None]
    close = np.abs(drawn - margin).max((1, 2)) <= PLANE_TOLERANCE * np.abs(margin).max((1, 2))
    otherwise = ((drawn > 0) != (margin > 0)).mean((1, 2))
    return normal, offset, close & (otherwise <= PLANE_TOLERANCE)


def drawn_planes(
    side: FilmSide, axes: Axes, low: np.ndarray, high: np.ndarray
) -> np.ndarray | None:
    """(T, 6, 3): the classifier's plane in the drawn box; ``None`` where it is never honest."""
    found = classifier_planes(side, axes)
    if found is None or not found[2].any():
        return None
    out = np.full((len(side.weight), MOST_CORNERS, 3), np.nan)
    for frame, (normal, offset, honest) in enumerate(zip(*found, strict=True)):
        corners = plane_in_box(normal, offset, low, high) if honest else ()
        if len(corners):
            out[frame] = corners[np.minimum(np.arange(MOST_CORNERS), len(corners) - 1)]
    return out


def hatches(name: str, gaussian: np.ndarray, axis: np.ndarray) -> dict[str, np.ndarray]:
    """Diagonal strokes (T, M) over the points of the chart where K is not known."""
    strokes = [hatch(np.isnan(frame), axis) for frame in gaussian]
    out = np.full((len(strokes), max(map(len, strokes)), 2), np.nan)
    for frame, found in zip(out, strokes, strict=True):
        frame[: len(found)] = found
    return {f"{name}_hatch_{u}": out[..., i] for i, u in enumerate("uv")}


def plane_in_box(
    normal: np.ndarray, offset: float, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """(M, 3): the corners, in order, of the plane normal . y + offset = 0 within a box.

    M is 0 where the plane misses the box, otherwise 3 to 6.
    """
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
    found = []
    for a, b in itertools.combinations(corners, 2):
        if np.count_nonzero(a != b) != 1:
            continue
        from_a, from_b = normal @ a + offset, normal @ b + offset
        if from_a != from_b and from_a * from_b <= 0:
            found.append(a + (b - a) * from_a / (from_a - from_b))
    if len(found) < 3:
        return np.empty((0, 3))
    points = np.unique(np.round(found, 12), axis=0)
    centred = points - points.mean(0)
    across = centred[0]
    turn = np.arctan2(np.cross(across, centred) @ normal / np.linalg.norm(normal), centred @ across)
    return points[np.argsort(turn)]
