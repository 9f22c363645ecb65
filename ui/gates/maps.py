"""Maps over the chart as Plotly charts, for folds and tabs: the gallery loads none of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from ui.common.formatting import rough
from ui.drawing.chart_map import chart_map
from ui.drawing.colours import ColourScale


def map_figure(
    field: np.ndarray,
    axis: np.ndarray,
    scale: ColourScale,
    symbol: str,
    signed: np.ndarray | None = None,
    error: np.ndarray | None = None,
) -> go.Figure:
    """Draw ``field`` (R, C) over the chart, hatched where it is NaN; see `chart_map`."""
    return chart_map(
        field,
        axis,
        scale,
        symbol,
        ("u", "v"),
        colour_bar(scale),
        map_layout(280),
        signed=signed,
        error=error,
        hatched=True,
    )


def map_layout(height: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 36, "r": 8, "t": 8, "b": 36},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
    }


def colour_bar(scale: ColourScale) -> dict[str, Any]:
    """The ends of the colours in the quantity's own unit, at shares of the scale."""
    low, high = map(rough, scale.ends)
    ticks = {0.0: low, 1.0: high}
    if scale.collapsed:
        ticks = {0.5: "0"}
    elif scale.low < 0 < scale.high:
        ticks |= {-scale.low / (scale.high - scale.low): "0"}
    return {
        "thickness": 8,
        "len": 0.9,
        "xpad": 2,
        "tickvals": list(ticks),
        "ticktext": list(ticks.values()),
    }
