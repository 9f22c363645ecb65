"""Charts of gates: at every character of a text, over all verses, and by character.

Shapes: L layers, H heads, T characters of a text, V characters of the alphabet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.at_work import SHUT
from gating_core.language import CHARACTERS
from ui.drawing import palette
from ui.drawing.characters import sign
from ui.drawing.panels import subplot, subplot_title
from ui.drawing.titled import TITLE
from ui.language.selection import head_names

STRIP_PIXELS = 205
HALF_PIXELS = 195
LEAST_COUNT = 100  # times that a character must be read to be drawn
DASHES = ("solid", "dash", "dot", "dashdot")


def strip_chart(opened: np.ndarray, text: str, title: str) -> go.Figure:
    """Draw how far every head (L, H, T) is open at every character of ``text``."""
    layers, heads, size = opened.shape
    return go.Figure({"data": [{
        "type": "heatmap", "z": opened.reshape(-1, size), "y": head_names(layers, heads),
        "zmin": 0, "zmax": 1, "colorscale": palette.SEQUENTIAL_SCALE,
        "colorbar": {"thickness": 12, "title": {"text": "gate"}, "tickvals": [0, 0.5, 1]},
        "hovertemplate": "head %{y} at “%{x}”: %{z:.3f}<extra></extra>",
    }], "layout": {
        "height": STRIP_PIXELS, "margin": {"l": 44, "r": 8, "t": 46, "b": 4},
        "title": {"text": title, **TITLE},
        "xaxis": {"tickvals": [*range(size)], "ticktext": [*map(sign, text)], "side": "top",
                  "tickangle": 0, "ticks": "", "tickfont": {"size": 11, "family": "monospace"},
                  "showgrid": False},
        "yaxis": {"autorange": "reversed", "type": "category", "ticks": "", "showgrid": False,
                  "tickfont": {"size": 9}, "dtick": 1},
        "shapes": [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y,
                    "line": {"width": 1, "color": palette.NEUTRAL}}
                   for y in np.arange(1, layers) * heads - 0.5],
    }})  # fmt: skip


def histogram_chart(counts: np.ndarray, title: str) -> go.Figure:
    """Draw how often every gate value occurs (L, H, bins), a panel a layer, a line a head."""
    layers, heads, bins = counts.shape
    edges = np.arange(bins + 1) / bins
    shares = 100 * counts / counts.sum(-1, keepdims=True)
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "height": HALF_PIXELS, "margin": {"l": 40, "r": 8, "t": 46, "b": 24},
        "title": {"text": title, **TITLE}, "annotations": [],
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
    }  # fmt: skip
    for layer in range(layers):
        x, y = subplot(layer).values()
        ends = layer / layers + 0.01, (layer + 1) / layers - 0.01
        layout[f"xaxis{x[1:]}"] = {"domain": ends, "range": [0, 1], "tickvals": [0, 0.5],
                                   "ticktext": ["0", "½"], "anchor": y}  # fmt: skip
        layout[f"yaxis{y[1:]}"] = {"range": [0, float(shares.max()) * 1.05], "anchor": x,
                                   "showticklabels": not layer}  # fmt: skip
        layout["annotations"].append(subplot_title(f"layer {layer + 1}", sum(ends) / 2, 0.86, 11))
        closed = np.concatenate([shares[layer], shares[layer, :, -1:]], -1)  # to the last edge
        traces += [{
            "type": "scatter", "mode": "lines", "x": edges, "xaxis": x, "yaxis": y,
            "y": closed[head], "name": f"head {head + 1}",
            "line": {"shape": "hv", "width": 1.5, "dash": DASHES[head % len(DASHES)],
                     "color": palette.CLASS_COLOURS[head % len(palette.CLASS_COLOURS)]},
            "showlegend": not layer, "legendgroup": str(head),
            "hovertemplate": f"head {layer + 1}.{head + 1}: %{{y:.1f}} % from %{{x:.2f}}"
            "<extra></extra>",
        } for head in range(heads)]  # fmt: skip
    layout["yaxis"]["title"] = {"text": "% of values", "standoff": 2}
    layout["shapes"] = [{"type": "rect", "xref": f"x{layer + 1 if layer else ''}", "x0": 0,
                         "x1": SHUT, "yref": "paper", "y0": 0, "y1": 1, "line": {"width": 0},
                         "fillcolor": f"{palette.PLANE}33"} for layer in range(layers)]  # fmt: skip
    return go.Figure({"data": traces, "layout": layout})


def often(counts: np.ndarray) -> np.ndarray:
    """Return the numbers of characters of texts, without the break, that were read often enough."""
    return np.flatnonzero(counts[1:] >= LEAST_COUNT) + 1


def openers(measured: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the mean gate of each head at each character minus its mean at all, (V, L, H).

    NaN for characters that were read too rarely.
    """
    means, counts = measured["gates.by_character"], measured["gates.counts"]
    weights = counts / counts.sum()
    average = (np.nan_to_num(means) * weights[:, None, None]).sum(0)
    known = np.full(means.shape, np.nan)
    known[often(counts)] = (means - average)[often(counts)]
    return known


def opener_chart(above: np.ndarray, title: str) -> go.Figure:
    """Draw `openers` (V, L, H) as a map of heads and characters."""
    shown = np.flatnonzero(np.isfinite(above).all((1, 2)))
    _, layers, heads = above.shape
    z = above[shown].reshape(len(shown), -1).T
    low, high = palette.symmetric_range(float(np.abs(z).max(initial=0)))
    return go.Figure({"data": [{
        "type": "heatmap", "z": z, "y": head_names(layers, heads), "zmin": low, "zmax": high,
        "colorscale": palette.SIGNED_SCALE,
        "colorbar": {"thickness": 12, "title": {"text": "above<br>mean"}},
        "hovertemplate": "head %{y} at “%{x}”: %{z:+.3f}<extra></extra>",
    }], "layout": {
        "height": HALF_PIXELS, "margin": {"l": 44, "r": 8, "t": 46, "b": 4},
        "title": {"text": title, **TITLE},
        "xaxis": {"tickvals": [*range(len(shown))],
                  "ticktext": [sign(CHARACTERS[number]) for number in shown], "side": "top",
                  "tickangle": 0, "ticks": "", "tickfont": {"size": 10, "family": "monospace"},
                  "showgrid": False},
        "yaxis": {"autorange": "reversed", "type": "category", "ticks": "", "showgrid": False,
                  "tickfont": {"size": 9}, "dtick": 1},
    }})  # fmt: skip
