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
from gating_core.film_curves import Curve, curves_panel
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
    hatch,
    heat,
    line2d,
    line3d,
    mesh,
    plane_trace,
    ref,
    scene_layout,
    triangles,
    zero_curve,
)

PAINTS = ("class", "curvature")
CHART_NAMES = ("x<sub>1</sub>", "x<sub>2</sub>")
FURTHER = 1.12  # from the scene than on the other pages: boxes of a whole run are often long
SYMBOLS = {
    "scatter3d": ("circle", "square", "diamond", "cross"),
    "scatter": ("circle", "square", "diamond", "cross"),
}
SIDES = ("left", "right")
MOST_CORNERS = 6  # of a plane in a box
PLANE_TOLERANCE = 0.01  # of the largest margin, and of the points: what a drawn plane may miss


@dataclass(frozen=True, eq=False)
class FilmSide:
    """One model along a run, sampled on the input square.

    ``values`` (T, R, C, D); ``logits`` (T, R, C, K); the classifier's weights ``weight`` (T, D, K)
    and ``bias`` (T, K); ``data_values`` (T, P, D).
    """

    values: np.ndarray
    logits: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    data_values: np.ndarray


@dataclass(frozen=True, eq=False)
class FilmData:
    """What both sides share: ``steps`` (T,), ``axis`` (R,), points (P, 2) and their labels (P,).

    ``tested`` (P,) says which of them were kept for testing; ``names`` and ``colours`` (places in
    the palette) are those of the K classes.
    """

    steps: np.ndarray
    axis: np.ndarray
    points: np.ndarray
    labels: np.ndarray
    tested: np.ndarray
    names: tuple[str, ...]
    colours: tuple[int, ...]

    @property
    def class_count(self) -> int:
        return len(self.names)


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
            framed[f"{name}_faces"] = _face_classes(side.logits)
        if paint == "curvature" and name in known:
            framed |= {f"{name}_field": known[name]} | _hatches(name, known[name], data.axis)
        low, high = boxed(values.min((0, 1, 2)), values.max((0, 1, 2)))
        flat = _planes(side, own, low, high)
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
    ends = [float(np.quantile(x, COLOUR_QUANTILE)) for x in finite if x.size]
    end = palette.symmetric_range(max(ends, default=0.0))[1]
    seen = np.concatenate(sizes) if sizes else np.empty(0)
    beyond = float(np.mean(seen > end)) if seen.size else 0.0
    return {"colorscale": palette.SIGNED_SCALE, "cmin": -end, "cmax": end}, beyond


def _face_classes(logits: np.ndarray) -> np.ndarray:
    """(T, F): the likeliest class in the middle of every face of the mesh."""
    corners = logits.reshape(len(logits), -1, logits.shape[-1])[:, triangles(logits.shape[1])]
    return corners.mean(2).argmax(-1).astype(float)


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


def classifier_planes(
    side: FilmSide, axes: Axes
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The classifier's planes normal . y + offset = 0 in the drawn axes, and where they are honest.

    ``normal`` (T, 3), ``offset`` (T,), ``honest`` (T,): in the drawn axes the plane's margin is the
    classifier's to 1 % of the largest on the surface, and decides alike at 99 % of its points. In
    R^3 it always is; of more dimensions some are not drawn, and a classifier that looks at those
    has no plane in the view. ``None`` where there are more than two classes.
    """
    if side.logits.shape[-1] != 2:
        return None
    across = side.weight[..., 1] - side.weight[..., 0]  # (T, D)
    offset = side.bias[:, 1] - side.bias[:, 0]
    if not axes.principal:
        return across, offset, np.ones(len(offset), dtype=bool)
    normal, offset = across @ axes.basis, offset + across @ axes.origin
    margin = side.logits[..., 1] - side.logits[..., 0]
    drawn = np.einsum("trcd,td->trc", axes.project(side.values), normal)
    drawn = drawn + offset[:, None, None]
    close = np.abs(drawn - margin).max((1, 2)) <= PLANE_TOLERANCE * np.abs(margin).max((1, 2))
    otherwise = ((drawn > 0) != (margin > 0)).mean((1, 2))
    return normal, offset, close & (otherwise <= PLANE_TOLERANCE)


def _planes(side: FilmSide, axes: Axes, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """(T, 6, 3): the classifier's plane in the drawn box; ``None`` where it is never honest."""
    found = classifier_planes(side, axes)
    if found is None or not found[2].any():
        return None
    out = np.full((len(side.weight), MOST_CORNERS, 3), np.nan)
    for frame, (normal, offset, honest) in enumerate(zip(*found, strict=True)):
        corners = plane_in_box(normal, offset, low, high) if honest else ()
        if len(corners):
            out[frame] = corners[np.minimum(np.arange(MOST_CORNERS), len(corners) - 1)]
    return out


def _hatches(name: str, gaussian: np.ndarray, axis: np.ndarray) -> dict[str, np.ndarray]:
    """Diagonal strokes (T, M) over the points of the chart where K is not known."""
    strokes = [hatch(np.isnan(frame), axis) for frame in gaussian]
    out = np.full((len(strokes), max(map(len, strokes)), 2), np.nan)
    for frame, found in zip(out, strokes, strict=True):
        frame[: len(found)] = found
    return {f"{name}_hatch_{u}": out[..., i] for i, u in enumerate("uv")}


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
        marker = _marker("scatter3d", data.colours[label], 3)
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


def _marker(kind: str, place: int, size: int, hollow: bool = False) -> dict[str, Any]:
    colour = palette.POINT_COLOURS[place]
    symbol = SYMBOLS[kind][place] + ("-open" if hollow else "")
    line = {"color": colour if hollow else "#ffffff", "width": 1.5 if hollow else 1}
    return {"size": size, "color": colour, "symbol": symbol, "line": line}


def _plane(name: str, data: FilmData, style: dict[str, Any], paint: str, hatched: bool) -> Panel:
    reading = f"{data.names[1]} with p = %{{z:.2f}}"
    if paint == "class" and data.class_count > 2:
        known = ", ".join(f"{place}: {name}" for place, name in enumerate(data.names))
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
            marker = _marker("scatter", data.colours[label], size, hollow)
            traces.append({"type": "scatter", "mode": "markers", **uv, "marker": marker, **QUIET})
    return Panel(
        kind="plane",
        label=f"{name} model: decision boundary in the input plane",
        traces=traces,
        layout=chart_layout(data.axis, CHART_NAMES),
        pick={"x": "axis", "y": "axis"},
    )
