"""What the tabs of the page At work share: how charts are drawn, and pieces of them.

Shapes: S seeds, N texts, L layers (blocks), H heads.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.training import mean_interval
from ui.common import parts
from ui.drawing import palette
from ui.drawing.panels import subplot, subplot_title
from ui.drawing.titled import titled

Arrays = Mapping[str, np.ndarray]
Models = Mapping[tuple[str, int], Arrays]  # by name and seed
Style = tuple[str, str, str]  # colour, dash, symbol
GREY, MAGENTA = palette.SIDE_COLOURS["left"], palette.SIDE_COLOURS["right"]
STYLES: tuple[Style, Style] = (  # of models without and with a gate
    (GREY, "dot", "x"),
    (MAGENTA, "solid", "circle"),
)
LEGEND = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}  # above a chart

draw_figure = partial(parts.draw_figure, "at_work")
draw_explanation = partial(parts.draw_explanation, "at_work")
draw_csv = parts.draw_csv


def draw_titled(
    key: tuple[Hashable, ...], make: Callable[[], go.Figure], title: str, alt: str
) -> None:
    """Draw a figure with ``title`` above it; the others as for `draw_figure`."""
    draw_figure(key, lambda: titled(make(), title), alt)


def seeds_text(count: int) -> str:
    """Format a number of seeds."""
    return "1 seed" if count == 1 else f"{count} seeds"


def layer_axis(layers: int, room: float = 0.5, name: str = "layer") -> dict[str, Any]:
    """The axis of numbers of layers, with ``room`` behind the last."""
    return {"tickvals": [*range(1, layers + 1)], "range": [0.7, layers + room],
            "title": {"text": name, "standoff": 2}}  # fmt: skip


def level(y: float, **line: Any) -> dict[str, Any]:
    """A horizontal line across a chart."""
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, **line}


def error_bars(values: np.ndarray, thickness: float = 1.5, **more: Any) -> dict[str, Any]:
    """The 95 % intervals of the means over seeds of (S, n), for a trace; none for one seed."""
    if len(values) < 2:
        return {}
    widths = [mean_interval(column).half_width for column in values.T]
    return {"error_y": {"type": "data", "array": widths, "thickness": thickness, **more}}


def mean_line(name: str, values: np.ndarray, style: Style, shown: str) -> dict[str, Any]:
    """The mean over seeds of (S, L) by layer, with its interval; ``shown`` under the pointer."""
    colour, dash, symbol = style
    return {
        "type": "scatter", "mode": "lines+markers", "x": np.arange(1, values.shape[1] + 1),
        "y": values.mean(0), "name": name, "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"size": 7, "symbol": symbol, "color": colour},
        "hovertemplate": f"{shown}<extra></extra>", **error_bars(values),
    }  # fmt: skip


def series(title: str, values: np.ndarray, style: Style, shown: str) -> list[dict[str, Any]]:
    """Dots of seeds with intervals over the middle axis of (S, N, L), and the mean of seeds."""
    colour, _, symbol = style
    seeds, _, layers = values.shape
    means = values.mean(1)
    dots = [{
        "type": "scatter", "mode": "markers", "x": np.arange(1, layers + 1) + 0.06 * (seed + 1),
        "y": means[seed], **error_bars(values[seed], thickness=1, width=2),
        "marker": {"size": 5, "symbol": symbol, "color": colour}, "opacity": 0.6,
        "showlegend": False, "hovertemplate": f"{title}, layer %{{x:.0f}}: {shown}<extra></extra>",
    } for seed in range(seeds)]  # fmt: skip
    line = mean_line(title, means, style, f"{title}, mean of {seeds} seeds, layer %{{x}}: {shown}")
    return [*dots, line]


def panels_by_layer(
    layers: int, across: dict[str, Any], highest: float, name: str, foot: float
) -> dict[str, Any]:
    """The layout of a panel for each layer, side by side, with one vertical axis called ``name``.

    ``across`` is the horizontal axis of every panel; titles stand at the height ``foot``.
    """
    layout: dict[str, Any] = {"annotations": []}
    for layer in range(layers):
        x, y = subplot(layer).values()
        ends = layer / layers + 0.01, (layer + 1) / layers - 0.01
        layout[f"xaxis{x[1:]}"] = {"domain": ends, "anchor": y, **across}
        layout[f"yaxis{y[1:]}"] = {"range": [0, 1.05 * highest], "anchor": x,
                                   "showticklabels": not layer}  # fmt: skip
        layout["annotations"].append(subplot_title(f"layer {layer + 1}", sum(ends) / 2, foot, 11))
    layout["yaxis"]["title"] = {"text": name, "standoff": 2}
    return layout
