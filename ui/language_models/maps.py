"""Attention maps, token by token: all heads of one model in rows of layers, or one head alone.

Shapes: L layers, H heads, T characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ui.common.language_models import sign
from ui.drawing import palette
from ui.drawing.chart_map import plain_figure, subplot

HEIGHT_PIXELS = 372
ACROSS = 2  # maps in a row
BAR_PIXELS = 20  # more where the colour scale lies below the maps
PER_THOUSAND = 1000  # weights are sent as whole numbers of two bytes
HIDDEN = 0  # what no query sees; the least weight that is drawn is 1
TICKS = (0.01, 0.1, 0.3, 0.6, 1.0)  # weights named beside the scale
LABELLED = {"x": 90, "y": 40}  # characters at most below and beside which each has its sign
MAP_CELLS = 48  # along each side of a map among others: smaller ones would vanish between pixels
# By the square root of the weight: most weights are small.
SCALE = [
    [0.0, "rgba(0, 0, 0, 0)"],
    *([max(position**2, 0.0005), colour] for position, colour in palette.SEQUENTIAL_SCALE),
]


def map_chart(
    maps: Mapping[str, np.ndarray], text: Sequence[str], height: int = HEIGHT_PIXELS
) -> go.Figure:
    """Draw the weights (L, H, T, T) of models by title, two in a row, on one colour scale.

    Rows of a map are queries, columns keys. Where there are
    several maps of a long text, a cell shows the largest weight of several characters.
    """
    several = any(weights.shape[:2] != (1, 1) for weights in maps.values())
    side = -(-len(text) // MAP_CELLS) if several else 1
    signs = ["".join(map(sign, text[at : at + side])) for at in range(0, len(text), side)]
    share = "%{z} ‰ of its weight" if side == 1 else "at most %{z} ‰ of a token's weight"
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    notes: list[dict[str, Any]] = []
    down = -(-len(maps) // ACROSS)
    for place, (title, weights) in enumerate(maps.items()):
        tiles, step = tiled(weights, side)
        x, y = subplot(place).values()
        starts = [np.arange(count) * step for count in weights.shape[:2]]
        traces.append(
            {
                "type": "heatmap",
                "z": tiles,
                "coloraxis": "coloraxis",
                "xaxis": x,
                "yaxis": y,
                "hovertemplate": f"“%{{y}}” attends to “%{{x}}”<br>{share}<extra>{title}</extra>",
            }
        )
        row, column = divmod(place, ACROSS)
        domains = _domain(column, ACROSS, 0.04), _domain(down - 1 - row, down, 0.12)
        for axis, begins, count, domain, other in (
            (x, starts[1], tiles.shape[1], domains[0], y),
            (y, starts[0], tiles.shape[0], domains[1], x),
        ):
            layout[f"{axis[0]}axis{axis[1:]}"] = {
                "tickvals": (begins[:, None] + np.arange(len(signs))).ravel(),
                "ticktext": signs * len(begins), "ticks": "", "tickangle": 0,
                "showticklabels": not several and len(signs) <= LABELLED[axis[0]],
                "tickfont": {"size": 12}, "showgrid": False, "zeroline": False,
                "range": [-0.5, count - 0.5] if axis is x else [count - 0.5, -0.5],
                "domain": domain, "anchor": other, "constrain": "domain",
                **({} if axis is x else {"scaleanchor": x}),
            }  # fmt: skip
        notes.append(_text(title, f"{x} domain", f"{y} domain", 0.5, 1, 20 if several else 4, 14))
        if several:
            middle = len(signs) / 2
            notes += [
                _text(_numbered("head", n), x, f"{y} domain", at + middle, 1, 3)
                for n, at in enumerate(starts[1])
            ]
            notes += [
                {
                    **_text(_numbered("layer", n), f"{x} domain", y, 0, at + middle, 0),
                    "xanchor": "right",
                    "yanchor": "middle",
                    "textangle": -90,
                }
                for n, at in enumerate(starts[0])
            ]
    measured = "weight" if side == 1 else f"weight, largest of {side} × {side}"
    bar = (
        {"orientation": "h", "y": 0, "yanchor": "top", "ypad": 6, "len": 0.8}
        if several
        else {"orientation": "v"}
    )  # letters stand below the only map
    scale = {
        "colorscale": SCALE,
        "cmin": 0,
        "cmax": PER_THOUSAND,
        "colorbar": {
            **bar,
            "thickness": 10,
            "tickvals": [PER_THOUSAND * x for x in TICKS],
            "title": {"text": measured, "side": "bottom" if several else "top"},
            "ticktext": [f"{x:.0%}" for x in TICKS],
        },
    }
    layout |= {
        "height": height + BAR_PIXELS * several,
        "margin": {"l": 20, "r": 8, "t": 44, "b": 52 if several else 8},
        "annotations": notes,
        "coloraxis": scale,
    }
    return plain_figure(traces, layout)


def tiled(weights: np.ndarray, side: int = 1) -> tuple[np.ndarray, int]:
    """Return the maps (L, H, T, T) in one picture, and how far one begins from the next.

    In thousandths, at least 1 where a query sees a key and `HIDDEN` elsewhere. A cell is the
    largest of ``side`` x ``side`` weights.
    """
    starts = np.arange(0, weights.shape[-1], side)
    weights = np.maximum.reduceat(np.maximum.reduceat(weights, starts, -2), starts, -1)
    layers, heads, size = weights.shape[:3]
    gap = 1 + size // 24
    step = size + gap
    picture = np.full((layers * step - gap, heads * step - gap), HIDDEN, np.uint16)
    seen = np.tril(np.ones((size, size), bool))
    shown = np.where(seen, np.maximum(np.rint(PER_THOUSAND * weights), 1), HIDDEN)
    for layer, head in np.ndindex(layers, heads):
        row, column = layer * step, head * step
        picture[row : row + size, column : column + size] = shown[layer, head]
    return picture, step


def _domain(place: int, count: int, gap: float) -> list[float]:
    """The ends of one of ``count`` equal parts of an axis, with gaps between them."""
    size = (1 - gap * (count - 1)) / count
    return [place * (size + gap), min(place * (size + gap) + size, 1.0)]


def _numbered(word: str, number: int) -> str:
    """The first of a row says what is numbered; on a phone there is no room to say it again."""
    return f"{number + 1}" if number else f"{word} 1"


def _text(
    text: str, xref: str, yref: str, x: float, y: float, above: float, size: float = 12
) -> dict[str, Any]:
    """A text ``above`` a place, in pixels."""
    return {"text": text, "xref": xref, "yref": yref, "x": x, "y": y, "yshift": above,
            "showarrow": False, "font": {"size": size}, "xanchor": "center",
            "yanchor": "bottom"}  # fmt: skip
