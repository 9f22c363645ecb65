"""Charts of the tab Measured: outcomes by layer and strength, and what a gate changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.at_work import PairedDifference
from gating_core.steering import DIRECTIONS, STRENGTHS
from ui.drawing import palette
from ui.drawing.panels import subplot, subplot_title
from ui.steering.outcomes import NATS, PROMPTED, SUCCESS, UNSTEERED, WORDS, Outcome

OUTCOMES_PIXELS, THIRD_PIXELS = 310, 180
ROWS = {SUCCESS: "success", NATS: "nats", WORDS: "real words"}
STYLES = (  # of DIRECTIONS: colour, dash, symbol
    (palette.SIDE_COLOURS["right"], "solid", "circle"),
    (palette.BESIDE, "dash", "square"),
    (palette.SIDE_COLOURS["left"], "dot", "x"),
    (palette.CLASS_COLOURS[1], "dashdot", "diamond"),
)
REFERENCES = {UNSTEERED: "dot", PROMPTED: "dash"}
LOWEST = {SUCCESS: -0.04, WORDS: -0.25}  # of shares; there is a name below the lowest line
GAP = 0.03  # between panels


def outcome_chart(outcome: Outcome, most_nats: float) -> go.Figure:
    """Draw success, nats and real words over strength: a column a layer, a line a direction.

    Nats reach up to ``most_nats``, as in a chart beside it.
    """
    layers = outcome.means[SUCCESS].shape[0]
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "height": OUTCOMES_PIXELS, "margin": {"l": 52, "r": 8, "t": 66, "b": 36},
        "legend": {"orientation": "h", "x": 0, "y": 1.06, "yanchor": "bottom",
                   "font": {"size": 11}},
        "annotations": [], "shapes": [],
    }  # fmt: skip
    for row, (quantity, title) in enumerate(ROWS.items()):
        for layer in range(layers):
            number = row * layers + layer
            x, y = subplot(number).values()
            wide, high = 1 / layers, 1 / len(ROWS)
            across = [layer * wide + (GAP / 2 if layer else 0), (layer + 1) * wide - GAP / 2]
            down = [1 - (row + 1) * high + GAP, 1 - row * high - GAP / 2]
            layout[f"xaxis{x[1:]}"] = {
                "domain": across, "anchor": y, "range": [0.5, max(STRENGTHS) + 0.5],
                "tickvals": STRENGTHS, "showticklabels": row == len(ROWS) - 1,
                **({"title": {"text": "strength", "standoff": 2}}
                   if row == len(ROWS) - 1 else {}),
            }  # fmt: skip
            layout[f"yaxis{y[1:]}"] = {
                "domain": down, "anchor": x, "showticklabels": not layer,
                "range": [0, most_nats] if quantity == NATS else [LOWEST[quantity], 1.08],
                **({"tickvals": [0, 0.5, 1]} if quantity != NATS else {"nticks": 4}),
                **({} if layer else {"title": {"text": title, "standoff": 4,
                                               "font": {"size": 12}}}),
            }  # fmt: skip
            if not row:
                layout["annotations"].append(
                    subplot_title(f"layer {layer + 1}", sum(across) / 2, 1.0, 11))  # fmt: skip
            for name, dash in REFERENCES.items():
                level = outcome.references[name][quantity]
                layout["shapes"].append({
                    "type": "line", "xref": f"{x} domain", "yref": y, "x0": 0, "x1": 1,
                    "y0": level, "y1": level, "layer": "below",
                    "line": {"width": 1.5, "dash": dash, "color": palette.PLANE},
                    # Once, where no line of the chart comes near.
                    **({"label": {"text": name, "textposition": "start", "font": {"size": 9},
                                  "yanchor": "top"}}
                       if (quantity, layer) == (WORDS, 1) else {}),
                })  # fmt: skip
            for kind, (name, (colour, dash, symbol)) in enumerate(
                zip(DIRECTIONS, STYLES, strict=True)
            ):
                traces.append({
                    "type": "scatter", "mode": "lines+markers", "x": STRENGTHS, "xaxis": x,
                    "yaxis": y, "y": outcome.means[quantity][layer, kind], "name": name,
                    "legendgroup": name, "showlegend": not number,
                    "line": {"color": colour, "dash": dash, "width": 1.8},
                    "marker": {"size": 5, "symbol": symbol, "color": colour},
                    "error_y": {"type": "data", "array": outcome.widths[quantity][layer, kind],
                                "thickness": 1, "width": 2},
                    "hovertemplate": f"{name}, layer {layer + 1}, strength %{{x}}:"
                    f" {title} %{{y:.2f}}<extra></extra>",
                })  # fmt: skip
    return go.Figure({"data": traces, "layout": layout})


def gate_chart(differences: Sequence[PairedDifference], unit: str) -> go.Figure:
    """Draw differences by layer, in hundredths: every seed a dot, means with intervals."""
    layers = np.arange(1, len(differences) + 1)
    seeds = np.concatenate([100 * of.by_seed for of in differences])
    numbers = np.repeat(layers, [len(of.by_seed) for of in differences])
    colour = palette.SIDE_COLOURS["right"]
    return go.Figure({"data": [
        {"type": "scatter", "mode": "markers", "x": numbers + 0.08, "y": seeds, "name": "a seed",
         "marker": {"size": 6, "symbol": "circle-open", "color": colour}, "hoverinfo": "skip"},
        {"type": "scatter", "mode": "markers", "x": layers, "name": "mean, 95 % interval",
         "y": [100 * of.mean for of in differences],
         "error_y": {"type": "data", "thickness": 2,
                     "array": [100 * of.half_width for of in differences]},
         "marker": {"size": 8, "color": colour},
         "hovertemplate": "layer %{x}: %{y:+.1f}<extra></extra>"},
    ], "layout": {
        "height": THIRD_PIXELS, "margin": {"l": 52, "r": 8, "t": 26, "b": 36},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "shapes": [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 0,
                    "line": {"width": 1, "color": palette.PLANE}}],
        "xaxis": {"tickvals": layers, "range": [0.6, len(layers) + 0.5],
                  "title": {"text": "layer", "standoff": 2}},
        "yaxis": {"title": {"text": unit, "standoff": 4}},
    }})  # fmt: skip
