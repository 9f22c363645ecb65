"""Charts of writing: the next character's probabilities, and the loss at every gate strength.

Shapes: V characters of the alphabet, n strengths, S seeds.
"""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from gating_core.at_work import STRENGTHS
from gating_core.training import mean_interval
from ui.drawing import palette
from ui.drawing.characters import named

HEIGHT_PIXELS = 190
SHOWN = 14  # characters, the most probable first
GREY = palette.SIDE_COLOURS["left"]
COLOUR = palette.SIDE_COLOURS["right"]


def next_chart(probabilities: np.ndarray, full: np.ndarray, strength: float) -> go.Figure:
    """Draw the most probable next characters (V,), and what they have at full gates."""
    best = np.argsort(-probabilities, kind="stable")[:SHOWN]
    labels = [named(int(number)) for number in best]
    bars = {
        "type": "bar", "x": [*range(len(best))], "y": 100 * probabilities[best],
        "name": f"λ = {strength:g}", "marker": {"color": COLOUR}, "customdata": labels,
        "hovertemplate": "“%{customdata}”: %{y:.2f} %<extra></extra>",
    }  # fmt: skip
    marks = {
        "type": "scatter", "mode": "markers", "x": [*range(len(best))], "y": 100 * full[best],
        "name": "λ = 1", "marker": {"symbol": "line-ew-open", "size": 14, "color": GREY,
                                    "line": {"width": 2, "color": GREY}},
        "hovertemplate": "λ = 1: %{y:.2f} %<extra></extra>",
    }  # fmt: skip
    return go.Figure({"data": [bars, marks] if strength < 1 else [bars], "layout": {
        "height": HEIGHT_PIXELS, "margin": {"l": 46, "r": 8, "t": 24, "b": 26},
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"},
        "xaxis": {"tickvals": [*range(len(best))], "ticktext": labels, "tickangle": 0,
                  "tickfont": {"family": "monospace"}},
        "yaxis": {"rangemode": "tozero", "title": {"text": "probability, %", "standoff": 4}},
    }})  # fmt: skip


def losses(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the mean loss of a character in nats, (S, n), from sums (S, n, N) over N texts."""
    return sums.sum(-1) / counts.sum(-1)[..., None]


def loss_chart(gated: np.ndarray, ungated: np.ndarray, strength: float) -> go.Figure:
    """Draw the loss of every seed (S, n) at each strength, and of models without a gate (S, 1)."""
    means = gated.mean(0)
    line = {
        "type": "scatter", "mode": "lines+markers", "x": STRENGTHS, "y": means,
        "line": {"color": COLOUR, "width": 2.5}, "marker": {"size": 6}, "showlegend": False,
        "hovertemplate": "λ = %{x}: %{y:.3f} nats<extra></extra>",
    }  # fmt: skip
    if len(gated) > 1:
        widths = [mean_interval(column).half_width for column in gated.T]
        line["error_y"] = {"type": "data", "array": widths, "thickness": 1.5}
    seeds = [{
        "type": "scatter", "mode": "lines", "x": STRENGTHS, "y": row, "opacity": 0.35,
        "line": {"color": COLOUR, "width": 1}, "hoverinfo": "skip", "showlegend": False,
    } for row in gated]  # fmt: skip
    without = float(ungated.mean())
    return go.Figure({"data": [*seeds, line], "layout": {
        "height": HEIGHT_PIXELS, "margin": {"l": 46, "r": 8, "t": 24, "b": 36},
        "xaxis": {"range": [-0.03, 1.03], "title": {"text": "λ, strength of all gates",
                                                    "standoff": 2}},
        "yaxis": {"title": {"text": "nats a character", "standoff": 4}},
        "shapes": [
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": without, "y1": without,
             "line": {"dash": "dash", "width": 1.5, "color": GREY},
             "label": {"text": "trained without a gate", "textposition": "start",
                       "yanchor": "bottom", "font": {"size": 10}}},
            {"type": "line", "yref": "paper", "x0": strength, "x1": strength, "y0": 0, "y1": 1,
             "line": {"dash": "dot", "width": 1.5, "color": palette.PLANE}},
        ],
    }})  # fmt: skip
