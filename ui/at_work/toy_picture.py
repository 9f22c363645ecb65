"""Charts of the toy: the sink while it is learned, and what gate and values do at the end.

Shapes: n measurements in training, K kinds of layer, S seeds, T letters of a text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.at_work import ToyRun
from gating_core.training import mean_interval
from ui.drawing import palette
from ui.drawing.characters import BREAK_SIGN
from ui.drawing.panels import QUIET

HEIGHT_PIXELS = 400
HALF_PIXELS = 195
WHISKER = {"thickness": 1.5, "color": palette.PLANE}
LETTERS = (BREAK_SIGN, *"abcdefghijklmnopqrstuvwxyzαβγδεζ")
TITLES = {"none": "no gate", "elementwise": "per channel", "headwise": "per head",
          "relu": "ReLU attention"}  # fmt: skip
STYLES = {  # colour, dash, symbol
    "none": (palette.SIDE_COLOURS["left"], "dot", "x"),
    "elementwise": (palette.SIDE_COLOURS["right"], "solid", "circle"),
    "headwise": (palette.CLASS_COLOURS[0], "dash", "square"),
    "relu": (palette.CLASS_COLOURS[1], "dashdot", "diamond"),
}


def interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and half-widths (Student t, 95 %) over the last axis; 0 for a single seed."""
    if values.shape[-1] < 2:
        return values[..., 0], np.zeros(values.shape[:-1])
    flat = [mean_interval(row) for row in values.reshape(-1, values.shape[-1])]
    pairs = np.array([(one.mean, one.half_width) for one in flat])
    return pairs[:, 0].reshape(values.shape[:-1]), pairs[:, 1].reshape(values.shape[:-1])


def training_chart(run: ToyRun) -> go.Figure:
    """Draw the first letter's share of the weight at letters that are no triggers, by step."""
    means, widths = interval(100 * run.sink)
    traces: list[dict[str, Any]] = []
    for k, kind in enumerate(run.request.kinds):
        colour, dash, _ = STYLES[kind]
        low, high = means[:, k] - widths[:, k], means[:, k] + widths[:, k]
        traces.append({
            "type": "scatter", "mode": "lines", "x": np.concatenate([run.steps, run.steps[::-1]]),
            "y": np.clip(np.concatenate([low, high[::-1]]), 0, 100), "fill": "toself",
            "fillcolor": f"{colour}22", "line": {"width": 0}, **QUIET,
        })  # fmt: skip
        traces.append({
            "type": "scatter", "mode": "lines", "x": run.steps, "y": means[:, k],
            "name": TITLES[kind], "line": {"color": colour, "dash": dash, "width": 2.5},
            "hovertemplate": f"{TITLES[kind]}, step %{{x}}: %{{y:.1f}} %<extra></extra>",
        })  # fmt: skip
    return go.Figure({"data": traces, "layout": {
        "height": HEIGHT_PIXELS, "margin": {"l": 50, "r": 8, "t": 30, "b": 40},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "xaxis": {"range": [0, run.request.steps], "title": {"text": "step", "standoff": 4}},
        "yaxis": {"range": [0, 100], "title": {"text": "weight on the first letter, %",
                                               "standoff": 4}},
    }})  # fmt: skip


def toy_maps(run: ToyRun) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the maps (1, 1, T, T) of each kind for the first seed, and its text.

    Letters after which one is copied stand in capitals. Maps of ReLU attention are shares of each
    query's weights, as the others are.
    """
    maps = {}
    for k, kind in enumerate(run.request.kinds):
        weights = run.weights[k, 0]
        maps[TITLES[kind]] = (weights / np.maximum(weights.sum(-1, keepdims=True), 1e-9))[
            None, None
        ]
    triggers = run.triggers[0]
    return maps, [LETTERS[n].upper() if triggers[n] else LETTERS[n] for n in run.letters[0]]


def gate_chart(run: ToyRun) -> go.Figure:
    """Draw how far gates are open at triggers and elsewhere."""
    kinds = [kind for kind in run.request.kinds if kind in ("elementwise", "headwise")]
    rows = [run.request.kinds.index(kind) for kind in kinds]
    traces = []
    for name, values, symbol in (("at triggers", run.gate_at_triggers, "triangle-up"),
                                 ("elsewhere", run.gate_elsewhere, "circle-open")):  # fmt: skip
        means, widths = interval(values[-1, rows])
        traces.append({
            "type": "scatter", "mode": "markers", "x": means, "y": [TITLES[kind] for kind in kinds],
            "name": name, "error_x": {"type": "data", "array": widths, **WHISKER},
            "marker": {"size": 10, "symbol": symbol, "color": [STYLES[kind][0] for kind in kinds]},
            "hovertemplate": f"%{{y}}, {name}: %{{x:.3f}}<extra></extra>",
        })  # fmt: skip
    return _dots(traces, "mean gate", [-0.03, 1.03])


def value_chart(run: ToyRun) -> go.Figure:
    """Draw how long the first letter's value is against the others'."""
    means, widths = interval(run.value_ratio[-1])
    kinds = run.request.kinds
    trace = {
        "type": "scatter", "mode": "markers", "x": means, "y": [TITLES[kind] for kind in kinds],
        "error_x": {"type": "data", "array": widths, **WHISKER}, "showlegend": False,
        "marker": {"size": 10, "symbol": [STYLES[kind][2] for kind in kinds],
                   "color": [STYLES[kind][0] for kind in kinds]},
        "hovertemplate": "%{y}: %{x:.3f}<extra></extra>",
    }  # fmt: skip
    return _dots([trace], "|v₁| / others", [0, max(1.0, float((means + widths).max())) * 1.05])


def _dots(traces: list[dict[str, Any]], name: str, ends: list[float]) -> go.Figure:
    return go.Figure({"data": traces, "layout": {
        "height": HALF_PIXELS, "margin": {"l": 96, "r": 8, "t": 26, "b": 40},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "xaxis": {"range": ends, "title": {"text": name, "standoff": 4}},
        "yaxis": {"autorange": "reversed"}, "hovermode": "closest",
    }})  # fmt: skip
