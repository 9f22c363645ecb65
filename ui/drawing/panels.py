"""The parts of the linked view: panels, their traces, and the lines on surfaces.

Nothing is measured here. A `View` is a set of linked panels in columns. Its traces are Plotly
traces in which a data array is a reference {"array": name} into ``arrays``. An array whose name is
in ``framed`` has a leading frame axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ui.drawing import palette
from ui.drawing.lines import triangles

BOX_DIAGONAL = 2.0  # in units of Plotly's normalised scene
SMALLEST_EXTENT = 1e-15  # of a box: the browser squares it in single precision
RESOLUTION = 1e-5  # of the largest coordinate: a hundred steps of single precision
BOX_MARGIN = 0.03  # of the largest extent, around a surface
# One light from the side, far away: a plane has one tone, whatever bends has a gradient.
LIGHTING = {
    "ambient": 0.5,
    "diffuse": 0.8,
    "specular": 0.0,
    "roughness": 0.7,
    "fresnel": 0.0,
    "vertexnormalsepsilon": 0,
    "facenormalsepsilon": 0,
}
MILD = {"ambient": 0.5, "diffuse": 0.55}  # what faces away from the light has a colour, too
UNSHADED = {"ambient": 1.0, "diffuse": 0.0}  # as on a map
LIGHT_PLACE = {"x": 1e5, "y": 1e5, "z": 1e5}
MOST_TICKS = 3  # numbers along an axis
TICK_ROOM = 0.15  # of an axis at both ends, without numbers: those of two axes would meet there
FAINT = {"color": palette.ACCENT, "opacity": 0.1, "lighting": UNSHADED}
PALE = 0.45  # opaque: a piece of space that a sheet in full colour lies in
UNDER = "under"  # what has this "meta" is drawn beneath what lies in the same plane
NOTHING_DRAWN = {  # of an axis; after "visible": False Plotly draws no names in later pictures
    "title": {"text": ""}, "showticklabels": False, "ticks": "", "showgrid": False,
    "zeroline": False, "showline": False, "showbackground": False, "showspikes": False,
}  # fmt: skip
CHART_NAMES = {"inputs": ("x<sub>1</sub>", "x<sub>2</sub>"), "weights": ("u", "v")}  # of its axes
QUIET = {"hoverinfo": "skip", "showlegend": False}
Box = tuple[np.ndarray, np.ndarray]  # its lowest and its highest corner (3,)


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture with its Plotly traces and layout.

    Attributes:
        kind: "scene" (3-D) or "plane" (2-D).
        label: The text that screen readers read.
        pick: Names of the arrays that hold the marker's x, y (and z): (.., R, C) over the grid, or
            the chart's axis (R,) if the panel is the chart itself. A panel without points of the
            chart has none, and takes the full width.
        notes: Texts with a leader line each.
        inside: Points (M, 3) that the scene's camera keeps in the picture; if empty, its whole box.
        layouts: One layout for every frame, if the box changes from frame to frame.
        fits: The points (M, 3) of all these boxes, in units of the camera.
        plain: A text that replaces a plane on a phone.
    """

    kind: str
    label: str
    traces: list[dict[str, Any]]
    layout: dict[str, Any]
    pick: dict[str, str]
    notes: tuple[Note, ...] = ()
    inside: list[list[float]] = field(default_factory=list)
    layouts: list[dict[str, Any]] = field(default_factory=list)
    fits: list[list[float]] = field(default_factory=list)
    plain: str = ""


@dataclass(frozen=True)
class Note:
    """``text`` at point ``place`` of the arrays PREFIX_x, PREFIX_y, PREFIX_z.

    A line joins the text to its point. ``right`` is the text's distance from the point towards the
    middle of the picture and ``down`` its distance downwards, in pixels. If both are zero, the text
    stands on the side away from the middle of all such notes. It is not drawn if the point is NaN.
    """

    text: str
    prefix: str
    place: int
    right: int = 0
    down: int = 0


@dataclass(frozen=True, eq=False)
class View:
    """Columns of panels that share camera, frame and marker."""

    columns: list[list[Panel]]
    arrays: dict[str, np.ndarray]
    framed: frozenset[str]
    frames: int
    camera: dict[str, dict[str, float]]
    colour_range: tuple[float, float]
    beyond: float = 0.0  # share of points whose colour is cut off


def ref(name: str, flat: bool = False) -> dict[str, Any]:
    """Return a reference that stands for the array ``name``; ``flat``: row after row."""
    return {"array": name, "flat": True} if flat else {"array": name}


# --- Traces ---------------------------------------------------------------------------------------


def mesh(side: str, style: dict[str, Any]) -> dict[str, Any]:
    """Return a side's surface: arrays SIDE_x, SIDE_y, SIDE_z, SIDE_colour over cells_i, j, k."""
    return {
        # Not "surface": Plotly refines that twelvefold along each axis, at every frame.
        "type": "mesh3d",
        **{name: ref(f"{side}_{name}", flat=True) for name in "xyz"},
        **{name: ref(f"cells_{name}") for name in "ijk"},
        "intensity": ref(f"{side}_colour", flat=True),
        "showscale": False,
        "lighting": LIGHTING,
        "lightposition": LIGHT_PLACE,
        "hovertemplate": "y = (%{x:.3g}, %{y:.3g}, %{z:.3g})<extra></extra>",
        **style,
    }


def by_class(prefix: str) -> dict[str, Any]:
    """Return a mesh's entries for arrays PREFIX_x to PREFIX_k, coloured by PREFIX_class."""
    return {name: ref(f"{prefix}_{name}") for name in "xyzijk"} | {
        "intensity": ref(f"{prefix}_class"),
        "intensitymode": "cell",
    }


def ground(prefix: str, style: dict[str, Any]) -> dict[str, Any]:
    """Return a flat piece of space, paler than its sheet: arrays PREFIX_x to PREFIX_class."""
    return {
        "type": "mesh3d",
        **by_class(prefix),
        **style,
        "showscale": False,
        "opacity": PALE,
        "lighting": UNSHADED,
        "meta": UNDER,
        **QUIET,
    }


def plane_trace(corners: dict[str, Any]) -> dict[str, Any]:
    """Return the classifier's plane: a transparent rectangle, its four ``corners`` in order."""
    return {
        "type": "mesh3d",
        **corners,
        "i": [0, 0],
        "j": [1, 2],
        "k": [2, 3],
        "color": palette.PLANE,
        "opacity": 0.28,
        "flatshading": True,
        "lighting": UNSHADED,
        **QUIET,
    }


def line3d(prefix: str, colour: str, width: float) -> dict[str, Any]:
    """Return a line in a scene through the arrays PREFIX_x, PREFIX_y, PREFIX_z."""
    line = {"color": colour, "width": width}
    return {"type": "scatter3d", "mode": "lines", **xyz(prefix), "line": line, **QUIET}


def line2d(
    prefix: str, colour: str, width: float, letters: str = "uv", **more: Any
) -> dict[str, Any]:
    """Return a line in a plane through the arrays PREFIX_u, PREFIX_v, or of other ``letters``."""
    x, y = (ref(f"{prefix}_{letter}") for letter in letters)
    line = {"color": colour, "width": width, **more}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, **QUIET}


def heat(field: str, style: dict[str, Any], reading: str, **more: Any) -> dict[str, Any]:
    """Return a map of the array ``field`` over the chart, in the colours of a mesh's ``style``.

    ``reading`` is the hover text. Where a value in it is missing (NaN), it reads "not known".
    """
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
        "hovertemplatefallback": "not known",
        **more,
    }


def closed(corners: np.ndarray) -> np.ndarray:
    """Return (..., 4, 3): the ``corners`` (..., 3, 3) of a triangle, and the first one again."""
    return np.concatenate([corners, corners[..., :1, :]], -2)


def value_triangle(ring: str, filled: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return three value vectors and the triangle between them: arrays RING_x, RING_y, RING_z.

    Each array has the three coordinates and the first one again, see `closed`. ``filled`` is the
    trace of the triangle's area; without it the area is drawn faintly.
    """
    filled = filled or {
        "type": "mesh3d",
        **xyz(ring),
        **{name: [index] for index, name in enumerate("ijk")},
        **FAINT,
        **QUIET,
    }
    outline = {
        "type": "scatter3d",
        "mode": "lines+markers",
        **xyz(ring),
        "line": {"color": palette.ACCENT, "width": 4},
        "marker": {"color": palette.ACCENT, "size": 5},
        **QUIET,
    }
    return [filled, outline]


def xyz(prefix: str) -> dict[str, dict[str, str]]:
    """Return references to the arrays PREFIX_x, PREFIX_y, PREFIX_z."""
    return {name: ref(f"{prefix}_{name}") for name in "xyz"}


def cells(size: int) -> dict[str, np.ndarray]:
    """Return the arrays cells_i, cells_j, cells_k of a grid of ``size`` rows and columns."""
    return {f"cells_{name}": corner for name, corner in zip("ijk", triangles(size).T, strict=True)}


def scene_layout(
    low: np.ndarray, high: np.ndarray, names: tuple[str, ...], factors: np.ndarray | None = None
) -> dict[str, Any]:
    """Return axes called ``names`` over the box from ``low`` to ``high`` (3,), undistorted.

    Without names the axes are not drawn. ``factors`` (3,) multiply the drawn size along each axis.
    The page must then say so beside the picture.
    """
    axes: dict[str, dict[str, Any]] = {
        f"{name}axis": {"range": [low[i], high[i]], **({} if names else NOTHING_DRAWN)}
        for i, name in enumerate("xyz")
    }
    for index, name in enumerate(names):
        axis = axes[f"{'xyz'[index]}axis"]
        axis |= {"title": {"text": name}, "tickvals": round_numbers(low[index], high[index])}
        axis["exponentformat"] = "power"
    seen = high - low if factors is None else (high - low) * factors
    # Undistorted, like Plotly's "data"; all boxes have one diagonal.
    length = max(float(np.linalg.norm(seen)), np.finfo(float).tiny)
    aspect = dict(zip("xyz", (BOX_DIAGONAL * seen / length).tolist(), strict=True))
    return {"aspectmode": "manual", "aspectratio": aspect, **plain(axes)}


def round_numbers(low: float, high: float) -> list[float]:
    """Return at most three multiples of 1, 2 or 5 times a power of ten, away from both ends."""
    room = TICK_ROOM * (high - low)
    first, last = float(low + room), float(high - room)
    if not last > first:
        return [float(low)]
    unit = 10.0 ** np.floor(np.log10(last - first))
    for step in (factor * unit for factor in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)):
        multiples = np.arange(np.ceil(first / step), np.floor(last / step) + 1)
        if len(multiples) <= MOST_TICKS:
            return [float(f"{multiple * step:.6g}") for multiple in multiples]
    return []


def chart_layout(axis: np.ndarray, names: tuple[str, str]) -> dict[str, Any]:
    """Return the layout of a square plane over a chart with rows and columns at ``axis``."""
    ends = [float(axis[0]), float(axis[-1])]
    shared = {"range": ends, "constrain": "domain", "tickvals": [-1, 0, 1], "zeroline": False}
    return {
        "xaxis": {**shared, "title": {"text": names[0]}},
        "yaxis": {**shared, "title": {"text": names[1]}, "scaleanchor": "x"},
    }


def boxed(low: np.ndarray, high: np.ndarray) -> Box:
    """Return the box with a margin. It is large enough for the browser's single precision."""
    extent, largest = float((high - low).max()), float(np.abs([low, high]).max())
    least = max(SMALLEST_EXTENT, RESOLUTION * largest)
    margin = BOX_MARGIN * extent + max(least - extent, 0.0) / 2
    margin += 2 * float(np.spacing(largest + margin))  # or rounding the ends would take from it
    return low - margin, high + margin


def plain(tree: Any) -> Any:
    """Return ``tree`` with NumPy numbers turned into Python numbers, for JSON."""
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [plain(value) for value in tree]
    return tree.item() if isinstance(tree, np.generic) else tree


def plain_figure(traces: Sequence[dict[str, Any]], layout: dict[str, Any]) -> go.Figure:
    """Return a figure whose properties are not validated: that takes twice the time of the rest.

    `tests/ui/test_states.py` validates the charts of all pages.
    """
    return go.Figure({"data": traces, "layout": layout}, _validate=False)


def subplot(index: int) -> dict[str, str]:
    """Return the names of the axes of panel ``index`` (from 0) of a figure, for its traces."""
    number = index + 1 if index else ""
    return {"xaxis": f"x{number}", "yaxis": f"y{number}"}


def subplot_title(text: str, x: float, y: float, size: int) -> dict[str, Any]:
    """Return a title ``size`` pixels high. Its foot is at the shares ``x``, ``y`` of a figure."""
    return {
        "text": text, "x": x, "xanchor": "center", "xref": "paper", "y": y, "yanchor": "bottom",
        "yref": "paper", "showarrow": False, "font": {"size": size},
    }  # fmt: skip
