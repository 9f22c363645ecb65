"""K over the triangle of attention weights, and the conic of the law on it: how are they drawn?

Plain Plotly. A corner of the triangle is where one weight is 1. Shapes: M measured points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.theory import ConicResult
from ui.drawing import palette
from ui.drawing.lines import zero_curve
from ui.gates.maps import colours, framed, signed_scale

HEIGHT_PIXELS = 430
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])  # where a1, a2, a3 are 1
PIXELS = (121, 105)  # across and up: as many points of the triangle as are coloured
LINE_POINTS = 241  # along a side, where the conic is looked for
EDGE = 0.004  # of a weight: half a pixel
ROOM = 0.06  # of a side, around the triangle


def triangle_figure(found: ConicResult) -> go.Figure:
    """The exact K at the nearest measured point, and over it the line on which the formula is 0."""
    scale = signed_scale([found.gaussian])
    nearest, across, up = _nearest(found.weights)
    inside = nearest >= 0
    place = np.where(inside, nearest, 0)

    def spread(values: np.ndarray) -> np.ndarray:
        return np.where(inside, values[place], np.nan)

    e = found.exponents
    line = conic_line((e.p, e.q, e.r), float(found.weights.min()))
    read_off = (*found.weights.T, found.gaussian, found.gaussian_error, found.form)
    heat = {
        "type": "heatmap", "x": across, "y": up, "hoverongaps": False,
        "z": spread(np.clip(scale.apply(found.gaussian), scale.low, scale.high)),
        "customdata": np.stack([spread(values) for values in read_off], -1),
        "hovertemplate": "weights %{customdata[0]:.2f}, %{customdata[1]:.2f}, %{customdata[2]:.2f}"
        "<br>K = %{customdata[3]:.3g}<br>error at most %{customdata[4]:.1g}"
        "<br>formula %{customdata[5]:.3g}<extra></extra>",
        **colours(scale),
    }  # fmt: skip
    outline = _line(CORNERS[[0, 1, 2, 0]], palette.GRID_LINE, 1)
    hidden = {"visible": False, "fixedrange": True}
    return go.Figure({
        "data": [heat, _line(line, palette.LINE, 3), outline],
        "layout": framed(HEIGHT_PIXELS) | {
            "xaxis": hidden | {"range": [-ROOM, 1 + ROOM], "constrain": "domain"},
            "yaxis": hidden | {"range": [-ROOM, CORNERS[2, 1] + ROOM], "scaleanchor": "x"},
            "annotations": [
                {"x": x, "y": y, "text": f"α<sub>{number}</sub> = 1", "showarrow": False,
                 "yshift": -12 if y == 0 else 12}
                for number, (x, y) in enumerate(CORNERS, 1)
            ],
        },
    })  # fmt: skip


def _line(points: np.ndarray, colour: str, width: int) -> dict[str, Any]:
    return {"type": "scatter", "x": points[:, 0], "y": points[:, 1], "mode": "lines",
            "hoverinfo": "skip", "line": {"color": colour, "width": width}}  # fmt: skip


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


def _nearest(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every coloured point the place of the measured one next to it, -1 outside; x; y."""
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
    place = i * side - i * (i - 1) // 2 + j
    return np.where(inside, place, -1), across, up
