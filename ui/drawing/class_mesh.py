"""Surfaces coloured by class, so that colours meet at the drawn boundary.

A face of the mesh is cut where its likeliest class changes. Logits are interpolated linearly within
a face, as the drawn boundary interpolates them along the edges of the grid.

Shapes: T frames (versions of a model), R x C grid points, K classes, F faces, V vertices.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ui.drawing.lines import joined, stacked, triangles

ROUNDING = 1e-15  # of a triangle's height


@dataclass(frozen=True, eq=False)
class ClassMesh:
    """A mesh: ``vertices`` (T, V, 3), the grid's first; ``corners`` (T, F, 3); ``classes`` (T, F).

    Frames with fewer rows repeat their last one.
    """

    vertices: np.ndarray
    corners: np.ndarray
    classes: np.ndarray


def class_mesh(values: np.ndarray, logits: np.ndarray) -> ClassMesh:
    """Return surfaces ``values`` (T, R, C, 3), cut where the likeliest class changes."""
    faces = triangles(values.shape[1])
    frames = [
        _cut(surface.reshape(-1, 3), scores.reshape(-1, logits.shape[-1]), faces)
        for surface, scores in zip(values, logits.astype(float), strict=True)
    ]
    points, corners, classes = zip(*frames, strict=True)
    small = _padded(corners).astype(np.uint16), _padded(classes).astype(np.uint8)
    return ClassMesh(_padded(points), *small)


def class_triangle(corners: np.ndarray, logits: np.ndarray) -> tuple[ClassMesh, np.ndarray]:
    """Return flat triangles, cut where the likeliest class changes, and the cuts.

    ``corners`` are (T, 3, 3), ``logits`` (T, 3, K) their logits, which are affine on each triangle.
    So the cuts (T, M, 3) are straight lines, known exactly; rows of NaN separate them.
    """
    points, faces, kinds, cuts = [], [], [], []
    for triangle, scores in zip(corners, logits.astype(float), strict=True):
        alike = int(scores.mean(0).argmax()), np.eye(3)
        regions = _without_slivers(_regions(scores, range(scores.shape[1]))) or [alike]
        shares = [polygon for _, polygon in regions]
        fans = [_fan(len(polygon)) for polygon in shares]
        starts = np.cumsum([0, *map(len, shares)])[:-1]
        points.append(np.concatenate(shares) @ triangle)
        faces.append(np.concatenate([start + fan for start, fan in zip(starts, fans, strict=True)]))
        kinds.append(np.repeat([label for label, _ in regions], list(map(len, fans))))
        cuts.append([side @ triangle for polygon in shares for side in _inner_sides(polygon)])
    # The triangle is transparent: a repeated face would show. Frames with fewer faces are filled up
    # with faces of one point.
    longest = max(map(len, faces))
    whole = [np.concatenate([x, np.zeros((longest - len(x), 3), int)]) for x in faces]
    small = np.stack(whole).astype(np.uint16), _padded(tuple(kinds)).astype(np.uint8)
    lines = stacked([joined(sides, dim=3) for sides in cuts])
    return ClassMesh(_padded(tuple(points)), *small), lines


def _without_slivers(regions: list[tuple[int, np.ndarray]]) -> list[tuple[int, np.ndarray]]:
    """Return the ``regions`` (M, 3) broader than rounding; a smaller share of a corner is 0."""
    whole = [(label, np.where(shares < ROUNDING, 0.0, shares)) for label, shares in regions]
    return [(label, shares) for label, shares in whole if (shares.max(0) > 0).all()]


def _fan(count: int) -> np.ndarray:
    """Return the triangles (count - 2, 3) of a convex polygon with ``count`` corners."""
    second = np.arange(1, count - 1)
    return np.stack([np.zeros_like(second), second, second + 1], -1)


def _inner_sides(polygon: np.ndarray) -> list[np.ndarray]:
    """Return the sides (2, 3) of a region (M, 3) that are not on a side of the triangle."""
    ends = zip(polygon, np.roll(polygon, -1, 0), strict=True)
    return [np.stack([a, b]) for a, b in ends if not ((a == 0) & (b == 0)).any()]


def _cut(
    points: np.ndarray, logits: np.ndarray, faces: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return one frame's vertices, faces and their classes."""
    likeliest = logits.argmax(-1)[faces]
    whole = (likeliest == likeliest[:, :1]).all(1)
    more, corners = [points], [faces[whole]]
    classes, count = [likeliest[whole, 0]], len(points)
    for face in faces[~whole]:
        scores = logits[face]
        for label, shares in _regions(scores, set(scores.argmax(1).tolist())):
            fan = _fan(len(shares))
            more.append(shares @ points[face])
            corners.append(count + fan)
            classes.append(np.full(len(fan), label))
            count += len(shares)
    return np.concatenate(more), np.concatenate(corners), np.concatenate(classes)


def _regions(logits: np.ndarray, classes: Collection[int]) -> list[tuple[int, np.ndarray]]:
    """Return the regions of a triangle with ``logits`` (3, K) where each class is likeliest.

    Each region is a convex polygon (M, 3), its corners as shares of the triangle's corners.
    """
    regions = []
    for label in classes:
        polygon = np.eye(3)
        for other in classes:
            lead = polygon @ (logits[:, label] - logits[:, other])
            if not lead.any():  # two classes are equal everywhere: the first one counts
                polygon = polygon[: 0 if other < label else None]
            else:
                polygon = _clipped(polygon, lead)
        if len(polygon) > 2:
            regions.append((label, polygon))
    return regions


def _clipped(polygon: np.ndarray, lead: np.ndarray) -> np.ndarray:
    """Return the part of a convex ``polygon`` (M, 3) where ``lead`` (M,) is positive."""
    corners = []
    ends = zip(polygon, np.roll(polygon, -1, 0), lead, np.roll(lead, -1), strict=True)
    for start, end, at_start, at_end in ends:
        if at_start > 0:
            corners.append(start)
        if (at_start > 0) != (at_end > 0):
            corners.append(start + at_start / (at_start - at_end) * (end - start))
    return np.array(corners).reshape(-1, 3)


def _padded(rows: tuple[np.ndarray, ...]) -> np.ndarray:
    """Stack ``rows`` of different lengths to (T, M, ...), repeating the last entry of each."""
    longest = max(map(len, rows))
    return np.stack([row[np.minimum(np.arange(longest), len(row) - 1)] for row in rows])
