"""Lines on a surface: grid, zeros, boundaries of classes, hatches.

Shapes: T frames, R x C grid points, D dimensions, M points of a line, in which rows of NaN separate
pieces.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import contourpy
import numpy as np

GRID_STEP = 6  # every sixth row and column is drawn on the surface
PLANE_LINES = 8  # strips into which parallels to a side cut a triangle
FEWEST_STRIPS = 4  # across a sheet, even a small part of its triangle
SMALLEST_STEP = 1e-6  # share of a triangle: finer lines would follow rounding
PLANE_TOLERANCE = 1e-6  # of a sheet's extent


def hatch(where: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Return diagonal strokes (M, 2) over the grid points marked in ``where`` (R, C)."""
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
    """Return where ``field_values`` (R, C) is zero: (M, 2) in the chart, (M, D) on ``surface``.

    Rows of NaN separate pieces. Points are `lifted` to the drawn mesh (R, C, D), so that the curve
    lies on the picture. NaN values have no sign.
    """
    chart = joined(_zero_lines(field_values, axis))
    return chart, lifted(chart, axis, surface[None])[0]


def class_boundary(logits: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Return the curves (M, 2) of the chart where the two likeliest classes are equally likely.

    ``logits`` are (R, C, K). Each pair of classes has its own curve, which ends where a third class
    is likelier. Rows of NaN separate pieces.
    """
    pieces, logits = [], logits.astype(float)  # differences of float32 would be rounded once more
    for a, b in itertools.combinations(range(logits.shape[-1]), 2):
        lines = _zero_lines(logits[..., b] - logits[..., a], axis)
        others = np.delete(logits, (a, b), -1)
        if others.shape[-1]:
            lead = (logits[..., a] - others.max(-1))[None, ..., None]
            lines = [part for line in lines for part in _positive(line, lifted(line, axis, lead))]
        pieces += lines
    return joined(pieces)


def joined(lines: Sequence[np.ndarray], dim: int = 2) -> np.ndarray:
    """Join ``lines`` (., ``dim``) to (M, ``dim``), with a row of NaN after each."""
    gap = np.full((1, dim), np.nan)
    return np.concatenate([piece for line in lines for piece in (line, gap)] or [gap])


def _zero_lines(field_values: np.ndarray, axis: np.ndarray) -> list[np.ndarray]:
    values = np.ma.masked_invalid(field_values)
    return list(map(np.asarray, contourpy.contour_generator(axis, axis, values).lines(0.0)))


def _positive(line: np.ndarray, numbers: np.ndarray) -> list[np.ndarray]:
    """Return the parts of a ``line`` (M, 2) where the ``numbers`` of its points are positive."""
    here = numbers.ravel()
    inside = here > 0
    if inside.all():
        return [line]
    parts: list[list[np.ndarray]] = [[line[0]]] if inside[0] else []
    for i in range(1, len(line)):
        if inside[i] != inside[i - 1]:
            share = here[i - 1] / (here[i - 1] - here[i])
            end = line[i - 1] + share * (line[i] - line[i - 1])
            if inside[i]:
                parts.append([end])
            else:
                parts[-1].append(end)
        if inside[i]:
            parts[-1].append(line[i])
    return [np.stack(part) for part in parts]


def lifted(chart: np.ndarray, axis: np.ndarray, surfaces: np.ndarray) -> np.ndarray:
    """Return points (M, 2) of the chart on surfaces (T, R, C, D) as (T, M, D); NaN stays NaN.

    Interpolates bilinearly in the cells of the grid; on cell edges that is the drawn mesh.
    """
    position = np.nan_to_num((chart - axis[0]) / (axis[1] - axis[0]))
    cell = np.clip(position.astype(int), 0, len(axis) - 2)
    (a, b), (i, j) = (position - cell).T[:, :, None], cell.T
    points = (1 - b) * ((1 - a) * surfaces[:, j, i] + a * surfaces[:, j, i + 1]) + b * (
        (1 - a) * surfaces[:, j + 1, i] + a * surfaces[:, j + 1, i + 1]
    )
    points[:, np.isnan(chart[:, 0])] = np.nan
    return points


def plane_lines(
    values: np.ndarray, axis: np.ndarray, corners: np.ndarray | None = None
) -> np.ndarray:
    """Return lines (M, 2) of the chart that are straight on a flat sheet ``values`` (R, C, D).

    With ``corners`` (3, D) of a triangle in its plane: parallels to the sides, at eighths, or
    closer for a small sheet. Without: a square grid. Rows of NaN separate pieces.
    """
    across = _square(values) if corners is None else barycentric(values, corners)
    reach = float(np.ptp(across, axis=(0, 1)).max())
    step = reach / PLANE_LINES
    if corners is not None:
        step = 1 / PLANE_LINES
        while step > SMALLEST_STEP and reach < FEWEST_STRIPS * step:
            step /= 2
    lines: list[np.ndarray] = []
    for share in np.moveaxis(across, -1, 0) if step > 0 else ():  # else it is a point
        contours = contourpy.contour_generator(axis, axis, share)
        for level in range(int(np.ceil(share.min() / step)), int(share.max() // step) + 1):
            lines += map(np.asarray, contours.lines(level * step))
    return joined(lines)


def lies_in_a_plane(values: np.ndarray) -> bool:
    """Return whether points (R, C, D) lie in one plane, to a millionth of their extent."""
    points = values.reshape(-1, values.shape[-1])
    spread = np.linalg.svd(points - points.mean(0), compute_uv=False)
    return len(spread) < 3 or bool(spread[2] <= PLANE_TOLERANCE * spread[0])


def _square(values: np.ndarray) -> np.ndarray:
    """Return coordinates (R, C, 2) in the plane of points (R, C, D), along their widest extent."""
    points = values.reshape(-1, values.shape[-1])
    centred = points - points.mean(0)
    basis = np.linalg.svd(centred, full_matrices=False)[2][:2]
    return (centred @ basis.T).reshape(*values.shape[:2], 2)


def barycentric(values: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return barycentric coordinates (..., 3) of points (..., D) of the plane of ``corners``."""
    sides = (corners[1:] - corners[0]).T
    rest = (values - corners[0]) @ np.linalg.pinv(sides).T
    return np.concatenate([1 - rest.sum(-1, keepdims=True), rest], -1)


def grid_lines(values: np.ndarray) -> np.ndarray:
    """Return every sixth row and column of surfaces (T, R, C, D) as (T, M, D), NaN between."""
    frames, _, _, dim = values.shape
    gap = np.full((frames, 1, dim), np.nan)
    rows = [values[:, r] for r in range(0, values.shape[1], GRID_STEP)]
    columns = [values[:, :, c] for c in range(0, values.shape[2], GRID_STEP)]
    return np.concatenate([part for line in rows + columns for part in (line, gap)], 1)


def segments(lines: np.ndarray) -> np.ndarray:
    """Return the pieces of ``lines`` (M, D), between which there is NaN, as segments (S, 2, D)."""
    pairs = np.stack([lines[:-1], lines[1:]], 1)
    return pairs[np.isfinite(pairs).all((1, 2))]


def stacked(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Stack arrays to (T, ...); lines (M, ...) are filled up with NaN to the longest."""
    if len({x.shape for x in arrays}) == 1:
        return np.stack(arrays)
    out = np.full((len(arrays), max(map(len, arrays)), *arrays[0].shape[1:]), np.nan)
    for row, line in zip(out, arrays, strict=True):
        row[: len(line)] = line
    return out
