"""What the linked view is made of: panels, their traces, and the lines drawn on surfaces.

Arrays first, picture second: nothing is measured here. A `View` is a set of linked panels in
columns; its traces are Plotly traces in which a data array is a reference {"array": name} into
``arrays``. An array whose name is in ``framed`` has a leading frame axis.
"""

from __future__ import annotations

import html
import itertools
from dataclasses import dataclass, field
from typing import Any

import contourpy
import numpy as np

from gating_core import palette

GRID_STEP = 6  # every sixth row and column is drawn on the surface
BOX_DIAGONAL = 2.0  # in units of Plotly's normalised scene
BOX_MARGIN = 0.03  # of the largest extent, around a surface
CAMERA_DISTANCE = 2.05  # in units of Plotly's normalised scene
LIGHTING = {"ambient": 0.82, "diffuse": 0.35, "specular": 0.05, "roughness": 0.9}
QUIET = {"hoverinfo": "skip", "showlegend": False}


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture: ``kind`` "scene" (3-D) or "plane" (2-D), Plotly traces and layout.

    ``pick`` names the arrays that hold the marker's x, y (and z): (.., R, C) over the grid, or the
    chart's axis (R,) where the panel is the chart itself; empty where a panel shows no points of
    the chart, and takes the full width.
    """

    kind: str
    label: str
    traces: list[dict[str, Any]]
    layout: dict[str, Any]
    pick: dict[str, str]


@dataclass(frozen=True, eq=False)
class View:
    """Columns of panels that share camera, frame and marker."""

    columns: list[list[Panel]]
    arrays: dict[str, np.ndarray]
    framed: frozenset[str]
    frames: int
    camera: dict[str, dict[str, float]]
    colour_range: tuple[float, float]
    beyond: float = field(default=0.0)  # share of points whose colour is cut off


def ref(name: str, flat: bool = False) -> dict[str, Any]:
    """A reference to a named array, in place of the array; ``flat``: row after row."""
    return {"array": name, "flat": True} if flat else {"array": name}


# --- Traces ---------------------------------------------------------------------------------------


def mesh(side: str, style: dict[str, Any]) -> dict[str, Any]:
    """The surface of one side: arrays SIDE_x, SIDE_y, SIDE_z and SIDE_colour over cells_i, j, k."""
    return {
        # Not "surface": Plotly refines that twelvefold along each axis, at every frame.
        "type": "mesh3d",
        **{name: ref(f"{side}_{name}", flat=True) for name in "xyz"},
        **{name: ref(f"cells_{name}") for name in "ijk"},
        "intensity": ref(f"{side}_colour", flat=True),
        **style,
        "showscale": False,
        "lighting": LIGHTING,
        "hovertemplate": "y = (%{x:.3g}, %{y:.3g}, %{z:.3g})<extra></extra>",
    }


def plain_text(text: str) -> str:
    """``text`` from outside, so that Plotly shows it as it is: neither mark-up nor placeholder."""
    return html.escape(text, quote=False).replace("%{", "% {")


def plane_trace(corners: dict[str, Any], count: int) -> dict[str, Any]:
    """The classifier's plane: a see-through polygon with ``count`` corners, in order."""
    fan = np.arange(1, count - 1)
    return {
        "type": "mesh3d",
        **corners,
        "i": [0] * len(fan),
        "j": fan.tolist(),
        "k": (fan + 1).tolist(),
        "color": palette.PLANE,
        "opacity": 0.28,
        "flatshading": True,
        "lighting": {"ambient": 1.0, "diffuse": 0.0},
        **QUIET,
    }


def line3d(prefix: str, colour: str, width: float) -> dict[str, Any]:
    """A line in a scene through the arrays PREFIX_x, PREFIX_y, PREFIX_z."""
    line = {"color": colour, "width": width}
    return {"type": "scatter3d", "mode": "lines", **xyz(prefix), "line": line, **QUIET}


def line2d(x: str, y: str, colour: str, width: float, **more: Any) -> dict[str, Any]:
    """A line in a plane through the arrays called ``x`` and ``y``."""
    line = {"color": colour, "width": width, **more}
    return {"type": "scatter", "mode": "lines", "x": ref(x), "y": ref(y), "line": line, **QUIET}


def heat(field: str, style: dict[str, Any], reading: str, **more: Any) -> dict[str, Any]:
    """The array called ``field`` over the chart, coloured as a mesh of that ``style`` is."""
    return {
        "type": "heatmap",
        "x": ref("axis"),
        "y": ref("axis"),
        "z": ref(field),
        "zmin": style["cmin"],
        "zmax": style["cmax"],
        "colorscale": style["colorscale"],
        "showscale": False,
        "hovertemplate": f"(%{{x:.2f}}, %{{y:.2f}})<br>{reading}<extra></extra>",
        **more,
    }


def value_triangle(corners: np.ndarray) -> dict[str, Any]:
    """The value vectors (n, 3), joined in a ring."""
    ring = np.concatenate([corners, corners[:1]])
    return {
        "type": "scatter3d",
        "mode": "lines+markers",
        **dict(zip("xyz", ring.T.tolist(), strict=True)),
        "line": {"color": palette.ACCENT, "width": 4},
        "marker": {"color": palette.ACCENT, "size": 5},
        **QUIET,
    }


def xyz(prefix: str) -> dict[str, dict[str, str]]:
    """References to the three coordinates of what is called ``prefix``."""
    return {name: ref(f"{prefix}_{name}") for name in "xyz"}


def cells(size: int) -> dict[str, np.ndarray]:
    """The arrays cells_i, cells_j, cells_k of a grid of ``size`` rows and columns."""
    return {f"cells_{name}": corner for name, corner in zip("ijk", triangles(size).T, strict=True)}


def scene_layout(low: np.ndarray, high: np.ndarray, names: tuple[str, ...]) -> dict[str, Any]:
    """Axes called ``names`` over the box from ``low`` to ``high`` (3,), undistorted."""
    axes = {
        f"{name}axis": {"title": {"text": names[i]}, "range": [low[i], high[i]], "nticks": 5}
        for i, name in enumerate("xyz")
    }
    return {"aspectmode": "manual", "aspectratio": true_aspect(high - low), **plain(axes)}


def chart_layout(axis: np.ndarray, names: tuple[str, str]) -> dict[str, Any]:
    """A square plane over a chart whose rows and columns stand at ``axis``."""
    ends = [float(axis[0]), float(axis[-1])]
    shared = {"range": ends, "constrain": "domain", "tickvals": [-1, 0, 1], "zeroline": False}
    return {
        "xaxis": {**shared, "title": {"text": names[0]}},
        "yaxis": {**shared, "title": {"text": names[1]}, "scaleanchor": "x"},
    }


def boxed(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The box with a little room around it."""
    margin = BOX_MARGIN * (high - low).max()
    return low - margin, high + margin


def true_aspect(size: np.ndarray) -> dict[str, float]:
    """Undistorted, like Plotly's "data", but boxes of every shape get the same diagonal."""
    length = max(float(np.linalg.norm(size)), np.finfo(float).tiny)
    return dict(zip("xyz", (BOX_DIAGONAL * size / length).tolist(), strict=True))


def plain(tree: Any) -> Any:
    """``tree`` with NumPy numbers made plain, for JSON."""
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [plain(value) for value in tree]
    return tree.item() if isinstance(tree, np.generic) else tree


# --- Lines and cameras ----------------------------------------------------------------------------


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

    Rows of NaN separate pieces. The points on the surface (R, C, D) are interpolated along the
    edges of the drawn mesh, so that the curve lies on the picture. NaN values have no sign.
    """
    lines = contourpy.contour_generator(axis, axis, np.ma.masked_invalid(field_values)).lines(0.0)
    gap = np.full((1, 2), np.nan)
    chart = np.concatenate([piece for line in lines for piece in (line, gap)] or [gap])
    position = np.nan_to_num((chart - axis[0]) / (axis[1] - axis[0]))
    cell = np.clip(position.astype(int), 0, len(axis) - 2)
    (a, b), (i, j) = (position - cell).T[:, :, None], cell.T
    lifted = (1 - b) * ((1 - a) * surface[j, i] + a * surface[j, i + 1]) + b * (
        (1 - a) * surface[j + 1, i] + a * surface[j + 1, i + 1]
    )
    lifted[np.isnan(chart[:, 0])] = np.nan
    return chart, lifted


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


def best_camera(
    surfaces: list[np.ndarray], face: np.ndarray | None = None
) -> dict[str, dict[str, float]]:
    """A Plotly camera that shows the least visible of the surfaces (R, C, 3) as broadly as it can.

    Among directions around the horizon, the one for which the smallest of these is largest: the
    share of each surface's area that faces the viewer, and, if it is given, how squarely the viewer
    looks against the direction ``face`` (3,), so that a loop in the plane with that normal is seen
    as one.
    """
    turns = np.radians(np.arange(0, 360, 15))
    rises = np.radians([-40, -25, -10, 10, 25, 40, 55])
    eyes = np.array(
        [
            (np.cos(r) * np.cos(t), np.cos(r) * np.sin(t), np.sin(r))
            for r, t in itertools.product(rises, turns)
        ]
    )
    shares = [] if face is None else [eyes @ (face / np.linalg.norm(face))]
    for surface in surfaces:
        across, along = np.diff(surface[:-1], axis=1), np.diff(surface[:, :-1], axis=0)
        cell = np.cross(across, along).reshape(-1, 3)
        area = max(np.linalg.norm(cell, axis=-1).sum(), np.finfo(float).tiny)
        shares.append(np.abs(cell @ eyes.T).sum(0) / area)
    return camera_from(eyes[np.argmax(np.min(shares, axis=0))])


def camera_from(direction: np.ndarray) -> dict[str, dict[str, float]]:
    """A Plotly camera that looks at the middle of a scene from a ``direction`` (3,) of length 1."""
    x, y, z = CAMERA_DISTANCE * direction
    return {
        "eye": {"x": float(x), "y": float(y), "z": float(z)},
        "up": {"x": 0.0, "y": 0.0, "z": 1.0},
        "center": {"x": 0.0, "y": 0.0, "z": 0.0},
    }
