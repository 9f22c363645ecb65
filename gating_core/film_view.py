"""The playground's picture: two models as they learn, frame by frame, and the curves beside them.

Shapes: T frames (snapshots of a run), R x C grid points, D model dimension, P data points,
K classes, S seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from gating_core import palette
from gating_core.axes import Axes, coordinate_axes, principal_axes
from gating_core.pair_view import COLOUR_QUANTILE, plane_in_box
from gating_core.views import (
    QUIET,
    Panel,
    View,
    best_camera,
    boxed,
    cells,
    chart_layout,
    grid_lines,
    heat,
    line2d,
    line3d,
    mesh,
    ref,
    scene_layout,
    triangles,
    zero_curve,
)

PAINTS = ("class", "curvature")
CHART_NAMES = ("x<sub>1</sub>", "x<sub>2</sub>")
SYMBOLS = {
    "scatter3d": ("circle", "square", "diamond", "cross"),
    "scatter": ("circle", "square", "diamond", "cross"),
}
SIDES = ("left", "right")
SIDE_COLOURS = {"left": "#6b7280", "right": "#a21caf"}
MOST_CORNERS = 6  # of a plane in a box
BAND = (0.1, 0.9)  # quantiles over the seeds
GAP = 0.06  # between the plots of the curves, of their height


@dataclass(frozen=True, eq=False)
class FilmSide:
    """One model along a run, sampled on the input square.

    ``values`` (T, R, C, D); ``logits`` (T, R, C, K); ``gaussian`` (T, R, C); the classifier's
    weights ``weight`` (T, D, K) and ``bias`` (T, K); ``data_values`` (T, P, D).
    """

    values: np.ndarray
    logits: np.ndarray
    gaussian: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    data_values: np.ndarray


@dataclass(frozen=True, eq=False)
class FilmData:
    """What both sides share: ``steps`` (T,), ``axis`` (R,), points (P, 2) and their labels (P,).

    ``tested`` (P,) says which of them were kept for testing.
    """

    steps: np.ndarray
    axis: np.ndarray
    points: np.ndarray
    labels: np.ndarray
    tested: np.ndarray
    class_count: int


@dataclass(frozen=True, eq=False)
class Curve:
    """A quantity along the run: by side (T, S) over seeds; NaN where it is not known yet."""

    title: str
    by_side: dict[str, np.ndarray]
    shown: dict[str, int]  # the shown seed's column


def film_axes(sides: dict[str, FilmSide]) -> dict[str, Axes]:
    """The drawn axes by side: one basis for both where they have as many dimensions."""
    clouds = {name: x.values[-1].reshape(-1, x.values.shape[-1]) for name, x in sides.items()}
    found = {}
    for name, cloud in clouds.items():
        dim = cloud.shape[-1]
        alike = [other for other in clouds.values() if other.shape[-1] == dim]
        found[name] = coordinate_axes(dim) if dim == 3 else principal_axes(alike)
    return found


def film_view(
    sides: dict[str, FilmSide],
    data: FilmData,
    axes: dict[str, Axes],
    curves: list[Curve],
    paint: str = "class",
    discrete: bool = False,
) -> View:
    """Both sides' surfaces and input planes, and the curves with the current step on them.

    ``paint`` "class" shows the classifier, "curvature" K on one scale; ``discrete`` shows the
    likeliest class instead of its probability.
    """
    if paint not in PAINTS:
        raise ValueError(f"paint is {paint!r}; it must be one of {PAINTS}")
    style, beyond = _style(sides, data.class_count, paint)
    arrays: dict[str, np.ndarray] = {"axis": data.axis, **cells(len(data.axis))}
    framed: dict[str, np.ndarray] = {}
    columns = []
    for name, side in sides.items():
        own = axes[name]
        values = own.project(side.values)
        framed |= _surface_arrays(name, side, values, data, own, paint, discrete)
        low, high = boxed(values.min((0, 1, 2)), values.max((0, 1, 2)))
        flat = _planes(side, own, low, high) if data.class_count == 2 else None
        if flat is not None:
            framed |= {f"{name}_plane_{x}": flat[..., i] for i, x in enumerate("xyz")}
        arrays |= _data_arrays(name, data)
        columns.append(
            [
                _scene(name, data, own, style, low, high, flat is not None, paint),
                _plane(name, data, style, paint),
            ]
        )
    framed["now"] = np.repeat(data.steps[:, None], 2, 1).astype(float)
    columns.append([_curves(data.steps, curves, arrays)])
    last = [axes[name].project(side.values[-1]) for name, side in sides.items()]
    return View(
        columns=columns,
        arrays=arrays | framed,
        framed=frozenset(framed),
        frames=len(data.steps),
        camera=best_camera(last),
        colour_range=(style["cmin"], style["cmax"]),
        beyond=beyond,
    )


def _style(
    sides: dict[str, FilmSide], class_count: int, paint: str
) -> tuple[dict[str, Any], float]:
    if paint == "class":
        if class_count == 2:
            return {"colorscale": palette.CLASS_SCALE, "cmin": 0.0, "cmax": 1.0}, 0.0
        top = class_count - 1.0
        return {"colorscale": palette.class_steps(class_count), "cmin": 0.0, "cmax": top}, 0.0
    lasts = [side.gaussian[-1] for side in sides.values()]
    sizes = [np.abs(last[np.isfinite(last)]) for last in lasts]
    ends = [float(np.quantile(x, COLOUR_QUANTILE)) for x in sizes if x.size]
    end = palette.symmetric_range(max(ends, default=0.0))[1]
    beyond = float(np.mean(np.concatenate(sizes) > end)) if sizes else 0.0
    return {"colorscale": palette.SIGNED_SCALE, "cmin": -end, "cmax": end}, beyond


def _colours(side: FilmSide, paint: str, discrete: bool) -> np.ndarray:
    """(T, R, C): what the colours show."""
    if paint == "curvature":
        return np.nan_to_num(side.gaussian)
    if side.logits.shape[-1] > 2:
        return side.logits.argmax(-1).astype(float)
    probability = softmax(side.logits, -1)[..., 1]
    return (probability > 0.5).astype(float) if discrete else probability


def _surface_arrays(
    name: str, side: FilmSide, values: np.ndarray, data: FilmData, axes: Axes, paint: str,
    discrete: bool,
) -> dict[str, np.ndarray]:  # fmt: skip
    colours = _colours(side, paint, discrete)
    arrays = {f"{name}_colour": colours}
    if _by_faces(data, paint):
        first = triangles(len(data.axis))[:, 0]
        arrays[f"{name}_faces"] = colours.reshape(len(colours), -1)[:, first]
    boundary = _boundaries(side.logits, data.axis, values)
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


def _boundaries(logits: np.ndarray, axis: np.ndarray, values: np.ndarray) -> np.ndarray:
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


def _planes(side: FilmSide, axes: Axes, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """(T, 6, 3): the classifier's plane in the drawn box; ``None`` where D is not 3."""
    if side.values.shape[-1] != 3 or axes.principal:
        return None
    out = np.full((len(side.weight), MOST_CORNERS, 3), np.nan)
    for frame, (weight, bias) in enumerate(zip(side.weight, side.bias, strict=True)):
        corners = plane_in_box(weight[:, 1] - weight[:, 0], bias[1] - bias[0], low, high)
        if len(corners):
            out[frame] = corners[np.minimum(np.arange(MOST_CORNERS), len(corners) - 1)]
    return out


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
    high: np.ndarray, plane: bool, paint: str,
) -> Panel:  # fmt: skip
    surface = mesh(name, style)
    if _by_faces(data, paint):
        surface |= {"intensity": ref(f"{name}_faces"), "intensitymode": "cell"}
    traces = [
        surface,
        line3d(f"{name}_grid", palette.GRID_LINE, 2.5),
        line3d(f"{name}_curve", palette.LINE, 8),
    ]
    for label in range(data.class_count):
        marker = _marker("scatter3d", label, 3)
        xyz = {x: ref(f"{name}_data{label}_{x}") for x in "xyz"}
        traces.append({"type": "scatter3d", "mode": "markers", **xyz, "marker": marker, **QUIET})
    if plane:
        fan = np.arange(1, MOST_CORNERS - 1)
        traces.append(
            {
                "type": "mesh3d",
                **{x: ref(f"{name}_plane_{x}") for x in "xyz"},
                "i": [0] * len(fan),
                "j": fan.tolist(),
                "k": (fan + 1).tolist(),
                "color": palette.PLANE,
                "opacity": 0.28,
                "flatshading": True,
                "lighting": {"ambient": 1.0, "diffuse": 0.0},
                **QUIET,
            }
        )
    return Panel(
        kind="scene",
        label=f"{name} model: surface in representation space, with data and decision curve",
        traces=traces,
        layout=scene_layout(low, high, axes.names),
        pick={x: f"{name}_{x}" for x in "xyz"},
    )


def _by_faces(data: FilmData, paint: str) -> bool:
    """Whether faces have one colour each: between classes 0 and 2 there is no class 1."""
    return paint == "class" and data.class_count > 2


def _marker(kind: str, label: int, size: int, hollow: bool = False) -> dict[str, Any]:
    colour = palette.POINT_COLOURS[label]
    symbol = SYMBOLS[kind][label] + ("-open" if hollow else "")
    line = {"color": colour if hollow else "#ffffff", "width": 1.5 if hollow else 1}
    return {"size": size, "color": colour, "symbol": symbol, "line": line}


def _plane(name: str, data: FilmData, style: dict[str, Any], paint: str) -> Panel:
    reading = {"class": "class 1 with p = %{z:.2f}", "curvature": "K = %{z:.3g}"}[paint]
    if paint == "class" and data.class_count > 2:
        reading = "class %{z}"
    traces = [
        heat(f"{name}_colour", style, reading),
        line2d(f"{name}_curve_u", f"{name}_curve_v", palette.LINE, 3),
    ]
    for part, size, hollow in (("data", 6, False), ("test", 6, True)):
        for label in range(data.class_count):
            uv = {x: ref(f"{name}_{part}{label}_{u}") for x, u in zip("xy", "uv", strict=True)}
            marker = _marker("scatter", label, size, hollow)
            traces.append({"type": "scatter", "mode": "markers", **uv, "marker": marker, **QUIET})
    return Panel(
        kind="plane",
        label=f"{name} model: decision boundary in the input plane",
        traces=traces,
        layout=chart_layout(data.axis, CHART_NAMES),
        pick={"x": "axis", "y": "axis"},
    )


def _curves(steps: np.ndarray, curves: list[Curve], arrays: dict[str, np.ndarray]) -> Panel:
    """All curves above each other on one step axis: the shown seed, and the band over seeds."""
    traces: list[dict[str, Any]] = []
    height = (1 - GAP * (len(curves) - 1)) / len(curves)
    layout: dict[str, Any] = {
        "xaxis": {
            "title": {"text": "step"},
            "range": [0, float(steps[-1])],
            "zeroline": False,
            "anchor": "y",
        }
    }
    arrays["steps"] = steps.astype(float)
    for number, curve in enumerate(curves):
        axis = "y" if number == 0 else f"y{number + 1}"
        bottom = number * (height + GAP)
        known = [x[np.isfinite(x)] for x in curve.by_side.values()]
        top = max((float(x.max()) for x in known if x.size), default=1.0)
        top = top * 1.05 or 1.0
        layout[axis.replace("y", "yaxis")] = {
            "title": {"text": curve.title},
            "domain": [bottom, min(bottom + height, 1.0)],
            "range": [0, top],
            "zeroline": False,
            "nticks": 4,
        }
        for side, over_seeds in curve.by_side.items():
            key = f"curve{number}_{side}"
            arrays |= _band(key, over_seeds, curve.shown[side])
            traces += _curve_traces(key, SIDE_COLOURS[side], axis, over_seeds.shape[1] > 1)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": ref("now"),
                "y": [0, top],
                "yaxis": axis,
                "line": {"color": palette.ACCENT, "width": 2},
                **QUIET,
            }
        )
    return Panel(
        kind="plane",
        label="loss, accuracy and total curvature against steps, with the current step marked",
        traces=traces,
        layout=layout,
        pick={},
    )


def _band(key: str, over_seeds: np.ndarray, shown: int) -> dict[str, np.ndarray]:
    known = np.isfinite(over_seeds).all(1)
    ends = np.full((2, len(over_seeds)), np.nan)
    if known.any():
        ends[:, known] = np.quantile(over_seeds[known], BAND, axis=1)
    return {f"{key}_low": ends[0], f"{key}_high": ends[1], f"{key}_shown": over_seeds[:, shown]}


def _curve_traces(key: str, colour: str, axis: str, band: bool) -> list[dict[str, Any]]:
    thin = {"color": colour, "width": 0}
    shared = {"type": "scatter", "mode": "lines", "x": ref("steps"), "yaxis": axis, **QUIET}
    traces = []
    if band:
        traces = [
            {**shared, "y": ref(f"{key}_low"), "line": thin},
            {
                **shared,
                "y": ref(f"{key}_high"),
                "line": thin,
                "fill": "tonexty",
                "fillcolor": f"{colour}33",
            },
        ]
    return [*traces, {**shared, "y": ref(f"{key}_shown"), "line": {"color": colour, "width": 2.5}}]
