"""A quantity over a chart as a plain Plotly figure. Texts and papers are left to the page's theme.

Shapes: R x C grid points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from ui.drawing import palette
from ui.drawing.colours import ColourScale
from ui.drawing.lines import hatch, zero_curve


def chart_map(
    field: np.ndarray, axis: np.ndarray, scale: ColourScale, symbol: str, names: tuple[str, str],
    bar: dict[str, Any], layout: dict[str, Any], *, signed: np.ndarray | None = None,
    error: np.ndarray | None = None, hatched: bool = False,
) -> go.Figure:  # fmt: skip
    """``field`` (R, C) over the chart ``axis`` x ``axis``; NaN is left open, or ``hatched``.

    Drawn is the place on the ``scale``, from 0 to 1: browsers lose ends that differ in the last
    digit only. So the ticks of the colour ``bar`` are such places. Zeros of ``signed`` (R, C) are a
    dashed line. ``error`` (R, C) is read off beside the field.
    """
    shade = np.clip(scale.apply(field), scale.low, scale.high)
    position = (shade - scale.low) / (scale.high - scale.low)
    known = np.full_like(field, np.nan) if error is None else error
    doubt = "" if error is None else "<br>error at most %{customdata[1]:.1g}"
    traces: list[dict[str, Any]] = [{
        "type": "heatmap", "x": axis, "y": axis, "z": position,
        "zmin": 0, "zmax": 1, "colorscale": scale.colours, "colorbar": bar, "hoverongaps": False,
        "customdata": np.stack([field, known], -1),
        "hovertemplate": "(%{x:.3g}, %{y:.3g})<br>" + symbol + " = %{customdata[0]:.4g}"
        f"{doubt}<extra></extra>",
    }]  # fmt: skip
    if hatched:
        strokes = hatch(np.isnan(field), axis)
        traces += plane_line(strokes, {"color": palette.GRID_LINE, "width": 1})
    if signed is not None:
        zeros, _ = zero_curve(signed, axis, np.zeros((*signed.shape, 1)))
        traces += plane_line(zeros, {"color": palette.LINE, "width": 2, "dash": "dash"}, "K = 0")
    low, high = float(axis[0]), float(axis[-1])
    square = {"range": [low, high], "constrain": "domain", "tickvals": [low, 0, high],
              "zeroline": False, "showgrid": False}  # fmt: skip
    axes = {
        "xaxis": square | {"title": {"text": names[0], "standoff": 2}},
        "yaxis": square | {"title": {"text": names[1], "standoff": 2}, "scaleanchor": "x"},
    }
    return go.Figure({"data": traces, "layout": {"showlegend": False, **layout, **axes}})


def plane_line(points: np.ndarray, line: dict[str, Any], name: str = "") -> list[dict[str, Any]]:
    """A trace of ``points`` (M, 2); none where none of them is finite."""
    if not np.isfinite(points).any():
        return []
    return [{"type": "scatter", "x": points[:, 0], "y": points[:, 1], "mode": "lines",
             "name": name, "line": line, "hoverinfo": "skip"}]  # fmt: skip
