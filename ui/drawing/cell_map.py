"""Cells of a chart, each of one kind, as a plain Plotly figure: what is proved where.

Cells are boxes with sides of 2^-k of the chart [-1, 1]^2. They are drawn as pixels: one that cells
of several kinds share is of no kind. Shapes: N cells, S x S pixels, the first row at the bottom.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from ui.drawing import palette
from ui.drawing.chart_map import plane_line
from ui.drawing.lines import hatch

PIXELS = 256  # along a side
READ_PIXELS = 64  # along a side, of what is read off
MIXED = "more than one kind"


class CellKind(NamedTuple):
    """What holds on a cell, in a few words; without a ``colour`` it is left open, and hatched."""

    words: str
    colour: str | None


def kinds_of_pixels(
    centres: np.ndarray, radius: np.ndarray, labels: np.ndarray, kinds: int, side: int = PIXELS
) -> np.ndarray:
    """(S, S): the kind that fills each pixel, -1 where there are several.

    Cells have ``centres`` and half widths ``radius`` (N, 2); ``labels`` (N,) are from 0 to
    ``kinds`` - 1. A pixel outside all cells has none either.
    """
    low = np.floor((centres - radius + 1) * (side / 2)).astype(int)
    size = np.ceil((centres + radius + 1) * (side / 2)).astype(int) - low
    there = np.zeros((side * side, kinds), dtype=bool)
    for width, height in np.unique(size, axis=0):
        alike = (size == (width, height)).all(1)
        columns = low[alike, 0, None, None] + np.arange(width)
        rows = low[alike, 1, None, None] + np.arange(height)[:, None]
        there[rows * side + columns, labels[alike, None, None]] = True
    alone = there.sum(1) == 1
    return np.where(alone, there.argmax(1), -1).reshape(side, side)


def cell_map(
    centres: np.ndarray, radius: np.ndarray, labels: np.ndarray, kinds: Sequence[CellKind],
    names: tuple[str, str], size: int,
) -> go.Figure:  # fmt: skip
    """Draw cells in the colours of their ``kinds``, ``size`` pixels wide; see `kinds_of_pixels`.

    ``names`` are those of the axes. The legend has the kinds that occur. A pixel shared by several
    is left open.
    """
    fine = kinds_of_pixels(centres, radius, labels, len(kinds))
    coarse = kinds_of_pixels(centres, radius, labels, len(kinds), READ_PIXELS)
    drawn = [number for number, kind in enumerate(kinds) if kind.colour is not None]
    words = np.array([*(kind.words for kind in kinds), MIXED])
    traces: list[dict[str, Any]] = [_pixels(fine, kinds, drawn)]
    strokes = hatch(~np.isin(coarse, [*drawn, -1]), _axis(READ_PIXELS))
    traces += plane_line(strokes, {"color": palette.GRID_LINE, "width": 1})
    traces.append({
        "type": "heatmap", "x": _axis(READ_PIXELS), "y": _axis(READ_PIXELS),
        "z": np.zeros_like(coarse, dtype=np.uint8), "opacity": 0, "showscale": False,
        "text": words[coarse].tolist(),
        "hovertemplate": "(%{x:.2f}, %{y:.2f})<br>%{text}<extra></extra>",
    })  # fmt: skip
    traces += [_entry(kinds[number]) for number in np.unique(labels)]
    square = {"range": [-1, 1], "constrain": "domain", "tickvals": [-1, 0, 1], "zeroline": False,
              "showgrid": False}  # fmt: skip
    return go.Figure({
        "data": [{"showlegend": False, **trace} for trace in traces],
        "layout": {
            "xaxis": square | {"title": {"text": names[0], "standoff": 2}},
            "yaxis": square | {"title": {"text": names[1], "standoff": 8}, "scaleanchor": "x"},
            "width": size, "height": size + 24, "margin": {"l": 50, "r": 10, "t": 34, "b": 50},
            "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom",
                       "itemclick": False, "itemdoubleclick": False},
            "hovermode": "closest", "dragmode": False,
        },
    })  # fmt: skip


def _axis(side: int) -> np.ndarray:
    """(S,): the middles of pixels."""
    return (2 * np.arange(side) + 1) / side - 1


def _pixels(fine: np.ndarray, kinds: Sequence[CellKind], drawn: Sequence[int]) -> dict[str, Any]:
    """Pixels of the kinds that are ``drawn``, each in its colour; the others are transparent."""
    code = np.zeros(len(kinds) + 1, dtype=np.uint8)  # the last one is that of several kinds
    code[drawn] = np.arange(1, len(drawn) + 1)
    colours = ["rgba(0, 0, 0, 0)", *(kinds[number].colour for number in drawn)]
    ends = np.linspace(0, 1, len(colours) + 1)
    scale = [(end, colour) for low, high, colour in zip(ends, ends[1:], colours, strict=False)
             for end in (low, high)]  # fmt: skip
    return {
        "type": "heatmap", "x": _axis(len(fine)), "y": _axis(len(fine)), "z": code[fine],
        "zmin": -0.5, "zmax": len(drawn) + 0.5, "colorscale": scale, "showscale": False,
        "hoverinfo": "skip",
    }  # fmt: skip


def _entry(kind: CellKind) -> dict[str, Any]:
    """An entry of the legend."""
    look = {"symbol": "square", "color": kind.colour}
    if kind.colour is None:
        look = {"symbol": "square-x-open", "color": palette.GRID_LINE}
    return {"type": "scatter", "x": [None], "y": [None], "mode": "markers", "name": kind.words,
            "marker": look | {"size": 11}, "showlegend": True}  # fmt: skip
