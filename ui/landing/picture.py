"""The landing page's picture: two classifiers' surfaces over their input planes, linked."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from gating_core.experiments.comparison import CutSurface
from gating_core.geometry import SurfaceResult
from ui.drawing import palette
from ui.drawing.camera import best_camera
from ui.drawing.classified import plane_in_box
from ui.drawing.colours import QUANTILE
from ui.drawing.lines import grid_lines, zero_curve
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
    plane_trace,
    ref,
    scene_layout,
    value_triangle,
    xyz,
)

COLOURINGS = ("class", "curvature")
CHART_NAMES = ("x<sub>1</sub>", "x<sub>2</sub>")
AXIS_NAMES = ("y<sub>1</sub>", "y<sub>2</sub>", "y<sub>3</sub>")


def curvature_colour_range(surface: SurfaceResult, frame: int = -1) -> tuple[float, float]:
    """Where the colours of K end, symmetric about zero, and the share of points beyond it."""
    sizes = np.abs(surface.gaussian[frame][surface.resolved[frame]])
    end = palette.symmetric_range(float(np.quantile(sizes, QUANTILE)) if sizes.size else 0)[1]
    return end, float((sizes > end).mean()) if sizes.size else 0.0


def pair_view(left: CutSurface, right: CutSurface, colouring: str = "class") -> View:
    """Two surfaces in R^3 over their input planes; frames are those of ``right``.

    ``colouring`` "class" shows the classifier's probability, "curvature" shows K on one scale.
    """
    if colouring not in COLOURINGS:
        raise ValueError(f"colouring is {colouring!r}; it must be one of {COLOURINGS}")
    axis = left.surface.axis
    arrays: dict[str, np.ndarray] = {"axis": axis, **cells(len(axis))}
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
    curves = [zero_curve(m, axis, y) for m, y in zip(cut.margin, values, strict=True)]
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


def _scene(side: str, cut: CutSurface, style: dict[str, Any]) -> Panel:
    values = cut.surface.values
    low, high = values.min((0, 1, 2)), values.max((0, 1, 2))
    if side == "left":
        low, high = (
            np.minimum(low, cut.value_vectors.min(0)),
            np.maximum(high, cut.value_vectors.max(0)),
        )
    low, high = boxed(low, high)
    traces = [
        mesh(side, style),
        line3d(f"{side}_grid", palette.GRID_LINE, 2.5),
        line3d(f"{side}_curve", palette.LINE, 8),
    ]
    for number, colour in enumerate(palette.POINT_COLOURS[:2]):
        traces.append(
            {
                "type": "scatter3d",
                "mode": "markers",
                **xyz(f"{side}_data{number}"),
                "marker": {"size": 3, "color": colour, "line": {"color": "#ffffff", "width": 0.6}},
                **QUIET,
            }
        )
    plane = plane_in_box(cut.normal, cut.offset, low, high)
    if len(plane):
        traces.append(plane_trace(dict(zip("xyz", plane.T.tolist(), strict=True)), len(plane)))
    if side == "left":
        traces.append(value_triangle(cut.value_vectors))
    return Panel(
        kind="scene",
        label=f"{side} model: surface in representation space, with data, decision curve and the"
        " classifier's plane",
        traces=traces,
        layout=scene_layout(low, high, AXIS_NAMES),
        pick={name: f"{side}_{name}" for name in "xyz"},
    )


def _plane(side: str, cut: CutSurface, style: dict[str, Any]) -> Panel:
    traces = [
        heat(f"{side}_colour", style, "%{z:.3g}"),
        line2d(f"{side}_curve_u", f"{side}_curve_v", palette.LINE, 3),
    ]
    for number, colour in enumerate(palette.POINT_COLOURS[:2]):
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": ref(f"{side}_data{number}_u"),
                "y": ref(f"{side}_data{number}_v"),
                "marker": {"size": 6, "color": colour, "line": {"color": "#ffffff", "width": 1}},
                **QUIET,
            }
        )
    return Panel(
        kind="plane",
        label=f"{side} model: decision boundary in the input plane",
        traces=traces,
        layout=chart_layout(cut.surface.axis, CHART_NAMES),
        pick={"x": "axis", "y": "axis"},
    )
