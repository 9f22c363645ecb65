"""Charts of features: how they fire in the languages, who writes along one, what a push does."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from gating_core.steering import WrittenAlong
from ui.drawing import palette
from ui.drawing.characters import named
from ui.steering.measured import Fired

ORDER_PIXELS, HALF_PIXELS = 220, 150
SHOWN = 7  # characters that become likelier, and as many that become less likely
LANGUAGES = (  # name, colour, symbol
    ("English", palette.CLASS_COLOURS[0], "triangle-down"),
    ("Spanish", palette.CLASS_COLOURS[1], "triangle-up"),
)
COLOURS = (palette.SIDE_COLOURS["left"], palette.SIDE_COLOURS["right"])  # of less and more


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
