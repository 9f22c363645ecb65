"""Quantities over a chart and over the triangle of attention weights. Plain Plotly.

Texts and papers are left to the theme of the page. A corner of the triangle is where one weight is
1. Shapes: R x C grid points, M measured points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.theory import ConicResult
from ui.common.words import rough
from ui.drawing import palette
from ui.drawing.chart_map import chart_map, plane_line
from ui.drawing.colours import ColourScale, scale_of
from ui.drawing.lines import zero_curve

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])  # where a1, a2, a3 are 1
PIXELS = (121, 105)  # across and up: as many points of the triangle as are coloured
LINE_POINTS = 241  # along a side of the triangle, where the conic is looked for
EDGE = 0.004  # of a weight: half a pixel
ROOM = 0.06  # of a side, around the triangle


def map_figure(
    field: np.ndarray, axis: np.ndarray, scale: ColourScale, symbol: str,
    signed: np.ndarray | None = None, error: np.ndarray | None = None,
) -> go.Figure:  # fmt: skip
    """Draw ``field`` (R, C) over the chart, hatched where it is NaN; see `chart_map`."""
    return chart_map(field, axis, scale, symbol, ("u", "v"), _bar(scale), _layout(280),
                     signed=signed, error=error, hatched=True)  # fmt: skip


def _layout(height: int) -> dict[str, Any]:
    return {
        "height": height, "margin": {"l": 36, "r": 8, "t": 8, "b": 36}, "showlegend": False,
        "hovermode": "closest", "dragmode": False,
    }  # fmt: skip


def _bar(scale: ColourScale) -> dict[str, Any]:
    """The ends of the colours in the quantity's own unit, at shares of the scale."""
    low, high = map(rough, scale.ends)
    ticks = {0.0: low, 1.0: high}
    if scale.collapsed:
        ticks = {0.5: "0"}
    elif scale.low < 0 < scale.high:
        ticks |= {-scale.low / (scale.high - scale.low): "0"}
    return {"thickness": 8, "len": 0.9, "xpad": 2, "tickvals": list(ticks),
            "ticktext": list(ticks.values())}  # fmt: skip


# --- The triangle ---------------------------------------------------------------------------------


def triangle_figure(conic: ConicResult) -> go.Figure:
    """Draw the exact K of the nearest measured point, and the line where the formula is 0."""
    scale = scale_of("curvature", [conic.gaussian])
    nearest, across, up = nearest_points(conic.weights)
    inside = nearest >= 0

    def spread(values: np.ndarray) -> np.ndarray:
        return np.where(inside, values[np.where(inside, nearest, 0)], np.nan)

    e = conic.exponents
    line = conic_line((e.p, e.q, e.r), float(conic.weights.min()))
    read_off = (*conic.weights.T, conic.gaussian, conic.gaussian_error, conic.form)
    shade = np.clip(scale.apply(conic.gaussian), scale.low, scale.high)
    bar = _bar(scale)
    bar["tickvals"] = [scale.low + share * (scale.high - scale.low) for share in bar["tickvals"]]
    heat = {
        "type": "heatmap", "x": across, "y": up, "z": spread(shade), "hoverongaps": False,
        "zmin": scale.low, "zmax": scale.high, "colorscale": scale.colours, "colorbar": bar,
        "customdata": np.stack([spread(values) for values in read_off], -1),
        "hovertemplate": "weights %{customdata[0]:.2f}, %{customdata[1]:.2f}, %{customdata[2]:.2f}"
        "<br>K = %{customdata[3]:.3g}<br>error at most %{customdata[4]:.1g}"
        "<br>formula %{customdata[5]:.3g}<extra></extra>",
    }  # fmt: skip
    outline = plane_line(CORNERS[[0, 1, 2, 0]], {"color": palette.GRID_LINE, "width": 1})
    hidden = {"visible": False, "fixedrange": True}
    return go.Figure({
        "data": [heat, *plane_line(line, {"color": palette.LINE, "width": 3}), *outline],
        "layout": _layout(430) | {
            "xaxis": hidden | {"range": [-ROOM, 1 + ROOM], "constrain": "domain"},
            "yaxis": hidden | {"range": [-ROOM, CORNERS[2, 1] + ROOM], "scaleanchor": "x"},
            "annotations": [
                {"x": x, "y": y, "text": f"α<sub>{number}</sub> = 1", "showarrow": False,
                 "yshift": -12 if y == 0 else 12}
                for number, (x, y) in enumerate(CORNERS, 1)
            ],
        },
    })  # fmt: skip


def conic_line(exponents: tuple[float, float, float], smallest: float) -> np.ndarray:
    """(M, 2): where qr a1^2 + pr a2^2 + pq a3^2 + pqr = 0, no weight below ``smallest``.

    Rows of NaN separate pieces; none but such rows where it does not meet the triangle.
    """
    p, q, r = exponents
    axis = np.linspace(0.0, 1.0, LINE_POINTS)
    a1, a2 = np.meshgrid(axis, axis)
    weights = np.stack([a1, a2, 1 - a1 - a2], -1)
    form = (np.array([q * r, p * r, p * q]) * weights**2).sum(-1) + p * q * r
    _, there = zero_curve(form, axis, weights)
    return np.where((there.min(-1) >= smallest)[:, None], there @ CORNERS, np.nan)


def nearest_points(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every coloured point the index of the measured one next to it, -1 outside; x; y."""
    side = round((2 * len(weights) + 0.25) ** 0.5 - 0.5)
    steps = side - 1
    smallest = float(weights.min())
    across = np.linspace(0.0, 1.0, PIXELS[0])
    up = np.linspace(0.0, CORNERS[2, 1], PIXELS[1])
    x, y = np.meshgrid(across, up)
    a3 = y / CORNERS[2, 1]
    a2 = x - a3 / 2
    weights_there = np.stack([1 - a2 - a3, a2, a3], -1)
    inside = weights_there.min(-1) >= smallest - EDGE
    # What lies outside by less than a pixel takes the colour of the edge.
    shares = np.maximum(weights_there - smallest, 0.0)
    shares *= steps / shares.sum(-1, keepdims=True)
    whole = np.round(shares)
    off = whole.sum(-1) - steps  # rounding may be one off: mended where it was nearest to a tie
    worst = np.abs(whole - shares).argmax(-1)[..., None]
    np.put_along_axis(whole, worst, np.take_along_axis(whole, worst, -1) - off[..., None], -1)
    i, j = whole[..., 0].astype(int), whole[..., 1].astype(int)
    index = i * side - i * (i - 1) // 2 + j
    return np.where(inside, index, -1), across, up
