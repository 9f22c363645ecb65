"""Charts of the page Steering, by tab: a text as it is written, features, and outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.at_work import PairedDifference
from gating_core.steering import DIRECTIONS, RELEASED_AFTER, STRENGTHS, WRITTEN, Step, WrittenAlong
from ui.drawing import palette
from ui.drawing.characters import named, sign
from ui.drawing.panels import subplot, subplot_title
from ui.steering.measured import Fired
from ui.steering.outcomes import (
    BAYES,
    FEATURE,
    NATS,
    PROMPTED,
    SUCCESS,
    UNSTEERED,
    WORDS,
    Outcome,
)

HEIGHT_PIXELS = 140
SIDES = (  # name, colour, dash, symbol
    ("unsteered", palette.SIDE_COLOURS["left"], "dash", "x"),
    ("steered", palette.SIDE_COLOURS["right"], "solid", "circle"),
)
ORDER_PIXELS, HALF_PIXELS = 220, 150
SHOWN = 7  # characters that become likelier, and as many that become less likely
LANGUAGES = (  # name, colour, symbol
    ("English", palette.CLASS_COLOURS[0], "triangle-down"),
    ("Spanish", palette.CLASS_COLOURS[1], "triangle-up"),
)
COLOURS = (palette.SIDE_COLOURS["left"], palette.SIDE_COLOURS["right"])  # of less and more
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


def order_chart(features: Fired, feature: int) -> go.Figure:
    """Draw all features by their difference of means, and ring the chosen one (from 0)."""
    order = np.argsort(features.difference, kind="stable")
    ranks = np.empty(len(order), int)
    ranks[order] = np.arange(1, len(order) + 1)
    traces = []
    for side, (name, colour, symbol) in enumerate(LANGUAGES):
        mine = np.flatnonzero((features.difference > 0) == bool(side))
        traces.append({
            "type": "scatter", "mode": "markers", "x": ranks[mine], "y": features.difference[mine],
            "name": f"more in {name}", "marker": {"size": 7, "symbol": symbol, "color": colour},
            # As lists: of a packed array a click would bring back no row.
            "customdata": np.stack(
                [mine + 1, *(100 * features.fires[:, mine]), features.auc[mine]], -1).tolist(),
            "hovertemplate": "feature %{customdata[0]:.0f}: fires at %{customdata[1]:.1f} % of"
            " English, %{customdata[2]:.1f} % of Spanish; AUC %{customdata[3]:.3f}<extra></extra>",
        })  # fmt: skip
    chosen = {
        "type": "scatter", "mode": "markers+text", "x": [ranks[feature]],
        "y": [features.difference[feature]], "showlegend": False,
        "text": [f"<b>feature {feature + 1}</b>"],
        "textposition": _beside(features.difference, feature, ranks[feature]),
        "marker": {"size": 16, "symbol": "circle-open", "color": palette.ACCENT,
                   "line": {"width": 3}}, "hoverinfo": "skip",
    }  # fmt: skip
    return go.Figure({"data": [*traces, chosen], "layout": {
        "height": ORDER_PIXELS, "margin": {"l": 52, "r": 8, "t": 8, "b": 36},
        "legend": {"x": 0.02, "y": 1, "yanchor": "top"}, "hovermode": "closest",
        "xaxis": {"title": {"text": "features, in this order", "standoff": 2}, "range": [-3, 196]},
        "yaxis": {"title": {"text": "mean, Spanish minus English", "standoff": 4}},
    }})  # fmt: skip


def _beside(differences: np.ndarray, feature: int, rank: int) -> str:
    """Return where the name of a feature stands, off the curve that rises from left to right."""
    right = rank <= len(differences) / 2
    far = abs(differences[feature]) > np.abs(differences).max() / 4
    height = "middle" if far else "bottom" if right else "top"
    return f"{height} {'right' if right else 'left'}"


def along_chart(parts: WrittenAlong) -> go.Figure:
    """Draw what each part writes along a direction: a row a layer."""
    layers, heads = parts.heads.shape
    z = np.full((layers, heads + 2), np.nan)
    z[0, 0] = parts.embedding
    z[:, 1:-1], z[:, -1] = parts.heads, parts.mlps
    low, high = palette.symmetric_range(float(np.nanmax(np.abs(z))))
    return go.Figure({"data": [{
        "type": "heatmap", "z": z, "zmin": low, "zmax": high, "colorscale": palette.SIGNED_SCALE,
        "x": ["embedding", *(f"head {head + 1}" for head in range(heads)), "MLP"],
        "y": [f"layer {layer + 1}" for layer in range(layers)], "showscale": False,
        "text": [["" if np.isnan(x) else f"{x:.2f}" for x in row] for row in z],
        "texttemplate": "%{text}", "hoverongaps": False, "xgap": 2, "ygap": 2,
        "hovertemplate": "%{y}, %{x}: %{z:.3f}<extra></extra>",
    }], "layout": {
        "height": HALF_PIXELS, "margin": {"l": 56, "r": 8, "t": 8, "b": 28},
        "xaxis": {"showgrid": False, "ticks": "", "tickangle": 0, "tickfont": {"size": 10}},
        "yaxis": {"autorange": "reversed", "showgrid": False, "ticks": "", "type": "category"},
    }})  # fmt: skip


def effect_chart(change: np.ndarray) -> go.Figure:
    """Draw the next characters that change most (V,), in percentage points."""
    order = np.argsort(-change, kind="stable")
    shown = [*order[:SHOWN], *order[-SHOWN:]]
    points = 100 * change[shown]
    labels = [named(int(number)) for number in shown]
    return go.Figure({"data": [{
        "type": "bar", "x": [*range(len(shown))], "y": points, "customdata": labels,
        "marker": {"color": [COLOURS[bool(x > 0)] for x in points]},
        "hovertemplate": "“%{customdata}”: %{y:+.2f} points<extra></extra>",
    }], "layout": {
        "height": HALF_PIXELS, "margin": {"l": 52, "r": 8, "t": 8, "b": 28},
        "xaxis": {"tickvals": [*range(len(shown))], "ticktext": labels, "tickangle": 0,
                  "tickfont": {"family": "monospace"}},
        "yaxis": {"title": {"text": "points", "standoff": 4}},
    }})  # fmt: skip


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
            if quantity == SUCCESS:
                traces.append({
                    "type": "scatter", "mode": "markers", "x": STRENGTHS, "xaxis": x, "yaxis": y,
                    "y": outcome.means[BAYES][layer, FEATURE], "name": "feature, by naive Bayes",
                    "legendgroup": BAYES, "showlegend": not number,
                    "marker": {"size": 10, "symbol": "circle-open", "color": STYLES[FEATURE][0]},
                    "hovertemplate": f"by naive Bayes, layer {layer + 1}, strength %{{x}}:"
                    " success %{y:.2f}<extra></extra>",
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
