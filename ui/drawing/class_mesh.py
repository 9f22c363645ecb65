"""How is a surface of several classes coloured so that colours meet at the drawn boundary?

A face of the mesh in which two classes are likely is cut where they are equally so; logits are
interpolated linearly within a face, as the boundary's are along the edges of the grid.

Shapes: T frames (versions of a model), R x C grid points, K classes, F faces, V vertices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ui.drawing.lines import triangles


@dataclass(frozen=True, eq=False)
class ClassMesh:
    """``vertices`` (T, V, 3), those of the grid first; ``corners`` (T, F, 3); ``classes`` (T, F).

    Frames with fewer of them repeat their last one.
    """

    vertices: np.ndarray
    corners: np.ndarray
    classes: np.ndarray


def class_mesh(values: np.ndarray, logits: np.ndarray) -> ClassMesh:
    """Surfaces ``values`` (T, R, C, 3), cut where the likeliest class of ``logits`` changes."""
    faces = triangles(values.shape[1])
    found = [
        _cut(surface.reshape(-1, 3), scores.reshape(-1, logits.shape[-1]), faces)
        for surface, scores in zip(values, logits.astype(float), strict=True)
    ]
    points, corners, classes = zip(*found, strict=True)
    small = _padded(corners).astype(np.uint16), _padded(classes).astype(np.uint8)
    return ClassMesh(_padded(points), *small)


def _cut(
    points: np.ndarray, logits: np.ndarray, faces: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One frame's vertices, faces and their classes."""
    likeliest = logits.argmax(-1)[faces]
    whole = (likeliest == likeliest[:, :1]).all(1)
    more, corners = [points], [faces[whole]]
    classes, count = [likeliest[whole, 0]], len(points)
    for face in faces[~whole]:
        for label, shares in _regions(logits[face]):
            fan = np.arange(1, len(shares) - 1)
            more.append(shares @ points[face])
            corners.append(count + np.stack([np.zeros_like(fan), fan, fan + 1], -1))
            classes.append(np.full(len(fan), label))
            count += len(shares)
    return np.concatenate(more), np.concatenate(corners), np.concatenate(classes)


def _regions(logits: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Where in a triangle with ``logits`` (3, K) the classes of its corners are likeliest.

    Each a convex polygon (M, 3), its corners as shares of the triangle's in order.
    """
    found, likeliest = [], set(logits.argmax(1).tolist())
    for label in likeliest:
        polygon = np.eye(3)
        for other in likeliest:
            if other != label and len(polygon):
                polygon = _clipped(polygon, polygon @ (logits[:, label] - logits[:, other]))
        if len(polygon) > 2:
            found.append((label, polygon))
    return found


def _clipped(polygon: np.ndarray, lead: np.ndarray) -> np.ndarray:
    """The part of a convex ``polygon`` (M, 3) where ``lead`` (M,) at its corners is positive."""
    kept = []
    for i in range(len(polygon)):
        j = (i + 1) % len(polygon)
        if lead[i] > 0:
            kept.append(polygon[i])
        if (lead[i] > 0) != (lead[j] > 0):
            share = lead[i] / (lead[i] - lead[j])
            kept.append(polygon[i] + share * (polygon[j] - polygon[i]))
    return np.array(kept).reshape(-1, 3)


def _padded(rows: tuple[np.ndarray, ...]) -> np.ndarray:
    """(T, M, ...): ``rows`` of any length, the last of each repeated."""
    longest = max(map(len, rows))
    return np.stack([row[np.minimum(np.arange(longest), len(row) - 1)] for row in rows])
