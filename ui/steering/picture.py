"""The chart of the tab Steer: which language a classifier sees, character by character."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from gating_core.steering import RELEASED_AFTER, WRITTEN, Step
from ui.drawing import palette
from ui.drawing.characters import sign

HEIGHT_PIXELS = 140
SIDES = (  # name, colour, dash, symbol
    ("unsteered", palette.SIDE_COLOURS["left"], "dash", "x"),
    ("steered", palette.SIDE_COLOURS["right"], "solid", "circle"),
)


def curve_chart(steps: Sequence[Step], released: bool) -> go.Figure:
    """Draw the probability of Spanish at every character, and where the push is released."""
    numbers = [*range(1, len(steps) + 1)]
    traces = [{
        "type": "scatter", "mode": "lines+markers", "x": numbers, "name": name,
        "y": [step.spanish[side] for step in steps], "line": {"color": colour, "dash": dash},
        "marker": {"size": 5, "symbol": symbol, "color": colour},
        "customdata": [sign(step.steered if side else step.plain) for step in steps],
        "hovertemplate": f"{name}, “%{{customdata}}”: %{{y:.0%}} Spanish<extra></extra>",
    } for side, (name, colour, dash, symbol) in enumerate(SIDES)]  # fmt: skip
    shapes = [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0.5, "y1": 0.5,
               "line": {"width": 1, "dash": "dot", "color": palette.PLANE}}]  # fmt: skip
    notes = []
    if released:
        at = RELEASED_AFTER + 0.5
        shapes.append({"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": at, "x1": at,
                       "line": {"width": 2, "color": palette.PLANE}})  # fmt: skip
        notes.append({"text": "released", "x": at, "xanchor": "left", "y": 0.25,
                      "showarrow": False, "font": {"size": 11}})  # fmt: skip
    return go.Figure({"data": traces, "layout": {
        "height": HEIGHT_PIXELS, "margin": {"l": 62, "r": 8, "t": 24, "b": 36},
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"},
        "shapes": shapes, "annotations": notes,
        "xaxis": {"range": [0.5, WRITTEN + 0.5], "title": {"text": "characters written",
                                                           "standoff": 2}},
        "yaxis": {"range": [-0.04, 1.04], "tickvals": [0, 0.5, 1],
                  "ticktext": ["English", "either", "Spanish"]},
    }})  # fmt: skip
