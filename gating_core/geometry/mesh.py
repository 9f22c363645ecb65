"""What does the discrete curvature of a triangle mesh say of a surface? R x C grid points."""

from __future__ import annotations

import numpy as np

SLIVER = 1e-12  # area over squared sides: a triangle below it has no angles


def mesh_curvature(values: np.ndarray) -> np.ndarray:
    """PyVista's discrete K (R, C) of the triangulated grid ``values`` (R, C, 3).

    The angle that a vertex lacks of a full turn, over a third of the area of its triangles
    (Meyer et al., *Discrete differential-geometry operators*, 2003). All diagonals run the same
    way: where they flip, as a mesher that picks the shorter one does, the errors of single
    vertices do not get smaller with the grid. NaN on the boundary, where the angle means
    something else, and beside triangles without area, which PyVista counts as flat.
    ``ValueError`` unless ``values`` is (R, C, 3), R and C at least 3, and finite.
    """
    import pyvista  # here: a second to import, and no picture waits for it

    values = np.asarray(values, dtype=float)
    if values.ndim != 3 or values.shape[-1] != 3 or min(values.shape[:2]) < 3:
        raise ValueError(f"values has shape {values.shape}; it must be (R, C, 3) with R, C >= 3")
    if not np.isfinite(values).all():
        raise ValueError("values contains NaN or infinite values; all must be finite")
    shape = values.shape[:2]
    vertices, corners = np.ascontiguousarray(values).reshape(-1, 3), _triangles(*shape)
    mesh = pyvista.PolyData.from_regular_faces(vertices, corners)
    found = np.array(mesh.curvature("gaussian")).reshape(shape)

    a, b, c = (vertices[corner] for corner in corners.T)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=-1)
    sides = ((b - a) ** 2 + (c - a) ** 2).sum(-1)
    found.flat[corners[area <= SLIVER * sides].ravel()] = np.nan
    found[[0, -1]] = found[:, [0, -1]] = np.nan
    return found


def _triangles(rows: int, columns: int) -> np.ndarray:
    """(2 (R - 1) (C - 1), 3): two triangles for every cell of a grid counted by rows."""
    a = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    b, c, d = a + 1, a + columns, a + columns + 1
    return np.concatenate([np.stack([a, b, c], -1), np.stack([b, d, c], -1)])
