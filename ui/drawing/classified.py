"""How is a classified surface drawn: its boundary, its classes, and the plane that cuts it?

Shapes: T frames (versions of a model), R x C grid points, F faces of the mesh, D model dimension,
K classes, P data points.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import softmax

from gating_core.experiments.comparison import ClassifierFrames, DrawnData
from gating_core.experiments.specimen import COLOURINGS
from ui.drawing import palette
from ui.drawing.axes import Axes
from ui.drawing.colours import ColourScale, colour_scale
from ui.drawing.lines import grid_lines, hatch, triangles, zero_curve
from ui.drawing.panels import (
    QUIET,
    Panel,
    boxed,
    chart_layout,
    heat,
    line2d,
    line3d,
    mesh,
    plane_trace,
    ref,
    scene_layout,
    value_triangle,
    xyz,
)

CHART_NAMES = ("x<sub>1</sub>", "x<sub>2</sub>")
SYMBOLS = ("circle", "square", "diamond", "cross")
MOST_CORNERS = 6  # of a plane in a box
PLANE_TOLERANCE = 0.01  # of the largest margin, and of the points: what a drawn plane may miss


@dataclass(frozen=True)
class Look:
    """How both sides of a view show a classified surface.

    ``style`` colours meshes and heat maps; ``reading`` is what a heat map says under the pointer;
    each class has one of ``symbols``; points in a scene have an ``outline`` of so many pixels.
    """

    style: dict[str, Any]
    reading: str
    symbols: tuple[str, ...] = SYMBOLS
    outline: float = 1.0


@dataclass(frozen=True, eq=False)
class Sheet:
    """One side of a view: ``frames`` in the drawn ``axes``, with ``data`` on it.

    ``shown`` (T, R, C) is what the colours show; ``faces`` (T, F), if given, colours the mesh in
    its place; ``field`` (T, R, C), if given, is what is read off the chart, hatched where it is
    NaN. ``corners`` (n, 3) are joined in a ring and lie within the box.
    """

    name: str
    frames: ClassifierFrames
    data: DrawnData
    axes: Axes
    shown: np.ndarray
    faces: np.ndarray | None = None
    field: np.ndarray | None = None
    corners: np.ndarray | None = None

    @cached_property
    def values(self) -> np.ndarray:
        """(T, R, C, 3)."""
        return self.axes.project(self.frames.values)

    @cached_property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """What is drawn of space in all frames."""
        low, high = self.values.min((0, 1, 2)), self.values.max((0, 1, 2))
        if self.corners is not None:
            low, high = np.minimum(low, self.corners.min(0)), np.maximum(high, self.corners.max(0))
        return boxed(low, high)

    @cached_property
    def plane(self) -> np.ndarray | None:
        return drawn_planes(self.frames, self.axes, *self.box)


def sheet_arrays(sheet: Sheet) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """What is drawn of one side, by name: arrays with a frame axis, and arrays without one."""
    name, data, values = sheet.name, sheet.data, sheet.values
    on_surface = sheet.axes.project(sheet.frames.data_values)
    boundary = boundaries(sheet.frames.logits, data.axis, values)
    spatial = {"": values, "_grid": grid_lines(values), "_curve": boundary[..., 2:]}
    spatial |= {
        f"_data{label}": on_surface[:, (data.labels == label) & ~data.tested]
        for label in range(data.class_count)
    }
    if sheet.plane is not None:
        spatial["_plane"] = sheet.plane
    framed = {f"{name}_colour": sheet.shown}
    for part, where in spatial.items():
        framed |= {f"{name}{part}_{x}": where[..., i] for i, x in enumerate("xyz")}
    framed |= {f"{name}_curve_{u}": boundary[..., i] for i, u in enumerate("uv")}
    if sheet.faces is not None:
        framed[f"{name}_faces"] = sheet.faces
    if sheet.field is not None:
        framed |= {f"{name}_field": sheet.field} | hatches(name, sheet.field, data.axis)
    fixed = {
        f"{name}_{part}{label}_{u}": data.points[(data.labels == label) & where, i]
        for part, where in _parts(data)
        for label in range(data.class_count)
        for i, u in enumerate("uv")
    }
    return framed, fixed


def _parts(data: DrawnData) -> list[tuple[str, np.ndarray]]:
    """The training points, and the test points where there are any."""
    parts = [("data", ~data.tested), ("test", data.tested)]
    return [(part, where) for part, where in parts if where.any()]


def sheet_panels(sheet: Sheet, look: Look) -> list[Panel]:
    """One side's surface in a scene, over its input plane."""
    return [_scene(sheet, look), _plane(sheet, look)]


def _scene(sheet: Sheet, look: Look) -> Panel:
    name, data = sheet.name, sheet.data
    surface = mesh(name, look.style)
    if sheet.faces is not None:
        surface |= {"intensity": ref(f"{name}_faces"), "intensitymode": "cell"}
    traces = [
        surface,
        line3d(f"{name}_grid", palette.GRID_LINE, 2.5),
        line3d(f"{name}_curve", palette.LINE, 8),
    ]
    for label, place in enumerate(data.colours):
        marker = _marker(place, 3, look.symbols, look.outline)
        dots = {**xyz(f"{name}_data{label}"), "marker": marker}
        traces.append({"type": "scatter3d", "mode": "markers", **dots, **QUIET})
    content = "data and decision curve"
    if sheet.plane is not None:
        traces.append(plane_trace(xyz(f"{name}_plane"), MOST_CORNERS))
        content = "data, decision curve and the classifier's plane"
    if sheet.corners is not None:
        traces.append(value_triangle(sheet.corners))
    return Panel(
        kind="scene",
        label=f"{name} model: surface in representation space, with {content}",
        traces=traces,
        layout=scene_layout(*sheet.box, sheet.axes.names),
        pick={x: f"{name}_{x}" for x in "xyz"},
    )


def _plane(sheet: Sheet, look: Look) -> Panel:
    name, data, reading = sheet.name, sheet.data, look.reading
    extra: dict[str, Any] = {}
    if sheet.field is not None:
        reading, extra = "K = %{customdata:.3g}", {"customdata": ref(f"{name}_field")}
    traces = [
        heat(f"{name}_colour", look.style, reading, **extra),
        line2d(f"{name}_curve_u", f"{name}_curve_v", palette.LINE, 3),
    ]
    if sheet.field is not None:
        traces.append(line2d(f"{name}_hatch_u", f"{name}_hatch_v", palette.GRID_LINE, 1))
    for part, _ in _parts(data):
        for label, place in enumerate(data.colours):
            uv = {x: ref(f"{name}_{part}{label}_{u}") for x, u in zip("xy", "uv", strict=True)}
            marker = _marker(place, 6, look.symbols, hollow=part == "test")
            traces.append({"type": "scatter", "mode": "markers", **uv, "marker": marker, **QUIET})
    return Panel(
        kind="plane",
        label=f"{name} model: decision boundary in the input plane",
        traces=traces,
        layout=chart_layout(data.axis, CHART_NAMES),
        pick={"x": "axis", "y": "axis"},
    )


def _marker(
    place: int, size: int, symbols: tuple[str, ...], outline: float = 1.0, hollow: bool = False
) -> dict[str, Any]:
    colour = palette.POINT_COLOURS[place]
    line = {"color": colour if hollow else "#ffffff", "width": 1.5 if hollow else outline}
    symbol = symbols[place] + ("-open" if hollow else "")
    return {"size": size, "color": colour, "symbol": symbol, "line": line}


def class_colours(logits: np.ndarray, discrete: bool = False) -> np.ndarray:
    """(..., R, C): the probability of the second of two classes; the likeliest of several."""
    if logits.shape[-1] > 2 or discrete:
        return logits.argmax(-1).astype(float)
    return softmax(logits, -1)[..., 1]


def curvature_scale(fields: list[np.ndarray]) -> ColourScale:
    """Colours of K over all ``fields``, NaN where it is not known."""
    return colour_scale(COLOURINGS["curvature"], fields)


def style_of(scale: ColourScale) -> dict[str, Any]:
    return {"colorscale": scale.colours, "cmin": scale.low, "cmax": scale.high}


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
    frames: ClassifierFrames, axes: Axes
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The classifier's planes normal . y + offset = 0 in the drawn axes, and where they are honest.

    ``normal`` (T, 3), ``offset`` (T,), ``honest`` (T,): in the drawn axes the plane's margin is the
    classifier's to 1 % of the largest on the surface, and decides alike at 99 % of its points. In
    R^3 it always is; of more dimensions some are not drawn, and a classifier that looks at those
    has no plane in the view. ``None`` where there are more than two classes.
    """
    if frames.logits.shape[-1] != 2:
        return None
    if not axes.principal:
        return frames.normal, frames.offset, np.ones(len(frames.offset), dtype=bool)
    normal, offset = frames.normal @ axes.basis, frames.offset + frames.normal @ axes.origin
    drawn = np.einsum("trcd,td->trc", axes.project(frames.values), normal)
    drawn, margin = drawn + offset[:, None, None], frames.margin
    close = np.abs(drawn - margin).max((1, 2)) <= PLANE_TOLERANCE * np.abs(margin).max((1, 2))
    otherwise = ((drawn > 0) != (margin > 0)).mean((1, 2))
    return normal, offset, close & (otherwise <= PLANE_TOLERANCE)


def drawn_planes(
    frames: ClassifierFrames, axes: Axes, low: np.ndarray, high: np.ndarray
) -> np.ndarray | None:
    """(T, 6, 3): the classifier's plane in the drawn box; ``None`` where it is never honest."""
    found = classifier_planes(frames, axes)
    if found is None or not found[2].any():
        return None
    out = np.full((len(frames.weight), MOST_CORNERS, 3), np.nan)
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
