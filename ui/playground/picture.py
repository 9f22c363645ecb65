"""The playground's picture: two models as they learn, frame by frame, and the curves beside them.

Shapes: T frames (snapshots of a run), R x C grid points, D model dimension, P data points,
K classes, S seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from gating_core.experiments.comparison import FilmData, FilmSide
from ui.drawing import palette
from ui.drawing.axes import Axes
from ui.drawing.camera import best_camera
from ui.drawing.classified import MOST_CORNERS, boundaries, drawn_planes, face_classes, hatches
from ui.drawing.colours import QUANTILE
from ui.drawing.lines import grid_lines
from ui.drawing.panels import (
    QUIET,
    Panel,
    View,
    boxed,
    cells,
    chart_layout,
    heat,
    line2d,
    line3d,
    mesh,
    plain_text,
    plane_trace,
    ref,
    scene_layout,
)
from ui.playground.curves import Curve, curves_panel

PAINTS = ("class", "curvature")
CHART_NAMES = ("x<sub>1</sub>", "x<sub>2</sub>")
FURTHER = 1.12  # from the scene than on the other pages: boxes of a whole run are often long
SYMBOLS = ("circle", "square", "diamond", "cross")
SIDES = ("left", "right")


def film_view(
    sides: dict[str, FilmSide],
    data: FilmData,
    axes: dict[str, Axes],
    curves: list[Curve],
    paint: str = "class",
    discrete: bool = False,
    gaussian: dict[str, np.ndarray] | None = None,
) -> View:
    """Both sides' surfaces and input planes, and the curves with the current step on them.

    ``paint`` "class" shows the classifier; "curvature" shows ``gaussian``, K (T, R, C) by side, on
    one scale, neutral and hatched where it is NaN: unresolved. A side that is not in it has not
    been measured yet and is neutral. ``discrete`` shows the likeliest class instead of its
    probability.
    """
    if paint not in PAINTS:
        raise ValueError(f"paint is {paint!r}; it must be one of {PAINTS}")
    known = gaussian or {}
    style, beyond = _style(known, data, paint)
    by_faces = paint == "class" and data.class_count > 2
    arrays: dict[str, np.ndarray] = {"axis": data.axis, **cells(len(data.axis))}
    framed: dict[str, np.ndarray] = {}
    columns = []
    for name, side in sides.items():
        own = axes[name]
        values = own.project(side.values)
        colours = _colours(side, paint, discrete, known.get(name), style)
        framed |= {f"{name}_colour": colours} | _surface_arrays(name, side, values, data, own)
        if by_faces:
            framed[f"{name}_faces"] = face_classes(side.logits)
        if paint == "curvature" and name in known:
            framed |= {f"{name}_field": known[name]} | hatches(name, known[name], data.axis)
        low, high = boxed(values.min((0, 1, 2)), values.max((0, 1, 2)))
        flat = drawn_planes(side, own, low, high)
        if flat is not None:
            framed |= {f"{name}_plane_{x}": flat[..., i] for i, x in enumerate("xyz")}
        arrays |= _data_arrays(name, data)
        hatched = f"{name}_hatch_u" in framed
        columns.append(
            [
                _scene(name, data, own, style, low, high, flat is not None, by_faces),
                _plane(name, data, style, paint, hatched),
            ]
        )
    framed["now"] = np.repeat(data.steps[:, None], 2, 1).astype(float)
    columns.append([curves_panel(data.steps, curves, arrays)])
    last = [axes[name].project(side.values[-1]) for name, side in sides.items()]
    return View(
        columns=columns,
        arrays=arrays | framed,
        framed=frozenset(framed),
        frames=len(data.steps),
        camera=_camera(sides, last),
        colour_range=(style["cmin"], style["cmax"]),
        beyond=beyond,
    )


def _camera(sides: dict[str, FilmSide], last: list[np.ndarray]) -> dict[str, dict[str, float]]:
    """Shows both last surfaces broadly, and a loop that the right-hand plane cuts as one."""
    side = list(sides.values())[-1]
    flat = side.values.shape[-1] == 3 and side.logits.shape[-1] == 2
    face = side.weight[-1, :, 1] - side.weight[-1, :, 0] if flat else None
    camera = best_camera(last, face if face is not None and face.any() else None)
    camera["eye"] = {axis: FURTHER * place for axis, place in camera["eye"].items()}
    return camera


def _style(
    gaussian: dict[str, np.ndarray], data: FilmData, paint: str
) -> tuple[dict[str, Any], float]:
    """The colour scale, and of the last step's known K the share that lies beyond it."""
    if paint == "class":
        scale = palette.class_scale(data.colours)
        return {"colorscale": scale, "cmin": 0.0, "cmax": data.class_count - 1.0}, 0.0
    lasts = [field[-1] for field in gaussian.values()]
    sizes = [np.abs(last[~np.isnan(last)]) for last in lasts]
    finite = [x[np.isfinite(x)] for x in sizes]
    ends = [float(np.quantile(x, QUANTILE)) for x in finite if x.size]
    end = palette.symmetric_range(max(ends, default=0.0))[1]
    seen = np.concatenate(sizes) if sizes else np.empty(0)
    beyond = float(np.mean(seen > end)) if seen.size else 0.0
    return {"colorscale": palette.SIGNED_SCALE, "cmin": -end, "cmax": end}, beyond


def _colours(
    side: FilmSide, paint: str, discrete: bool, gaussian: np.ndarray | None, style: dict[str, Any]
) -> np.ndarray:
    """(T, R, C): what the colours show; K beyond the scale has the colour of its end."""
    if paint == "curvature":
        if gaussian is None:
            return np.zeros(side.logits.shape[:3])
        return np.nan_to_num(gaussian, nan=0.0).clip(style["cmin"], style["cmax"])
    if side.logits.shape[-1] > 2:
        return side.logits.argmax(-1).astype(float)
    probability = softmax(side.logits, -1)[..., 1]
    return (probability > 0.5).astype(float) if discrete else probability


def _surface_arrays(
    name: str, side: FilmSide, values: np.ndarray, data: FilmData, axes: Axes
) -> dict[str, np.ndarray]:
    arrays = {}
    boundary = boundaries(side.logits, data.axis, values)
    lines = grid_lines(values)
    on_surface = axes.project(side.data_values)
    for i, x in enumerate("xyz"):
        arrays[f"{name}_{x}"] = values[..., i]
        arrays[f"{name}_grid_{x}"] = lines[..., i]
        arrays[f"{name}_curve_{x}"] = boundary[..., 2 + i]
        for label in range(data.class_count):
            chosen = (data.labels == label) & ~data.tested
            arrays[f"{name}_data{label}_{x}"] = on_surface[:, chosen, i]
    for i, u in enumerate("uv"):
        arrays[f"{name}_curve_{u}"] = boundary[..., i]
    return arrays


def _data_arrays(name: str, data: FilmData) -> dict[str, np.ndarray]:
    arrays = {}
    for label in range(data.class_count):
        for part, where in (("data", ~data.tested), ("test", data.tested)):
            chosen = data.points[(data.labels == label) & where]
            for i, u in enumerate("uv"):
                arrays[f"{name}_{part}{label}_{u}"] = chosen[:, i]
    return arrays


def _scene(
    name: str, data: FilmData, axes: Axes, style: dict[str, Any], low: np.ndarray,
    high: np.ndarray, plane: bool, by_faces: bool,
) -> Panel:  # fmt: skip
    """``by_faces``: faces have one colour each, as between classes 0 and 2 there is no class 1."""
    surface = mesh(name, style)
    if by_faces:
        surface |= {"intensity": ref(f"{name}_faces"), "intensitymode": "cell"}
    traces = [
        surface,
        line3d(f"{name}_grid", palette.GRID_LINE, 2.5),
        line3d(f"{name}_curve", palette.LINE, 8),
    ]
    for label in range(data.class_count):
        marker = _marker(data.colours[label], 3)
        xyz = {x: ref(f"{name}_data{label}_{x}") for x in "xyz"}
        traces.append({"type": "scatter3d", "mode": "markers", **xyz, "marker": marker, **QUIET})
    if plane:
        corners = {x: ref(f"{name}_plane_{x}") for x in "xyz"}
        traces.append(plane_trace(corners, MOST_CORNERS))
    return Panel(
        kind="scene",
        label=f"{name} model: surface in representation space, with data and decision curve",
        traces=traces,
        layout=scene_layout(low, high, axes.names),
        pick={x: f"{name}_{x}" for x in "xyz"},
    )


def _marker(place: int, size: int, hollow: bool = False) -> dict[str, Any]:
    colour = palette.POINT_COLOURS[place]
    symbol = SYMBOLS[place] + ("-open" if hollow else "")
    line = {"color": colour if hollow else "#ffffff", "width": 1.5 if hollow else 1}
    return {"size": size, "color": colour, "symbol": symbol, "line": line}


def _plane(name: str, data: FilmData, style: dict[str, Any], paint: str, hatched: bool) -> Panel:
    names = [plain_text(name) for name in data.names]
    reading = f"{names[1]} with p = %{{z:.2f}}"
    if paint == "class" and data.class_count > 2:
        known = ", ".join(f"{place}: {name}" for place, name in enumerate(names))
        reading = f"%{{z}} of {known}"
    extra: dict[str, Any] = {}
    if hatched:
        reading, extra = "K = %{customdata:.3g}", {"customdata": ref(f"{name}_field")}
    elif paint == "curvature":
        reading = "K is not measured yet"
    traces = [
        heat(f"{name}_colour", style, reading, **extra),
        line2d(f"{name}_curve_u", f"{name}_curve_v", palette.LINE, 3),
    ]
    if hatched:
        traces.append(line2d(f"{name}_hatch_u", f"{name}_hatch_v", palette.GRID_LINE, 1))
    for part, size, hollow in (("data", 6, False), ("test", 6, True)):
        for label in range(data.class_count):
            uv = {x: ref(f"{name}_{part}{label}_{u}") for x, u in zip("xy", "uv", strict=True)}
            marker = _marker(data.colours[label], size, hollow)
            traces.append({"type": "scatter", "mode": "markers", **uv, "marker": marker, **QUIET})
    return Panel(
        kind="plane",
        label=f"{name} model: decision boundary in the input plane",
        traces=traces,
        layout=chart_layout(data.axis, CHART_NAMES),
        pick={"x": "axis", "y": "axis"},
    )
