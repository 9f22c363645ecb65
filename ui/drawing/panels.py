"""What the linked view is made of: panels, their traces, and the lines drawn on surfaces.

Arrays first, picture second: nothing is measured here. A `View` is a set of linked panels in
columns; its traces are Plotly traces in which a data array is a reference {"array": name} into
``arrays``. An array whose name is in ``framed`` has a leading frame axis.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ui.drawing import palette
from ui.drawing.lines import triangles

BOX_DIAGONAL = 2.0  # in units of Plotly's normalised scene
BOX_MARGIN = 0.03  # of the largest extent, around a surface
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
