"""Attention maps, token by token: all heads of one model in rows of layers, or one head alone.

Shapes: L layers, H heads, T characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ui.drawing import palette
from ui.foreign import in_plot

HEIGHT_PIXELS = 400
PER_THOUSAND = 1000  # weights are sent as whole numbers of two bytes
HIDDEN = 0  # what no query sees; the least weight that is drawn is 1
BREAK_SIGN, SPACE_SIGN = "¶", "␣"
LABELLED = 90  # characters at most beside which each has its sign
# By the square root of the weight: most weights are small.
SCALE = [
    [0.0, "rgba(0, 0, 0, 0)"],
    *([max(position**2, 0.0005), colour] for position, colour in palette.SEQUENTIAL_SCALE),
]


def sign(character: str) -> str:
    """Return a character as it is drawn."""
    return {"\n": BREAK_SIGN, " ": SPACE_SIGN}.get(character, in_plot(character))


def map_chart(maps: dict[str, np.ndarray], text: Sequence[str], height: int = HEIGHT_PIXELS,
              names: tuple[str, str] = ("layer", "head")) -> go.Figure:  # fmt: skip
    """Draw the weights (L, H, T, T) of models by title, side by side on one colour scale.

    Rows of a map are the characters that look, columns those that are looked at.
    """
    signs = [sign(character) for character in text]
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"height": height, "margin": {"l": 46, "r": 8, "t": 44, "b": 8},
                              "annotations": []}  # fmt: skip
    width = 1 / len(maps)
    for place, (title, weights) in enumerate(maps.items()):
        tiles, step = tiled(weights)
        number = place + 1 if place else ""
        rows, columns = (np.arange(count) * step for count in weights.shape[:2])
        traces.append({
            "type": "heatmap", "z": tiles, "coloraxis": "coloraxis",
            "xaxis": f"x{number}", "yaxis": f"y{number}",
            "hovertemplate": "“%{y}” looks at “%{x}”<br>%{z} ‰ of its weight<extra>"
            f"{title}</extra>",
        })  # fmt: skip
        single = weights.shape[:2] == (1, 1)
        shown = single and len(signs) <= LABELLED
        for axis, starts, count in (("xaxis", columns, tiles.shape[1]),
                                    ("yaxis", rows, tiles.shape[0])):  # fmt: skip
            layout[f"{axis}{number}"] = {
                "tickvals": (starts[:, None] + np.arange(len(signs))).ravel(),
                "ticktext": signs * len(starts), "showticklabels": shown, "ticks": "",
                "tickfont": {"size": 9}, "tickangle": 0, "showgrid": False, "zeroline": False,
                "range": [-0.5, count - 0.5],
            }  # fmt: skip
        layout[f"xaxis{number}"] |= {
            "domain": [place * width + (0.02 if place else 0), (place + 1) * width - 0.02],
            "anchor": f"y{number}", "constrain": "domain",
        }  # fmt: skip
        layout[f"yaxis{number}"] |= {
            "range": [tiles.shape[0] - 0.5, -0.5], "scaleanchor": f"x{number}",
            "anchor": f"x{number}", "constrain": "domain",
        }  # fmt: skip
        layout["annotations"].append(
            _text(title, f"x{number} domain", f"y{number} domain", 0.5, 1, yshift=20, size=14)
        )
        if not single:
            layout["annotations"] += [
                _text(f"{names[1]} {head + 1}", f"x{number}", f"y{number} domain",
                      start + len(signs) / 2, 1, yshift=3)
                for head, start in enumerate(columns)
            ] + [
                _text(f"{names[0]} {layer + 1}", f"x{number} domain", f"y{number}", 0,
                      start + len(signs) / 2, xshift=-9, textangle=-90)
                for layer, start in enumerate(rows) if len(rows) > 1
            ]  # fmt: skip
    layout["coloraxis"] = {
        "colorscale": SCALE, "cmin": 0, "cmax": PER_THOUSAND,
        "colorbar": {"thickness": 12, "tickvals": [10, 100, 300, 600, 1000],
                     "ticktext": ["1 %", "10 %", "30 %", "60 %", "100 %"],
                     "title": {"text": "weight"}},
    }  # fmt: skip
    return go.Figure({"data": traces, "layout": layout})


def tiled(weights: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the maps (L, H, T, T) in one picture, and how far one begins from the next.

    In thousandths, at least 1 where a query sees a key and `HIDDEN` elsewhere.
    """
    layers, heads, size = weights.shape[:3]
    gap = 1 + size // 24
    step = size + gap
    picture = np.full((layers * step - gap, heads * step - gap), HIDDEN, np.uint16)
    seen = np.tril(np.ones((size, size), bool))
    for layer in range(layers):
        for head in range(heads):
            whole = np.maximum(np.rint(PER_THOUSAND * weights[layer, head]), 1)
            place = slice(layer * step, layer * step + size), slice(head * step, head * step + size)
            picture[place] = np.where(seen, whole, HIDDEN)
    return picture, step


def _text(text: str, xref: str, yref: str, x: float, y: float, *, xshift: float = 0,
          yshift: float = 0, size: float = 11, **more: Any) -> dict[str, Any]:  # fmt: skip
    anchors = (
        {"xanchor": "center", "yanchor": "bottom"}
        if yshift
        else {"xanchor": "center", "yanchor": "middle"}
    )
    return {"text": text, "xref": xref, "yref": yref, "x": x, "y": y, "xshift": xshift,
            "yshift": yshift, "showarrow": False, "font": {"size": size}, **anchors,
            **more}  # fmt: skip
