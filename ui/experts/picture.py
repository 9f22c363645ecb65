"""The charts of the second section: counts by gate position, singular values, moves.

Shapes: P parameters of W_V and W_O, T distances.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.experts import NULL_SHARE, Moves, Undecidable
from ui.common.words import short, tick_text
from ui.drawing import palette
from ui.experts.request import FARTHEST

HEIGHT_PIXELS = 290
SMALLEST = 1e-17  # drawn: nothing that is computed in double precision is smaller and not 0
PER = {"elementwise": "channel", "headwise": "head"}
Counts = Mapping[tuple[str, str] | None, Undecidable]
COLOURS = {"many": palette.SIDE_COLOURS["left"], "few": palette.SIDE_COLOURS["right"]}
LINES = {  # of moves: what is drawn of which model
    "weights": ("the head's weights", palette.CLASS_COLOURS[0], "dot"),
    "experts": ("its experts", palette.CLASS_COLOURS[1], "dash"),
}


def setting_text(setting: tuple[str, str] | None) -> str:
    """Name a gate position."""
    return "no gate" if setting is None else f"{setting[0]}, per {PER[setting[1]]}"


def count_chart(counts: Counts, shown: tuple[str, str] | None) -> go.Figure:
    """Draw how many directions are undecidable for every gate position, and what theory says."""
    names = [
        f"<b>{setting_text(setting)} ▸</b>" if setting == shown else setting_text(setting)
        for setting in counts
    ]
    numbers = [each.count for each in counts.values()]
    few = min(numbers)
    bars = {
        "type": "bar", "orientation": "h", "y": names, "x": numbers, "name": "counted",
        "marker": {"color": [
            COLOURS["few"] if number == few < max(numbers) else COLOURS["many"]
            for number in numbers
        ]},
        "text": [f"{number}" for number in numbers], "textposition": "outside",
        "textfont": {"size": 11}, "cliponaxis": False,
        "customdata": [[*map(short, each.ends)] for each in counts.values()],
        "hovertemplate": "%{y}: %{x} directions<br>singular values: smallest decided"
        " %{customdata[0]}, largest null %{customdata[1]}<extra></extra>",
    }  # fmt: skip
    theory = {
        "type": "scatter", "mode": "markers", "y": names, "name": "theory",
        "x": [each.theory for each in counts.values()], "hoverinfo": "skip",
        "marker": {"symbol": "line-ns", "size": 15,
                   "line": {"width": 3, "color": palette.CREASE}},
    }  # fmt: skip
    return _figure([bars, theory], {
        "margin": {"l": 108, "r": 8, "t": 28, "b": 40}, "bargap": 0.3,
        "yaxis": {"autorange": "reversed", "ticks": ""},
        "xaxis": {"title": {"text": "undecidable directions", "standoff": 4},
                  "range": [0, 1.15 * max(numbers) or 1]},
    })  # fmt: skip


def gap_chart(directions: Undecidable) -> go.Figure:
    """Draw the singular values of one model from large to small, and where nullity begins."""
    values = np.maximum(directions.singular_values, SMALLEST)
    order = np.arange(1, len(values) + 1)
    null = directions.singular_values < NULL_SHARE
    dots = [
        {
            "type": "scatter", "mode": "markers", "name": name, "x": order[chosen],
            "y": values[chosen], "marker": {"size": 6, "color": colour, "symbol": symbol},
            "hovertemplate": "number %{x}: %{y:.2g} of the largest<extra></extra>",
        }
        for name, chosen, colour, symbol in (
            ("decided", ~null, palette.CLASS_COLOURS[0], "circle"),
            ("null", null, COLOURS["many"], "diamond-open"),
        )
    ]  # fmt: skip
    return _figure(dots, {
        "margin": {"l": 56, "r": 8, "t": 28, "b": 40},
        "yaxis": {**_powers(-17, 0.5), "title": {"text": "singular value", "standoff": 2}},
        "xaxis": {"title": {"text": "number, from large to small", "standoff": 4}},
        "shapes": [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": NULL_SHARE,
                    "y1": NULL_SHARE, "line": {"dash": "dot", "width": 1}}],
    })  # fmt: skip


def move_chart(moves: Mapping[str, Moves], distance: float) -> go.Figure:
    """Draw what a move along a direction changes, without and with the gate."""
    plain = next(iter(moves.values()))
    lines = [
        _line(plain, name, getattr(plain, field), colour, dash)
        for field, (name, colour, dash) in LINES.items()
    ]
    outputs = zip(moves.items(), COLOURS.values(), ("circle", "square"), strict=True)
    lines += [
        _line(each, f"outputs, {name}", each.outputs, colour, "solid", symbol)
        for (name, each), colour, symbol in outputs
    ]
    return _figure(lines, {
        "margin": {"l": 56, "r": 8, "t": 44, "b": 40},
        "yaxis": {**_powers(-17, 1), "title": {"text": "relative change", "standoff": 2}},
        "xaxis": {"title": {"text": "how far, t", "standoff": 4},
                  "range": [-FARTHEST * 1.03, FARTHEST * 1.03]},
        "shapes": [{"type": "line", "yref": "paper", "x0": distance, "x1": distance, "y0": 0,
                    "y1": 1, "line": {"color": palette.PLANE, "width": 2}}],
    })  # fmt: skip


def _line(
    moves: Moves, name: str, sizes: np.ndarray, colour: str, dash: str, symbol: str = ""
) -> dict[str, Any]:
    """A curve against distance; at 0 nothing has changed, and the axis has no place for it."""
    drawn = np.where(moves.distances == 0, np.nan, np.maximum(sizes, SMALLEST))
    return {
        "type": "scatter", "mode": "lines+markers" if symbol else "lines", "name": name,
        "x": moves.distances, "y": drawn, "line": {"color": colour, "dash": dash, "width": 2},
        "marker": {"size": 4, "symbol": symbol or "circle"},
        "hovertemplate": f"{name}, t = %{{x}}: %{{y:.2g}}<extra></extra>",
    }  # fmt: skip


def _powers(low: float, high: float) -> dict[str, Any]:
    """A logarithmic axis with a tick at every fourth power of ten."""
    ticks = [10.0**power for power in range(-16, 1, 4)]
    return {"type": "log", "range": [low, high], "tickvals": ticks,
            "ticktext": [tick_text(tick) for tick in ticks]}  # fmt: skip


def _figure(traces: list[dict[str, Any]], layout: dict[str, Any]) -> go.Figure:
    legend = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": 11}}
    return go.Figure({"data": traces, "layout": {"height": HEIGHT_PIXELS, "legend": legend,
                                                 "hovermode": "closest", **layout}})  # fmt: skip
