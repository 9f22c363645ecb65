"""A chart as a plain Plotly figure: a quantity at grid points, or cells, each of one kind.

Last come parts of other figures: ticks, axes and titles of several panels.

Texts and papers are left to the page's theme. Shapes: R x C grid points; N cells, S x S pixels, the
first row at the bottom.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from ui.drawing import palette
from ui.drawing.colours import ColourScale
from ui.drawing.lines import hatch, zero_curve

PIXELS = 256  # along a side
READ_PIXELS = 64  # along a side, of what is read off
MIXED = "more than one kind"


def chart_map(
    field: np.ndarray,
    axis: np.ndarray,
    scale: ColourScale,
    symbol: str,
    names: tuple[str, str],
    bar: dict[str, Any],
    layout: dict[str, Any],
    *,
    signed: np.ndarray | None = None,
    error: np.ndarray | None = None,
    hatched: bool = False,
) -> go.Figure:
    """``field`` (R, C) over the chart ``axis`` x ``axis``; NaN is left open, or ``hatched``.

    Drawn is the place on the ``scale``, from 0 to 1: browsers lose ends that differ in the last
    digit only. So the ticks of the colour ``bar`` are such places. Zeros of ``signed`` (R, C) are a
    dashed line. ``error`` (R, C) is read off beside the field.
    """
    shade = np.clip(scale.apply(field), scale.low, scale.high)
    position = (shade - scale.low) / (scale.high - scale.low)
    known = np.full_like(field, np.nan) if error is None else error
    doubt = "" if error is None else "<br>error at most %{customdata[1]:.1g}"
    traces: list[dict[str, Any]] = [{
        "type": "heatmap", "name": symbol, "x": axis, "y": axis, "z": position,
        "zmin": 0, "zmax": 1, "colorscale": scale.colours, "colorbar": bar, "hoverongaps": False,
        "customdata": np.stack([field, known], -1),
        "hovertemplate": "(%{x:.3g}, %{y:.3g})<br>" + symbol + " = %{customdata[0]:.4g}"
        f"{doubt}<extra></extra>",
    }]  # fmt: skip
    if hatched:
        strokes = hatch(np.isnan(field), axis)
        traces += plane_line(strokes, {"color": palette.GRID_LINE, "width": 1})
    if signed is not None:
        zeros, _ = zero_curve(signed, axis, np.zeros((*signed.shape, 1)))
        traces += plane_line(zeros, {"color": palette.LINE, "width": 2, "dash": "dash"}, "K = 0")
    axes = _axes(float(axis[0]), float(axis[-1]), names, 2)
    return plain_figure(traces, {"showlegend": False, **layout, **axes})


def _axes(low: float, high: float, names: tuple[str, str], standoff: int) -> dict[str, Any]:
    """The axes of a square; the upright one is ``standoff`` pixels from its name."""
    square = {"range": [low, high], "constrain": "domain", "tickvals": [low, 0, high],
              "zeroline": False, "showgrid": False}  # fmt: skip
    return {
        "xaxis": square | {"title": {"text": names[0], "standoff": 2}},
        "yaxis": square | {"title": {"text": names[1], "standoff": standoff}, "scaleanchor": "x"},
    }


def plane_line(points: np.ndarray, line: dict[str, Any], name: str = "") -> list[dict[str, Any]]:
    """A trace of ``points`` (M, 2); none where none of them is finite."""
    if not np.isfinite(points).any():
        return []
    return [
        {
            "type": "scatter",
            "x": points[:, 0],
            "y": points[:, 1],
            "mode": "lines",
            "name": name,
            "line": line,
            "hoverinfo": "skip",
        }
    ]


# --- Cells ----------------------------------------------------------------------------------------


class CellKind(NamedTuple):
    """A kind of cell, in a few words; without a ``colour`` it is undetermined, and hatched."""

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
    centres: np.ndarray,
    radius: np.ndarray,
    labels: np.ndarray,
    kinds: Sequence[CellKind],
    names: tuple[str, str],
    size: int,
) -> go.Figure:
    """Draw cells of the chart [-1, 1]^2 in the colours of their ``kinds``, ``size`` pixels wide.

    Cells are boxes with sides of 2^-k, see `kinds_of_pixels`. ``names`` are those of the axes. The
    legend has the kinds that occur. A pixel shared by several is left open.
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
    return plain_figure([{"showlegend": False, **trace} for trace in traces], {
        **_axes(-1, 1, names, 8),
        "width": size, "height": size + 24, "margin": {"l": 50, "r": 10, "t": 34, "b": 50},
        "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom",
                   "itemclick": False, "itemdoubleclick": False},
        "hovermode": "closest", "dragmode": False,
    })  # fmt: skip


def _axis(side: int) -> np.ndarray:
    """(S,): the middles of pixels."""
    return (2 * np.arange(side) + 1) / side - 1


def _pixels(fine: np.ndarray, kinds: Sequence[CellKind], drawn: Sequence[int]) -> dict[str, Any]:
    """Pixels of the kinds that are ``drawn``, each in its colour; the others are transparent."""
    code = np.zeros(len(kinds) + 1, dtype=np.uint8)  # the last one is that of several kinds
    code[drawn] = np.arange(1, len(drawn) + 1)
    colours = ["rgba(0, 0, 0, 0)", *(kinds[number].colour or "" for number in drawn)]
    scale = palette.steps(np.linspace(0, 1, len(colours) + 1).tolist(), colours)
    return {
        "type": "heatmap", "x": _axis(len(fine)), "y": _axis(len(fine)), "z": code[fine],
        "zmin": -0.5, "zmax": len(drawn) + 0.5, "colorscale": scale, "showscale": False,
        "hoverinfo": "skip",
    }  # fmt: skip


def _entry(kind: CellKind) -> dict[str, Any]:
    look = {"symbol": "square", "color": kind.colour}
    if kind.colour is None:
        look = {"symbol": "square-x-open", "color": palette.GRID_LINE}
    return {"type": "scatter", "x": [None], "y": [None], "mode": "markers", "name": kind.words,
            "marker": look | {"size": 11}, "showlegend": True}  # fmt: skip


# --- Parts of charts ------------------------------------------------------------------------------

MOST_TICKS = 3  # numbers along an axis
TICK_ROOM = 0.15  # of an axis at both ends, without numbers: those of two axes would meet there
CHART_NAMES = {  # of its axes
    "inputs": ("<i>x</i><sub>1</sub>", "<i>x</i><sub>2</sub>"),
    "weights": ("<i>u</i>", "<i>v</i>"),
}


def round_numbers(low: float, high: float) -> list[float]:
    """Return at most three multiples of 1, 2 or 5 times a power of ten, away from both ends."""
    room = TICK_ROOM * (high - low)
    first, last = float(low + room), float(high - room)
    if not last > first:
        return [float(low)]
    unit = 10.0 ** np.floor(np.log10(last - first))
    for step in (factor * unit for factor in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)):
        multiples = np.arange(np.ceil(first / step), np.floor(last / step) + 1)
        if len(multiples) <= MOST_TICKS:
            return [float(f"{multiple * step:.6g}") for multiple in multiples]
    return []


def plain_figure(traces: Sequence[dict[str, Any]], layout: dict[str, Any]) -> go.Figure:
    """Return a figure whose properties are not validated: that takes twice the time of the rest.

    `tests/ui/test_states.py` validates the charts of all pages.
    """
    return go.Figure({"data": traces, "layout": layout}, _validate=False)


def subplot(index: int) -> dict[str, str]:
    """Return the names of the axes of panel ``index`` (from 0) of a figure, for its traces."""
    number = index + 1 if index else ""
    return {"xaxis": f"x{number}", "yaxis": f"y{number}"}


def subplot_title(text: str, x: float, y: float, size: int) -> dict[str, Any]:
    """Return a title ``size`` pixels high. Its foot is at the shares ``x``, ``y`` of a figure."""
    return {
        "text": text, "x": x, "xanchor": "center", "xref": "paper", "y": y, "yanchor": "bottom",
        "yref": "paper", "showarrow": False, "font": {"size": size},
    }  # fmt: skip
