"""Figures that mislead: maps with a colour scale of their own, side views with unequal axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.geometry import SurfaceResult
from ui.common.words import figures, percent
from ui.drawing import palette
from ui.drawing.chart_map import chart_map, plane_line
from ui.drawing.colours import ColourScale
from ui.drawing.lines import grid_lines

INPUTS = ("x<sub>1</sub>", "x<sub>2</sub>")
HEIGHT_PIXELS = 430
BRIGHT, DARK = palette.SIGNED_SCALE[-2][1], palette.SIGNED_SCALE[-1][1]


def quantity_map(
    axis: np.ndarray, field: np.ndarray, scale: ColourScale, symbol: str,
    names: tuple[str, str] = INPUTS, signed: np.ndarray | None = None,
) -> go.Figure:  # fmt: skip
    """``field`` (R, C) over the chart on this ``scale``, with the scale's numbers below it."""
    low, high = scale.low, scale.high
    beyond = f" ({percent(scale.beyond)} of points beyond)" if scale.beyond else ""
    bar = {
        "title": {"text": symbol + beyond, "side": "top"}, "orientation": "h", "y": -0.24,
        "yanchor": "top", "thickness": 12, "len": 0.8, "tickvals": [0, 0.5, 1],
        "ticktext": [_tick(x, scale.log) for x in (low, (low + high) / 2, high)],
    }  # fmt: skip
    layout = _layout(l=45, r=10, t=12, b=122)
    return chart_map(field, axis, scale, symbol, names, bar, layout, signed=signed)


def _tick(x: float, log: bool) -> str:
    return (figures(10**x, 1) if log else figures(x)).replace("-", "−")


def _layout(**margin: int) -> dict[str, Any]:
    return {"height": HEIGHT_PIXELS, "margin": margin, "showlegend": False}


def side_view(surface: SurfaceResult, stretch: float) -> go.Figure:
    """Grid lines and middle section in the plane of y1 and y3, the latter ``stretch``-fold."""
    values = surface.values[0]
    lines, section = grid_lines(values[None])[0], values[len(values) // 2]
    square = {"zeroline": False, "dtick": 0.2, "constrain": "domain"}
    return go.Figure({
        "data": plane_line(lines[:, [0, 2]], {"color": palette.PLANE, "width": 1})
        + plane_line(section[:, [0, 2]], {"color": BRIGHT, "width": 4}, "cross-section"),
        "layout": _layout(l=50, r=10, t=20, b=45) | {
            "xaxis": square | {"title": {"text": "y<sub>1</sub>"}},
            "yaxis": square | {"title": {"text": "y<sub>3</sub>"}, "scaleanchor": "x",
                               "scaleratio": stretch},
        },
    })  # fmt: skip


def globe(surface: SurfaceResult, radius: float) -> go.Figure:
    """A piece of a sphere about the origin, seen from outside, with the outline of the ball."""
    values = surface.values[0]
    towards = values.mean((0, 1)) / np.linalg.norm(values.mean((0, 1)))
    across = np.linalg.svd(towards[None])[2][1:].T  # (3, 2): a basis of the plane of the screen
    seen = values @ across
    rim = np.concatenate([seen[0], seen[:, -1], seen[-1, ::-1], seen[::-1, 0]])
    turn = np.linspace(0, 2 * np.pi, 181)
    outline = radius * np.stack([np.cos(turn), np.sin(turn)], -1)
    piece = plane_line(rim, {"color": BRIGHT, "width": 3})
    bare = {"visible": False, "constrain": "domain"}
    return go.Figure({
        "data": plane_line(outline, {"color": palette.PLANE, "width": 2})
        + [trace | {"fill": "toself", "fillcolor": BRIGHT} for trace in piece]
        + plane_line(grid_lines(seen[None])[0], {"color": DARK, "width": 1.2}),
        "layout": _layout(l=10, r=10, t=20, b=20) | {
            "xaxis": bare, "yaxis": bare | {"scaleanchor": "x"},
        },
    })  # fmt: skip
