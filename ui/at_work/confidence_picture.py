"""Charts of confidence: differences in units of their margins, and the entropy of attention.

Shapes: S seeds, L layers, H heads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.at_work import PairedDifference
from gating_core.training import mean_interval
from ui.at_work.confidence_words import TABLE, difference_text
from ui.at_work.sinks_picture import STYLES
from ui.drawing import palette

DIAGRAM_PIXELS = 345
DIFFERENCES_PIXELS, ENTROPY_PIXELS = 172, 138
GREY, MAGENTA = (colour for colour, *_ in STYLES)


def difference_chart(differences: Mapping[str, PairedDifference]) -> go.Figure:
    """Draw each difference with its interval in margins, every seed a dot.

    The band holds the differences that are called hardly different.
    """
    margins = {name: TABLE[name].margin for name in differences}
    rows = [TABLE[name].title for name in differences]
    dots_x = [x / margins[name] for name, of in differences.items() for x in of.by_seed]
    dots_y = [TABLE[name].title for name, of in differences.items() for _ in of.by_seed]
    reach = max([2.0, *(1.05 * (abs(of.mean) + of.half_width) / margins[name]
                        for name, of in differences.items())])  # fmt: skip
    traces = [
        {"type": "scatter", "mode": "markers", "x": dots_x, "y": dots_y, "hoverinfo": "skip",
         "marker": {"size": 6, "color": MAGENTA, "symbol": "circle-open"}, "name": "a seed"},
        {"type": "scatter", "mode": "markers", "y": rows, "name": "mean, 95 % interval",
         "x": [of.mean / margins[name] for name, of in differences.items()],
         "error_x": {"type": "data", "thickness": 2,
                     "array": [of.half_width / margins[name] for name, of in differences.items()]},
         "marker": {"size": 9, "color": MAGENTA, "symbol": "line-ns", "line": {"width": 3,
                    "color": MAGENTA}},
         "customdata": [f"{difference_text(of)}{TABLE[name].unit}"
                        for name, of in differences.items()],
         "hovertemplate": "%{y}: %{customdata}<extra></extra>"},
    ]  # fmt: skip
    return go.Figure({"data": traces, "layout": {
        "height": DIFFERENCES_PIXELS, "margin": {"l": 130, "r": 8, "t": 26, "b": 38},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "shapes": [
            {"type": "rect", "x0": -1, "x1": 1, "yref": "paper", "y0": 0, "y1": 1,
             "fillcolor": f"{palette.PLANE}44", "line": {"width": 0}, "layer": "below"},
            {"type": "line", "x0": 0, "x1": 0, "yref": "paper", "y0": 0, "y1": 1,
             "line": {"width": 1, "color": palette.PLANE}},
        ],
        "xaxis": {"range": [-reach, reach], "zeroline": False,
                  "title": {"text": "gate minus no gate, in margins", "standoff": 4}},
        "yaxis": {"type": "category", "autorange": "reversed"},
    }})  # fmt: skip


def entropy_chart(entropies: Mapping[str, np.ndarray]) -> go.Figure:
    """Draw the mean entropy of attention by layer of models (S, L, H): seeds, means, intervals."""
    traces: list[dict[str, Any]] = []
    layers = next(iter(entropies.values())).shape[1]
    numbers = np.arange(1, layers + 1)
    for (title, entropy), (colour, dash, symbol) in zip(entropies.items(), STYLES, strict=True):
        means = entropy.mean(-1)
        seeds = len(means)
        traces.append({
            "type": "scatter", "mode": "markers", "x": np.tile(numbers + 0.06, seeds),
            "y": means.ravel(), "marker": {"size": 5, "symbol": symbol, "color": colour},
            "opacity": 0.6, "showlegend": False, "hoverinfo": "skip",
        })  # fmt: skip
        line: dict[str, Any] = {
            "type": "scatter", "mode": "lines+markers", "x": numbers, "y": means.mean(0),
            "name": title, "line": {"color": colour, "dash": dash, "width": 2},
            "marker": {"size": 7, "symbol": symbol, "color": colour},
            "hovertemplate": f"{title}, layer %{{x}}: %{{y:.3f}} nats<extra></extra>",
        }  # fmt: skip
        if seeds > 1:
            widths = [mean_interval(column).half_width for column in means.T]
            line["error_y"] = {"type": "data", "array": widths, "thickness": 1.5}
        traces.append(line)
    return go.Figure({"data": traces, "layout": {
        "height": ENTROPY_PIXELS, "margin": {"l": 52, "r": 8, "t": 24, "b": 36},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "xaxis": {"tickvals": numbers, "range": [0.7, layers + 0.4],
                  "title": {"text": "layer", "standoff": 2}},
        "yaxis": {"title": {"text": "nats", "standoff": 4}},
    }})  # fmt: skip
