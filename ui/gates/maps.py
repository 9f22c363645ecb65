"""A quantity over a chart, as a small picture of its own: how is it drawn? Plain Plotly.

Texts and papers are left to the theme of the page. Shapes: R x C grid points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.experiments.specimen import COLOURINGS
from ui.common.words import short
from ui.drawing import palette
from ui.drawing.colours import ColourScale, colour_scale
from ui.drawing.lines import hatch, zero_curve

HEIGHT_PIXELS = 280
CONFIG = {"displayModeBar": False}


def signed_scale(fields: Sequence[np.ndarray]) -> ColourScale:
    """One scale of K for several maps, linear near zero and logarithmic beyond."""
    return colour_scale(COLOURINGS["curvature"], fields, asinh=True)


def bend_scale(fields: Sequence[np.ndarray]) -> ColourScale:
    """One scale of |H|."""
    return colour_scale(COLOURINGS["mean"], fields, asinh=True)


def gate_scale(fields: Sequence[np.ndarray]) -> ColourScale:
    """One scale of gates, from the least to the largest value."""
    return colour_scale(COLOURINGS["gate"], fields)


def map_figure(
    field: np.ndarray, axis: np.ndarray, scale: ColourScale, symbol: str,
    signed: np.ndarray | None = None, error: np.ndarray | None = None,
) -> go.Figure:  # fmt: skip
    """``field`` (R, C) over the chart ``axis`` x ``axis``; hatched where it is NaN.

    ``signed`` is the field where its sign is known: its zeros are a dashed line. ``error`` is read
    off beside the field.
    """
    doubts = np.full_like(field, np.nan) if error is None else error
    doubt = "" if error is None else "<br>error at most %{customdata[1]:.1g}"
    traces = [{
        "type": "heatmap", "x": axis, "y": axis, "hoverongaps": False,
        "z": np.clip(scale.apply(field), scale.low, scale.high),
        "customdata": np.stack([field, doubts], -1),
        "hovertemplate": "u = %{x:.3g}, v = %{y:.3g}<br>" + symbol + " = %{customdata[0]:.4g}"
        f"{doubt}<extra></extra>",
        **colours(scale),
    }]  # fmt: skip
    traces += _line(hatch(np.isnan(field), axis), {"color": palette.GRID_LINE, "width": 1})
    if signed is not None:
        zeros, _ = zero_curve(signed, axis, np.zeros((*signed.shape, 1)))
        traces += _line(zeros, {"color": palette.LINE, "width": 2, "dash": "dash"})
    ends = [float(axis[0]), float(axis[-1])]
    shared = {"range": ends, "constrain": "domain", "tickvals": [-1, 0, 1], "zeroline": False,
              "fixedrange": True, "showgrid": False}  # fmt: skip
    return go.Figure({"data": traces, "layout": framed() | {
        "xaxis": shared | {"title": {"text": "u", "standoff": 2}},
        "yaxis": shared | {"title": {"text": "v", "standoff": 2}, "scaleanchor": "x"},
    }})  # fmt: skip


def framed(height: int = HEIGHT_PIXELS) -> dict[str, Any]:
    """A layout as high as its neighbours', without keys and margins."""
    return {
        "height": height, "margin": {"l": 36, "r": 8, "t": 8, "b": 36}, "showlegend": False,
        "hovermode": "closest", "dragmode": False,
    }  # fmt: skip


def colours(scale: ColourScale) -> dict[str, Any]:
    """What a heatmap needs of ``scale``: its bar says the ends in the quantity's own unit."""
    places = [scale.low, scale.high]
    texts = [_end(end) for end in scale.ends]
    if scale.collapsed:
        places, texts = [0.0], ["0"]
    elif scale.low < 0 < scale.high:
        places, texts = [scale.low, 0.0, scale.high], [texts[0], "0", texts[1]]
    bar = {"thickness": 8, "len": 0.9, "xpad": 2, "tickvals": places, "ticktext": texts}
    return {"zmin": scale.low, "zmax": scale.high, "colorscale": scale.colours, "colorbar": bar}


def _end(number: float) -> str:
    return short(float(f"{number:.2g}"))


def _line(points: np.ndarray, line: dict[str, Any]) -> list[dict[str, Any]]:
    """A trace of ``points`` (M, 2); none where none of them is finite."""
    if not np.isfinite(points).any():
        return []
    return [{"type": "scatter", "x": points[:, 0], "y": points[:, 1], "mode": "lines",
             "line": line, "hoverinfo": "skip"}]  # fmt: skip
