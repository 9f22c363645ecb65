"""Charts of ranks: effective ranks of outputs by head, and singular values of maps.

Shapes: L layers, H heads of d channels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from ui.drawing import palette
from ui.drawing.panels import subplot, subplot_title
from ui.language.selection import head_names

BARS_PIXELS = 190
VALUES_PIXELS = 165
STAGES = (  # name, colour, pattern
    ("before gate", palette.SIDE_COLOURS["left"], "/"),
    ("after gate", palette.SIDE_COLOURS["right"], ""),
    ("after W_O", palette.CLASS_COLOURS[0], "x"),
)
Head = tuple[int, int]  # layer and number, from 0


def rank_chart(outputs: np.ndarray, ends: np.ndarray, channels: int, head: Head) -> go.Figure:
    """Draw effective ranks (3, L, H) with 95 % intervals (2, 3, L, H), a group of bars a head.

    The line is at d, the number of ``channels``; one ``head`` is marked.
    """
    _, layers, heads = outputs.shape
    low, high = ends.reshape(2, len(STAGES), -1)
    traces = []
    for stage, (name, colour, pattern) in enumerate(STAGES):
        flat = outputs[stage].ravel()
        traces.append({
            "type": "bar", "x": head_names(layers, heads), "y": flat, "name": name,
            "marker": {"color": colour, "pattern": {"shape": pattern, "size": 4}},
            "error_y": {"type": "data", "symmetric": False, "array": high[stage] - flat,
                        "arrayminus": flat - low[stage], "thickness": 1, "width": 1},
            "hovertemplate": f"head %{{x}}, {name}: %{{y:.2f}}<extra></extra>",
        })  # fmt: skip
    column = head[0] * heads + head[1]
    shapes = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": channels, "y1": channels,
         "line": {"dash": "dash", "width": 1.5, "color": palette.ACCENT},
         "label": {"text": f"d = {channels}", "textposition": "end", "yanchor": "bottom"}},
        {"type": "rect", "x0": column - 0.5, "x1": column + 0.5, "yref": "paper", "y0": 0, "y1": 1,
         "line": {"width": 0}, "fillcolor": f"{palette.PLANE}33", "layer": "below"},
    ]  # fmt: skip
    return go.Figure({"data": traces, "layout": {
        "height": BARS_PIXELS, "margin": {"l": 48, "r": 8, "t": 26, "b": 36}, "shapes": shapes,
        "bargap": 0.25, "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "xaxis": {"type": "category", "title": {"text": "head", "standoff": 2}},
        "yaxis": {"range": [0, 1.15 * channels],
                  "title": {"text": "effective rank", "standoff": 4}},
    }})  # fmt: skip


def values_chart(maps: np.ndarray, head: Head) -> go.Figure:
    """Draw the singular values of all maps (L, H, d), a panel a layer; one ``head`` stands out."""
    layers, heads, size = maps.shape
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "height": VALUES_PIXELS, "margin": {"l": 52, "r": 8, "t": 22, "b": 38},
        "showlegend": False, "annotations": [],
    }  # fmt: skip
    for layer in range(layers):
        x, y = subplot(layer).values()
        ends = layer / layers + 0.01, (layer + 1) / layers - 0.01
        layout[f"xaxis{x[1:]}"] = {"domain": ends, "range": [0, size + 1], "tickvals": [1, size],
                                   "anchor": y}  # fmt: skip
        layout[f"yaxis{y[1:]}"] = {"range": [0, 1.05 * float(maps.max())], "anchor": x,
                                   "showticklabels": not layer}  # fmt: skip
        layout["annotations"].append(subplot_title(f"layer {layer + 1}", sum(ends) / 2, 1, 11))
        for number in range(heads):
            chosen = (layer, number) == head
            traces.append({
                "type": "scatter", "mode": "lines+markers" if chosen else "lines",
                "x": np.arange(1, size + 1), "y": maps[layer, number], "xaxis": x, "yaxis": y,
                "line": {"width": 2.5 if chosen else 1, "color": palette.SIDE_COLOURS[
                    "right" if chosen else "left"]}, "marker": {"size": 4},
                "hovertemplate": f"head {layer + 1}.{number + 1}, singular value %{{x}}:"
                " %{y:.3g}<extra></extra>",
            })  # fmt: skip
    layout["yaxis"]["title"] = {"text": "singular value", "standoff": 2}
    layout["xaxis"]["title"] = {"text": "number", "standoff": 2}
    return go.Figure({"data": traces, "layout": layout})
