"""The Manifold page's picture: the ungated and the gated surface, their chart and their weights.

Frames are not used here: one strength, one picture. Panels of a side, from above: the surface
(for D = 2 the warped grid), the chart as a heatmap, and for inspection the weights' triangle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gating_core.experiments.specimen import COLOURINGS, MeasuredSpecimen
from ui.drawing import palette
from ui.drawing.axes import Axes
from ui.drawing.camera import best_camera
from ui.drawing.colours import ColourScale, colour_scale
from ui.drawing.lines import grid_lines, hatch, zero_curve
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
    ref,
    scene_layout,
    value_triangle,
)

CHART_NAMES = {"inputs": ("x<sub>1</sub>", "x<sub>2</sub>"), "weights": ("u", "v")}
SIMPLEX = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])  # corners of the triangle
MOST_READ = 8  # weights or gates that are read off at a point


@dataclass(frozen=True)
class Look:
    """What the colours show: a key of `COLOURINGS`, of which layer and head or channel."""

    colouring: str = "curvature"
    layer: int = -1  # the last
    part: int | None = None  # head or channel; None: the mean over them
    asinh: bool = False
    inspect: bool = False  # with the weights' triangle


@dataclass(frozen=True, eq=False)
class ManifoldPicture:
    """The linked view, its colour scale, and by side which arrays can be read off at a point."""

    view: View
    scale: ColourScale
    readouts: list[list[tuple[str, list[str]]]]
    shares: list[float]  # of each side's variance that the drawn axes show


def manifold_view(sides: list[MeasuredSpecimen], axes: Axes, look: Look) -> ManifoldPicture:
    """One column for each of the ``sides``, coloured on one scale."""
    colouring = COLOURINGS[look.colouring]
    fields = [colouring.field(side, look.layer, look.part) for side in sides]
    scale = colour_scale(colouring, fields, look.asinh)
    axis = sides[0].surface.axis
    arrays: dict[str, np.ndarray] = {"axis": axis, **cells(len(axis))}
    columns, readouts, drawn = [], [], []
    for name, side, field in zip(("left", "right"), sides, fields, strict=False):
        values = axes.project(side.surface.values[0])
        drawn.append(values)
        arrays |= _surface_arrays(name, side, values, field) | _colour_arrays(name, field, scale)
        style = {"colorscale": scale.colours, "cmin": scale.low, "cmax": scale.high}
        panels = [
            _scene(name, side, axes, style, look.inspect)
            if values.shape[-1] == 3
            else _warped(name, axes, style),
            _chart(name, side, style, colouring.symbol),
        ]
        read = [("K", [f"{name}_gaussian"]), ("error", [f"{name}_error"])]
        if look.inspect:
            inner, more = _inner_arrays(name, side, look)
            arrays |= inner
            read += more
            if side.specimen.config.value_count == 3:
                panels.append(_simplex(name))
        columns.append(panels)
        readouts.append(read)
    solid = [values[::2, ::2] for values in drawn if values.shape[-1] == 3]
    view = View(
        columns=columns,
        arrays=arrays,
        framed=frozenset(),
        frames=1,
        camera=best_camera(solid) if solid else {},
        colour_range=scale.ends,
        beyond=scale.beyond,
    )
    return ManifoldPicture(view, scale, readouts, [axes.share(s.surface.values) for s in sides])


def _surface_arrays(
    name: str, side: MeasuredSpecimen, values: np.ndarray, field: np.ndarray
) -> dict[str, np.ndarray]:
    """What is drawn and read off whatever the colours show; hatched where ``field`` is not known.

    Of a K that is known to be zero the measured digits are rounding.
    """
    surface = side.surface
    decided = surface.gaussian_where(surface.decided)[0]
    curve, lifted = zero_curve(decided, surface.axis, values)
    lines = grid_lines(values[None])[0]
    strokes = hatch(np.isnan(field), surface.axis)
    arrays = {
        f"{name}_gaussian": surface.known[0],
        f"{name}_error": surface.known_error[0],
        f"{name}_zero_u": curve[:, 0],
        f"{name}_zero_v": curve[:, 1],
        f"{name}_hatch_u": strokes[:, 0],
        f"{name}_hatch_v": strokes[:, 1],
    }
    for i, letter in enumerate("xyz"[: values.shape[-1]]):
        arrays[f"{name}_{letter}"] = values[..., i]
        arrays[f"{name}_grid_{letter}"] = lines[..., i]
        arrays[f"{name}_zero_{letter}"] = lifted[..., i]
    return arrays


def _colour_arrays(name: str, field: np.ndarray, scale: ColourScale) -> dict[str, np.ndarray]:
    """The field, what its colours show of it, and the same with no holes for the surface.

    What lies beyond the scale has the colour of its end: said so, and safe for float32.
    """
    colour = np.clip(scale.apply(field), scale.low, scale.high)
    blank = 0.0 if scale.low < 0 < scale.high else scale.low
    return {
        f"{name}_field": field,
        f"{name}_shade": colour,
        f"{name}_colour": np.nan_to_num(colour, nan=blank),
    }


def _inner_arrays(
    name: str, side: MeasuredSpecimen, look: Look
) -> tuple[dict[str, np.ndarray], list[tuple[str, list[str]]]]:
    """Weights and gates of the chosen layer, and how they are read off."""
    arrays: dict[str, np.ndarray] = {}
    read = []
    heads = side.weights[look.layer]
    chosen = look.part if look.colouring == "entropy" else None
    weights = heads[chosen if chosen is not None and chosen < len(heads) else 0]
    parts = {"α": np.moveaxis(weights, -1, 0)}
    if side.gates:
        parts["gate"] = side.gates[look.layer]
    for label, stack in parts.items():
        names = [f"{name}_{label}{i}" for i in range(min(len(stack), MOST_READ))]
        arrays |= dict(zip(names, stack, strict=False))
        read.append((label, names))
    if weights.shape[-1] == 3:
        flat = weights @ SIMPLEX
        lines = grid_lines(flat[None])[0]
        for i, letter in enumerate("xy"):
            arrays[f"{name}_simplex_{letter}"] = flat[..., i]
            arrays[f"{name}_simplex_grid_{letter}"] = lines[:, i]
    return arrays, read


def _scene(
    name: str, side: MeasuredSpecimen, axes: Axes, style: dict[str, Any], ring: bool
) -> Panel:
    """``ring``: with the triangle of the values, where all outputs lie in it."""
    values = axes.project(side.surface.values[0])
    low, high = values.min((0, 1)), values.max((0, 1))
    traces = [
        mesh(name, style),
        line3d(f"{name}_grid", palette.GRID_LINE, 2.5),
        line3d(f"{name}_zero", palette.LINE, 6),
    ]
    if ring and side.values is not None and _averages_of_three(side):
        corners = axes.project(side.values)
        low, high = np.minimum(low, corners.min(0)), np.maximum(high, corners.max(0))
        traces += value_triangle(corners)
    low, high = boxed(low, high)
    return Panel(
        kind="scene",
        label=f"{name}: the surface in representation space with the chart's grid lines",
        traces=traces,
        layout=scene_layout(low, high, axes.names),
        pick={letter: f"{name}_{letter}" for letter in "xyz"},
    )


def _averages_of_three(side: MeasuredSpecimen) -> bool:
    """Whether the outputs are averages of the last layer's three values and nothing else."""
    config = side.specimen.config
    if config.value_count != 3 or config.heads > 1:
        return False
    plain = not config.residual and config.norm != "post" and not config.output_projection
    gate = config.gate
    return plain and (gate is None or gate.position in ("G2", "G3", "G4"))


def _warped(name: str, axes: Axes, style: dict[str, Any]) -> Panel:
    """D = 2: the chart's grid as the model bends it, in the plane."""
    marker = {"size": 3, "color": ref(f"{name}_colour", flat=True), **style}
    traces = [
        line2d(f"{name}_grid_x", f"{name}_grid_y", palette.GRID_LINE, 1.5),
        {
            "type": "scatter",
            "mode": "markers",
            **{letter: ref(f"{name}_{letter}", flat=True) for letter in "xy"},
            "marker": marker,
            **QUIET,
        },
    ]
    return Panel(
        kind="plane",
        label=f"{name}: the chart's grid lines in the plane of the outputs",
        traces=traces,
        layout={
            "xaxis": {"title": {"text": axes.names[0]}, "zeroline": False},
            "yaxis": {"title": {"text": axes.names[1]}, "zeroline": False, "scaleanchor": "x"},
        },
        pick={letter: f"{name}_{letter}" for letter in "xy"},
    )


def _chart(name: str, side: MeasuredSpecimen, style: dict[str, Any], symbol: str) -> Panel:
    names = CHART_NAMES[side.specimen.chart]
    reading = f"{symbol} = %{{customdata:.3g}}"
    return Panel(
        kind="plane",
        label=f"{name}: {symbol} over the chart, the line K = 0 dashed, what is not known hatched",
        traces=[
            heat(f"{name}_shade", style, reading, customdata=ref(f"{name}_field")),
            line2d(f"{name}_zero_u", f"{name}_zero_v", palette.LINE, 2, dash="dash"),
            line2d(f"{name}_hatch_u", f"{name}_hatch_v", palette.GRID_LINE, 1),
        ],
        layout=chart_layout(side.surface.axis, names),
        pick={"x": "axis", "y": "axis"},
    )


def _simplex(name: str) -> Panel:
    ring = np.concatenate([SIMPLEX, SIMPLEX[:1]])
    bare = {"visible": False, "constrain": "domain"}
    return Panel(
        kind="plane",
        label=f"{name}: the triangle of attention weights with the chart's grid lines in it",
        traces=[
            {
                "type": "scatter",
                "mode": "lines+markers+text",
                "x": ring[:, 0].tolist(),
                "y": ring[:, 1].tolist(),
                "text": ["α<sub>1</sub> = 1", "α<sub>2</sub> = 1", "α<sub>3</sub> = 1", ""],
                "textposition": ["bottom center", "bottom center", "top center", "top center"],
                "line": {"color": palette.ACCENT, "width": 2},
                "marker": {"color": palette.ACCENT, "size": 7},
                **QUIET,
            },
            line2d(f"{name}_simplex_grid_x", f"{name}_simplex_grid_y", palette.GRID_LINE, 1.5),
        ],
        layout={
            "xaxis": {**bare, "range": [-0.2, 1.2]},
            "yaxis": {**bare, "range": [-0.15, 1.05], "scaleanchor": "x"},
        },
        pick={letter: f"{name}_simplex_{letter}" for letter in "xy"},
    )
