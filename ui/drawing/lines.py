"""Which lines are drawn on a surface: its grid, its zeros, and hatches where nothing is known?

Shapes: T frames, R x C grid points, D dimensions.
"""

from __future__ import annotations

import contourpy
import numpy as np

GRID_STEP = 6  # every sixth row and column is drawn on the surface
PLANE_LINES = 8  # parallels to a side of a triangle cut it into so many strips


def hatch(where: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """(M, 2): diagonal strokes over the grid points marked in ``where`` (R, C)."""
    if not where.any():
        return np.full((1, 2), np.nan)
    half = (axis[1] - axis[0]) / 2
    rows, columns = np.nonzero(where)
    centres = np.stack([axis[columns], axis[rows]], -1)
    gap = np.full_like(centres, np.nan)
    return np.stack([centres - half, centres + half, gap], 1).reshape(-1, 2)


def zero_curve(
    field_values: np.ndarray, axis: np.ndarray, surface: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where ``field_values`` (R, C) is zero: (M, 2) in the chart and (M, D) on ``surface``.

    Rows of NaN separate pieces. The points on the surface (R, C, D) are `lifted`, so that the curve
    lies on the picture. NaN values have no sign.
    """
    lines = contourpy.contour_generator(axis, axis, np.ma.masked_invalid(field_values)).lines(0.0)
    gap = np.full((1, 2), np.nan)
    chart = np.concatenate([piece for line in lines for piece in (line, gap)] or [gap])
    return chart, lifted(chart, axis, surface[None])[0]


def lifted(chart: np.ndarray, axis: np.ndarray, surfaces: np.ndarray) -> np.ndarray:
    """(T, M, D): points (M, 2) of the chart on surfaces (T, R, C, D), NaN where they are NaN.

    Interpolated in the cells of the grid; on their edges that is where the drawn mesh is.
    """
    position = np.nan_to_num((chart - axis[0]) / (axis[1] - axis[0]))
    cell = np.clip(position.astype(int), 0, len(axis) - 2)
    (a, b), (i, j) = (position - cell).T[:, :, None], cell.T
    found = (1 - b) * ((1 - a) * surfaces[:, j, i] + a * surfaces[:, j, i + 1]) + b * (
        (1 - a) * surfaces[:, j + 1, i] + a * surfaces[:, j + 1, i + 1]
    )
    found[:, np.isnan(chart[:, 0])] = np.nan
    return found


def plane_lines(values: np.ndarray, axis: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """(M, 2): in the chart, the lines that are straight on a sheet in the plane of a triangle.

    Of the triangle with ``corners`` (3, D) every eighth parallel to a side; ``values`` (R, C, D)
    lie in its plane. Rows of NaN separate pieces.
    """
    shares = barycentric(values, corners)
    gap = np.full((1, 2), np.nan)
    found = [gap]
    for share in np.moveaxis(shares, -1, 0):
        contours = contourpy.contour_generator(axis, axis, share)
        for level in np.arange(1, PLANE_LINES) / PLANE_LINES:
            for line in contours.lines(level):
                found += [np.asarray(line), gap]
    return np.concatenate(found)


def barycentric(values: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """(..., 3): the shares of three ``corners`` (3, D) in points (..., D) of their plane."""
    sides = (corners[1:] - corners[0]).T
    rest = (values - corners[0]) @ np.linalg.pinv(sides).T
    return np.concatenate([1 - rest.sum(-1, keepdims=True), rest], -1)


def triangles(size: int) -> np.ndarray:
    """(2 (size - 1)^2, 3): corners of two triangles for every cell of a grid counted by rows."""
    a = (np.arange(size - 1)[:, None] * size + np.arange(size - 1)).ravel()
    b, c, d = a + 1, a + size, a + size + 1
    return np.concatenate([np.stack([a, b, c], -1), np.stack([b, d, c], -1)])


def grid_lines(values: np.ndarray) -> np.ndarray:
    """(T, M, D): every sixth row and column of surfaces (T, R, C, D), with NaN between them."""
    frames, _, _, dim = values.shape
    gap = np.full((frames, 1, dim), np.nan)
    rows = [values[:, r] for r in range(0, values.shape[1], GRID_STEP)]
    columns = [values[:, :, c] for c in range(0, values.shape[2], GRID_STEP)]
    return np.concatenate([part for line in rows + columns for part in (line, gap)], 1)
