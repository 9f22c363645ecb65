"""Reliability diagrams: how often predictions come true, against confidence they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ui.drawing import palette
from ui.drawing.panels import plain_figure

STYLES = ((palette.SIDE_COLOURS["left"], "x"), (palette.SIDE_COLOURS["right"], "circle"))


def reliability_chart(
    diagrams: Sequence[tuple[str, np.ndarray, np.ndarray]], height: int, least: float = 0.0
) -> go.Figure:
    """Draw diagrams: name, bins (2 or more, n) of confidence and frequency, interval (2, n).

    ``least``: where the axes begin; the likelier of two is never less sure than 0.5.
    """
    traces: list[dict[str, Any]] = []
    for (name, (confidence, frequency, *_), (low, high)), (colour, symbol) in zip(
        diagrams, STYLES, strict=False
    ):
        traces.append({
            "type": "scatter", "mode": "lines+markers", "x": confidence, "y": frequency,
            "name": name, "line": {"width": 1, "color": colour},
            "marker": {"size": 7, "symbol": symbol, "color": colour},
            "error_y": {"type": "data", "symmetric": False, "array": high - frequency,
                        "arrayminus": frequency - low, "thickness": 1.2, "width": 3},
            "hovertemplate": f"{name}: confidence %{{x:.1%}}, right %{{y:.1%}}<extra></extra>",
        })  # fmt: skip
    ends = {"range": [least, 1], "tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".0%"}
    return plain_figure(traces, {
        "height": height, "margin": {"l": 56, "r": 24, "t": 28, "b": 40},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "shapes": [{"type": "line", "x0": 0, "x1": 1, "y0": 0, "y1": 1, "layer": "below",
                    "line": {"dash": "dash", "width": 1, "color": palette.PLANE}}],
        "xaxis": {**ends, "title": {"text": "confidence", "standoff": 4}},
        "yaxis": {**ends, "title": {"text": "accuracy", "standoff": 4}},
    })  # fmt: skip
