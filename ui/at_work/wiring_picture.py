"""Charts of wirings: what feeds what, losses, links, gradients, and curvature by block.

Shapes: S seeds, N texts, L blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.language import WIRINGS, Wiring
from ui.at_work.parts import STYLES, error_bars, layer_axis, series
from ui.drawing import palette

DIAGRAM_PIXELS, CHART_PIXELS = 140, 220
GREY = palette.PLANE
OWN, FIRST = palette.PLANE, palette.CLASS_COLOURS[0]  # links: no colour of `STYLE_OF`
STYLE_OF = dict(zip(WIRINGS, (
    *STYLES,
    (palette.CLASS_COLOURS[1], "dash", "square"),
    (palette.CLASS_COLOURS[2], "dashdot", "diamond"),
), strict=True))  # fmt: skip
LONGER = {"usual": "", "fal": ": First Attentions Last", "fal_plus": ": A and A1",
          "parallel": " attention and MLP"}  # fmt: skip
BUS = 2.5  # height of the first attention's link; the stream is at 0
HALF_WIDTH, HALF_HEIGHT = 0.19, 0.32  # of a box


def diagram(wiring: Wiring, depth: int) -> go.Figure:
    """Draw what feeds the attention A and the MLP M of every block; time goes to the right.

    Boxes above each other can run side by side.
    """
    shapes: list[dict[str, Any]] = [_line(-0.2, 0, depth + 0.1, 0, GREY, 2.5)]
    notes = [_arrow(depth + 0.1, 0, depth + 0.25, 0, GREY)]
    for block in range(depth):
        usual = block == 0 or wiring.reads_own  # the first block has the usual wiring
        attention = (block + (0.25 if usual else 0.5), 0.85)
        mlp = (block + 0.75, 0.85) if usual else (block + 0.5, 1.7)
        # Reads the stream, and adds to it.
        shapes.append(_line(attention[0], 0, attention[0], attention[1] - HALF_HEIGHT, GREY, 1))
        if usual:
            shapes.append(_line(mlp[0], 0, mlp[0], mlp[1] - HALF_HEIGHT, GREY, 1))
            notes.append(_arrow(attention[0] + HALF_WIDTH, attention[1], mlp[0] - HALF_WIDTH,
                                mlp[1], OWN))  # fmt: skip
        else:
            side = mlp[0] - HALF_WIDTH - 0.08
            shapes += [_line(side, 0, side, mlp[1], GREY, 1),
                       _line(side, mlp[1], mlp[0] - HALF_WIDTH, mlp[1], GREY, 1)]  # fmt: skip
        if wiring.reads_first and block:
            notes.append(_arrow(mlp[0], BUS, mlp[0], mlp[1] + HALF_HEIGHT, FIRST))
            last = mlp[0]
        shapes += [_box(*attention, f"A{block + 1}"), _box(*mlp, f"M{block + 1}")]
    if wiring.reads_first and depth > 1:
        shapes += [_line(0.25, 0.85 + HALF_HEIGHT, 0.25, BUS, FIRST, 2, "dot"),
                   _line(0.25, BUS, last, BUS, FIRST, 2, "dot")]  # fmt: skip
    hidden = {"visible": False, "fixedrange": True}
    return go.Figure({"data": [], "layout": {
        "height": DIAGRAM_PIXELS, "margin": {"l": 2, "r": 2, "t": 2, "b": 2}, "shapes": shapes,
        "annotations": notes, "showlegend": False,
        "xaxis": {**hidden, "range": [-0.25, depth + 0.3]},
        "yaxis": {**hidden, "range": [-0.3, 2.8]},
    }})  # fmt: skip


def _box(x: float, y: float, text: str) -> dict[str, Any]:
    return {"type": "rect", "x0": x - HALF_WIDTH, "x1": x + HALF_WIDTH, "y0": y - HALF_HEIGHT,
            "y1": y + HALF_HEIGHT, "line": {"width": 1, "color": GREY},
            "fillcolor": f"{palette.PLANE}33",
            "label": {"text": text, "font": {"size": 11}}}  # fmt: skip


def _line(
    x0: float, y0: float, x1: float, y1: float, colour: str, width: float, dash: str = "solid"
) -> dict[str, Any]:
    return {"type": "line", "x0": x0, "y0": y0, "x1": x1, "y1": y1, "layer": "below",
            "line": {"color": colour, "width": width, "dash": dash}}  # fmt: skip


def _arrow(x0: float, y0: float, x1: float, y1: float, colour: str) -> dict[str, Any]:
    return {"x": x1, "y": y1, "ax": x0, "ay": y0, "axref": "x", "ayref": "y", "text": "",
            "showarrow": True, "arrowhead": 2, "arrowwidth": 2, "arrowsize": 0.8,
            "arrowcolor": colour}  # fmt: skip


def loss_chart(losses: Mapping[str, np.ndarray]) -> go.Figure:
    """Draw losses (S,) by wiring: every seed a dot, the mean with its interval over seeds."""
    traces: list[dict[str, Any]] = []
    for name, values in losses.items():
        colour, _, symbol = STYLE_OF[name]
        title = label(name)
        traces += [
            {"type": "scatter", "mode": "markers", "x": [title] * len(values), "y": values,
             "marker": {"size": 7, "symbol": symbol, "color": colour}, "opacity": 0.7,
             "hovertemplate": "%{x}: %{y:.4f} nats<extra></extra>"},
            {"type": "scatter", "mode": "markers", "x": [title], "y": [values.mean()],
             "marker": {"size": 16, "symbol": "line-ew",
                        "line": {"width": 2.5, "color": colour}, "color": colour},
             "hovertemplate": "%{x}, mean: %{y:.4f} nats<extra></extra>",
             **error_bars(values[:, None])},
        ]  # fmt: skip
    return _figure(traces, {"title": {"text": "nats a character", "standoff": 4}},
                   {"type": "category"})  # fmt: skip


def block_chart(values: Mapping[str, np.ndarray], axis: str, shown: str) -> go.Figure:
    """Draw values (S, N, L) of wirings by block: means, seeds, intervals over texts and seeds."""
    traces = []
    for name, of in values.items():
        traces += series(label(name), of, STYLE_OF[name], shown)
    return _by_block(traces, axis, values)


def curvature_chart(
    totals: Mapping[str, np.ndarray], errors: Mapping[str, np.ndarray]
) -> go.Figure:
    """Draw ∫|K| dA (S, L) by block with its error, and the mean over seeds."""
    traces: list[dict[str, Any]] = []
    for name, total in totals.items():
        colour, dash, symbol = STYLE_OF[name]
        numbers = np.arange(1, total.shape[-1] + 1)
        traces += [
            {"type": "scatter", "mode": "markers", "x": np.tile(numbers + 0.06, len(total)),
             "y": total.ravel(), "showlegend": False, "opacity": 0.6,
             "marker": {"size": 5, "symbol": symbol, "color": colour},
             "error_y": {"type": "data", "array": errors[name].ravel(), "thickness": 1, "width": 2},
             "hovertemplate": f"{label(name)}, block %{{x:.0f}}: %{{y:.3g}}<extra></extra>"},
            {"type": "scatter", "mode": "lines", "x": numbers, "y": total.mean(0),
             "name": label(name), "line": {"color": colour, "dash": dash, "width": 2},
             "hovertemplate": f"{label(name)}, mean, block %{{x}}: %{{y:.3g}}<extra></extra>"},
        ]  # fmt: skip
    return _by_block(traces, "∫|K| dA", totals)


def label(name: str, *, whole: bool = False) -> str:
    """Return the short name of a block topology, or the ``whole`` one."""
    short = {"usual": "standard", "parallel": "parallel"}.get(name, WIRINGS[name].title)
    return f"{short}{LONGER[name]}" if whole else short


def _by_block(
    traces: list[dict[str, Any]], name: str, values: Mapping[str, np.ndarray]
) -> go.Figure:
    depth = max(of.shape[-1] for of in values.values())
    vertical = {"title": {"text": name, "standoff": 4}, "rangemode": "tozero"}
    return _figure(traces, vertical, layer_axis(depth, name="block"))


def _figure(
    traces: list[dict[str, Any]], vertical: dict[str, Any], across: dict[str, Any]
) -> go.Figure:
    return go.Figure({"data": traces, "layout": {
        "height": CHART_PIXELS, "margin": {"l": 52, "r": 6, "t": 8, "b": 36},
        "showlegend": False, "hovermode": "closest", "xaxis": across, "yaxis": vertical,
    }})  # fmt: skip
