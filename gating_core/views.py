"""Two surfaces beside each other: the linked view that the browser component draws.

Arrays first, picture second: nothing is measured here. A `View` is a set of linked panels in
columns; its traces are Plotly traces in which a data array is a reference {"array": name} into
``arrays``. An array whose name is in ``framed`` has a leading frame axis.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import contourpy
import numpy as np
from scipy.special import expit

from gating_core import palette
from gating_core.results import CutSurface, SurfaceResult

GRID_STEP = 6  # every sixth row and column is drawn on the surface
BOX_DIAGONAL = 2.0  # in units of Plotly's normalised scene
BOX_MARGIN = 0.03  # of the largest extent, around a surface
CAMERA_DISTANCE = 2.05  # in units of Plotly's normalised scene
COLOUR_QUANTILE = 0.9  # of |K| over the curved panel's points: where the colours of K end
COLOURINGS = ("class", "curvature")
LIGHTING = {"ambient": 0.82, "diffuse": 0.35, "specular": 0.05, "roughness": 0.9}


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture: ``kind`` "scene" (3-D) or "plane" (2-D), Plotly traces and layout.

    ``pick`` names the coordinates of the marker: arrays (.., R, C) in a scene, the axis in a plane.
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


# --- Geometry of the drawing ----------------------------------------------------------------------


def decision_curve(
    field_values: np.ndarray, axis: np.ndarray, surface: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where ``field_values`` (R, C) is zero: (M, 2) in the chart and (M, D) on ``surface``.

    Rows of NaN separate pieces. The points on the surface (R, C, D) are interpolated along the
    edges of the drawn mesh, so that the curve lies on the picture.
    """
    lines = contourpy.contour_generator(axis, axis, field_values).lines(0.0)
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


def best_camera(surfaces: list[np.ndarray], face: np.ndarray) -> dict[str, dict[str, float]]:
    """A Plotly camera that shows the least visible of the surfaces (R, C, 3) as broadly as it can.

    Among directions around the horizon, the one for which the smallest of these is largest: the
    share of each surface's area that faces the viewer, and how squarely the viewer looks against
    the direction ``face`` (3,), so that a loop in the plane with that normal is seen as one.
    """
    turns = np.radians(np.arange(0, 360, 15))
    rises = np.radians([-40, -25, -10, 10, 25, 40, 55])
    eyes = np.array(
        [
            (np.cos(r) * np.cos(t), np.cos(r) * np.sin(t), np.sin(r))
            for r, t in itertools.product(rises, turns)
        ]
    )
    shares = [eyes @ (face / np.linalg.norm(face))]
    for surface in surfaces:
        across, along = np.diff(surface[:-1], axis=1), np.diff(surface[:, :-1], axis=0)
        cell = np.cross(across, along).reshape(-1, 3)
        shares.append(np.abs(cell @ eyes.T).sum(0) / np.linalg.norm(cell, axis=-1).sum())
    x, y, z = CAMERA_DISTANCE * eyes[np.argmax(np.min(shares, axis=0))]
    return {
        "eye": {"x": float(x), "y": float(y), "z": float(z)},
        "up": {"x": 0.0, "y": 0.0, "z": 1.0},
        "center": {"x": 0.0, "y": 0.0, "z": 0.0},
    }


def curvature_colour_range(surface: SurfaceResult, frame: int = -1) -> tuple[float, float]:
    """Where the colours of K end, symmetric about zero, and the share of points beyond it."""
    sizes = np.abs(surface.gaussian[frame][surface.resolved[frame]])
    end = palette.symmetric_range(float(np.quantile(sizes, COLOUR_QUANTILE)) if sizes.size else 0)[
        1
    ]
    return end, float((sizes > end).mean()) if sizes.size else 0.0


# --- The linked view ------------------------------------------------------------------------------


def pair_view(left: CutSurface, right: CutSurface, colouring: str = "class") -> View:
    """Two surfaces in R^3 over their input planes; frames are those of ``right``.

    ``colouring`` "class" shows the classifier's probability, "curvature" shows K on one scale.
    """
    if colouring not in COLOURINGS:
        raise ValueError(f"colouring is {colouring!r}; it must be one of {COLOURINGS}")
    arrays: dict[str, np.ndarray] = {"axis": left.surface.axis}
    corners = triangles(len(left.surface.axis)).T
    arrays |= {f"cells_{name}": corner for name, corner in zip("ijk", corners, strict=True)}
    columns: list[list[Panel]] = []
    framed: set[str] = set()
    end, beyond = curvature_colour_range(right.surface)
    limits = (0.0, 1.0) if colouring == "class" else (-end, end)
    for side, cut in (("left", left), ("right", right)):
        frames, fixed = _cut_arrays(side, cut, colouring)
        arrays.update(frames, **fixed)
        framed.update(frames)
        style = _colour_style(colouring, limits)
        columns.append([_scene(side, cut, style), _plane(side, cut, style)])
    return View(
        columns=columns,
        arrays=arrays,
        framed=frozenset(framed),
        frames=len(right.margin),
        camera=best_camera([left.surface.values[-1], right.surface.values[-1]], right.normal),
        colour_range=limits,
        beyond=0.0 if colouring == "class" else beyond,
    )


def _colour_style(colouring: str, limits: tuple[float, float]) -> dict[str, Any]:
    scale = palette.CLASS_SCALE if colouring == "class" else palette.SIGNED_SCALE
    return {"colorscale": scale, "cmin": limits[0], "cmax": limits[1]}


def _cut_arrays(side: str, cut: CutSurface, colouring: str) -> tuple[dict, dict]:
    """What is drawn of one side: arrays with a frame axis, and arrays without one.

    A side with a single frame is the same in all frames of the other.
    """
    values, axis = cut.surface.values, cut.surface.axis
    colour = expit(cut.margin) if colouring == "class" else cut.surface.gaussian
    curves = [decision_curve(m, axis, y) for m, y in zip(cut.margin, values, strict=True)]
    longest = max(len(chart) for chart, _ in curves)
    curve = np.full((len(curves), longest, 5), np.nan)
    for frame, (chart, lifted) in enumerate(curves):
        curve[frame, : len(chart)] = np.concatenate([chart, lifted], -1)
    arrays = {f"{side}_colour": colour}
    for i, name in enumerate("xyz"):
        arrays[f"{side}_{name}"] = values[..., i]
        arrays[f"{side}_grid_{name}"] = grid_lines(values)[..., i]
        arrays[f"{side}_curve_{name}"] = curve[..., 2 + i]
        for label in (0, 1):
            arrays[f"{side}_data{label}_{name}"] = cut.data_values[:, cut.labels == label, i]
    for i, name in enumerate("uv"):
        arrays[f"{side}_curve_{name}"] = curve[..., i]
    fixed = {
        f"{side}_data{label}_{name}": cut.data[cut.labels == label, i]
        for label in (0, 1)
        for i, name in enumerate("uv")
    }
    if len(curves) == 1:
        return {}, fixed | {name: array[0] for name, array in arrays.items()}
    return arrays, fixed


def _xyz(prefix: str) -> dict[str, dict[str, str]]:
    return {name: ref(f"{prefix}_{name}") for name in "xyz"}


def _scene(side: str, cut: CutSurface, style: dict[str, Any]) -> Panel:
    values = cut.surface.values
    low, high = values.min((0, 1, 2)), values.max((0, 1, 2))
    if side == "left":
        low, high = (
            np.minimum(low, cut.value_vectors.min(0)),
            np.maximum(high, cut.value_vectors.max(0)),
        )
    margin = BOX_MARGIN * (high - low).max()
    low, high = low - margin, high + margin
    quiet = {"hoverinfo": "skip", "showlegend": False}
    traces: list[dict[str, Any]] = [
        {
            # Not "surface": Plotly refines that twelvefold along each axis, at every frame.
            "type": "mesh3d",
            **{name: ref(f"{side}_{name}", flat=True) for name in "xyz"},
            **{name: ref(f"cells_{name}") for name in "ijk"},
            "intensity": ref(f"{side}_colour", flat=True),
            **style,
            "showscale": False,
            "lighting": LIGHTING,
            "hovertemplate": "y = (%{x:.3g}, %{y:.3g}, %{z:.3g})<extra></extra>",
        },
        {
            "type": "scatter3d",
            "mode": "lines",
            **_xyz(f"{side}_grid"),
            "line": {"color": palette.GRID_LINE, "width": 2.5},
            **quiet,
        },
        {
            "type": "scatter3d",
            "mode": "lines",
            **_xyz(f"{side}_curve"),
            "line": {"color": palette.LINE, "width": 8},
            **quiet,
        },
    ]
    for number, colour in enumerate(palette.POINT_COLOURS):
        traces.append(
            {
                "type": "scatter3d",
                "mode": "markers",
                **_xyz(f"{side}_data{number}"),
                "marker": {"size": 3, "color": colour, "line": {"color": "#ffffff", "width": 0.6}},
                **quiet,
            }
        )
    plane = plane_in_box(cut.normal, cut.offset, low, high)
    if len(plane):
        fan = np.arange(1, len(plane) - 1)
        traces.append(
            {
                "type": "mesh3d",
                **dict(zip("xyz", plane.T.tolist(), strict=True)),
                "i": [0] * len(fan),
                "j": fan.tolist(),
                "k": (fan + 1).tolist(),
                "color": palette.PLANE,
                "opacity": 0.28,
                "flatshading": True,
                "lighting": {"ambient": 1.0, "diffuse": 0.0},
                **quiet,
            }
        )
    if side == "left":
        corners = np.concatenate([cut.value_vectors, cut.value_vectors[:1]])
        traces.append(
            {
                "type": "scatter3d",
                "mode": "lines+markers",
                **dict(zip("xyz", corners.T.tolist(), strict=True)),
                "line": {"color": palette.ACCENT, "width": 4},
                "marker": {"color": palette.ACCENT, "size": 5},
                **quiet,
            }
        )
    layout = {
        f"{name}axis": {
            "title": {"text": f"y<sub>{i + 1}</sub>"},
            "range": [low[i], high[i]],
            "nticks": 5,
        }
        for i, name in enumerate("xyz")
    }
    return Panel(
        kind="scene",
        label=f"{side} model: surface in representation space, with data, decision curve and the"
        " classifier's plane",
        traces=traces,
        layout={"aspectmode": "manual", "aspectratio": _true_aspect(high - low), **_plain(layout)},
        pick={name: f"{side}_{name}" for name in "xyz"},
    )


def _true_aspect(size: np.ndarray) -> dict[str, float]:
    """Undistorted, like Plotly's "data", but boxes of every shape get the same diagonal."""
    return dict(zip("xyz", (BOX_DIAGONAL * size / np.linalg.norm(size)).tolist(), strict=True))


def _plane(side: str, cut: CutSurface, style: dict[str, Any]) -> Panel:
    quiet = {"hoverinfo": "skip", "showlegend": False}
    heat = {"zmin": style["cmin"], "zmax": style["cmax"], "colorscale": style["colorscale"]}
    traces: list[dict[str, Any]] = [
        {
            "type": "heatmap",
            "x": ref("axis"),
            "y": ref("axis"),
            "z": ref(f"{side}_colour"),
            **heat,
            "showscale": False,
            "hovertemplate": "x = (%{x:.2f}, %{y:.2f})<br>%{z:.3g}<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "lines",
            "x": ref(f"{side}_curve_u"),
            "y": ref(f"{side}_curve_v"),
            "line": {"color": palette.LINE, "width": 3},
            **quiet,
        },
    ]
    for number, colour in enumerate(palette.POINT_COLOURS):
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": ref(f"{side}_data{number}_u"),
                "y": ref(f"{side}_data{number}_v"),
                "marker": {"size": 6, "color": colour, "line": {"color": "#ffffff", "width": 1}},
                **quiet,
            }
        )
    ends = [float(cut.surface.axis[0]), float(cut.surface.axis[-1])]
    axis = {"range": ends, "constrain": "domain", "tickvals": [-1, 0, 1], "zeroline": False}
    return Panel(
        kind="plane",
        label=f"{side} model: decision boundary in the input plane",
        traces=traces,
        layout={
            "xaxis": {**axis, "title": {"text": "x<sub>1</sub>"}},
            "yaxis": {**axis, "title": {"text": "x<sub>2</sub>"}, "scaleanchor": "x"},
        },
        pick={"u": "axis", "v": "axis"},
    )


def _plain(tree: Any) -> Any:
    """``tree`` with NumPy numbers made plain, for JSON."""
    if isinstance(tree, dict):
        return {key: _plain(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_plain(value) for value in tree]
    return tree.item() if isinstance(tree, np.generic) else tree
