"""Charts of sinks by layer: the first character's share of the weight, and the size of its value.

Shapes: S seeds, N texts, L layers, H heads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.training import mean_interval
from ui.drawing import palette

HEIGHT_PIXELS = 186
SHARE_TICKS = (0.1, 1.0, 10.0, 100.0)  # percent
LARGE_MODEL = (46.7, 4.8)  # percent on the first token, without and with a gate: Qiu et al., [Q]
STYLES = (  # of models, the ungated first: colour, dash, symbol
    (palette.SIDE_COLOURS["left"], "dot", "x"),
    (palette.SIDE_COLOURS["right"], "solid", "circle"),
)


def share_chart(shares: Mapping[str, np.ndarray], uniform: float) -> go.Figure:
    """Draw the first character's share (S, N, L) of each model by layer, in percent.

    Dots are seeds with 95 % intervals over texts, lines their means with intervals over seeds.
    ``uniform`` is the share that equal weights would give.
    """
    traces = []
    for (title, share), style in zip(shares.items(), STYLES, strict=False):
        traces += series(title, 100 * share, style, "%{y:.2f} %")
    lines = [(LARGE_MODEL[0], "a large model, no gate [Q]", "end", "bottom"),
             (LARGE_MODEL[1], "a large model, gate [Q]", "end", "top"),
             (100 * uniform, "equal weights", "start", "bottom")]  # fmt: skip
    return _figure(traces, "share, %", {
        "type": "log", "range": [-0.4, 2], "tickvals": SHARE_TICKS,
        "ticktext": [f"{tick:g}" for tick in SHARE_TICKS],
    }, lines, layers=next(iter(shares.values())).shape[-1])  # fmt: skip


def value_chart(ratios: Mapping[str, np.ndarray]) -> go.Figure:
    """Draw the first value's length over the others' mean (S, L, H), by layer."""
    traces = []
    for (title, ratio), style in zip(ratios.items(), STYLES, strict=False):
        traces += series(title, ratio.swapaxes(1, 2), style, "%{y:.3f}")
    layers = next(iter(ratios.values())).shape[1]
    one = [(1.0, "", "end", "bottom")]
    return _figure(traces, "|v₁| / others", {"rangemode": "tozero"}, one, layers=layers)


def series(title: str, values: np.ndarray, style: tuple[str, str, str],
            shown: str) -> list[dict[str, Any]]:  # fmt: skip
    """Dots of seeds with intervals over the middle axis of (S, N, L), and the mean of seeds."""
    colour, dash, symbol = style
    seeds, _, layers = values.shape
    traces = []
    means = values.mean(1)
    for seed in range(seeds):
        widths = [mean_interval(column).half_width for column in values[seed].T]
        traces.append({
            "type": "scatter", "mode": "markers", "x": np.arange(1, layers + 1) + 0.06 * (seed + 1),
            "y": means[seed], "error_y": {"type": "data", "array": widths, "thickness": 1,
                                          "width": 2},
            "marker": {"size": 5, "symbol": symbol, "color": colour}, "opacity": 0.6,
            "showlegend": False,
            "hovertemplate": f"{title}, layer %{{x:.0f}}: {shown}<extra></extra>",
        })  # fmt: skip
    line = {"type": "scatter", "mode": "lines+markers", "x": np.arange(1, layers + 1),
            "y": means.mean(0), "name": title, "line": {"color": colour, "dash": dash, "width": 2},
            "marker": {"size": 7, "symbol": symbol, "color": colour},
            "hovertemplate": f"{title}, mean of {seeds} seeds, layer %{{x}}: {shown}"
            "<extra></extra>"}  # fmt: skip
    if seeds > 1:
        widths = [mean_interval(column).half_width for column in means.T]
        line["error_y"] = {"type": "data", "array": widths, "thickness": 1.5}
    return [*traces, line]


def _figure(traces: list[dict[str, Any]], name: str, axis: dict[str, Any],
            lines: list[tuple[float, str, str, str]], layers: int) -> go.Figure:  # fmt: skip
    shapes = [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y,
               "line": {"dash": "dash", "width": 1, "color": palette.PLANE},
               "label": {"text": text, "textposition": end, "yanchor": side,
                         "font": {"size": 10}}} for y, text, end, side in lines]  # fmt: skip
    return go.Figure({"data": traces, "layout": {
        "height": HEIGHT_PIXELS, "margin": {"l": 52, "r": 8, "t": 24, "b": 34}, "shapes": shapes,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "hovermode": "closest", "yaxis": {"title": {"text": name, "standoff": 4}, **axis},
        "xaxis": {"tickvals": [*range(1, layers + 1)], "range": [0.7, layers + 0.5],
                  "title": {"text": "layer", "standoff": 2}},
    }})  # fmt: skip
