"""The charts of the sections on data: errors against the number of data, learning curves.

Shapes: R repeats, L numbers of data, S seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.experts import Learned, LearningCurves
from ui.common.words import tick_text
from ui.drawing import palette
from ui.drawing.panels import QUIET
from ui.experts.data_request import TITLES, title_of

HEIGHT_PIXELS = 370
GREY = palette.SIDE_COLOURS["left"]
STYLES = (  # of gates in their order: colour, dash, symbol
    (palette.SIDE_COLOURS["right"], "solid", "circle"),
    (palette.CLASS_COLOURS[1], "dash", "square"),
    (palette.CLASS_COLOURS[2], "dashdot", "diamond"),
    (palette.CLASS_COLOURS[0], "longdash", "triangle-up"),
    (palette.CLASS_COLOURS[3], "longdashdot", "triangle-down"),
)
NO_GATE_STYLE = (GREY, "dot", "x")
MARKS = {"gated better": "triangle-up", "ungated better": "triangle-down",
         "no difference": "circle", "no advantage": "circle-open"}  # fmt: skip
UNDECIDED_MARK = "x"


def error_chart(learned: Mapping[str, Learned], name: str) -> go.Figure:
    """Draw the errors ``name`` of students: every repeat as a thin line, and the median.

    What theory expects is a dotted line, where it is a number. Errors beyond 100 are cut off.
    """
    traces: list[dict[str, Any]] = []
    drawn, expected = [], False
    styles = iter(STYLES)
    for gate, of in learned.items():
        colour, dash, symbol = NO_GATE_STYLE if gate == "none" else next(styles)
        counts, errors = of.request.counts, getattr(of, name)
        rows = np.concatenate([np.append(row, np.nan) for row in errors])
        many = np.tile(np.append(counts, np.nan), len(errors))
        traces.append(_line(many, rows, colour, 1, "solid", opacity=0.3, **QUIET))
        theory = np.median(getattr(of, f"{name}_theory"), 0)
        if np.isfinite(theory).all():
            traces.append(
                _line(
                    counts,
                    theory,
                    palette.CREASE,
                    2,
                    "dot",
                    name="theory",
                    legendgroup="theory",
                    showlegend=not expected,
                    hoverinfo="skip",
                )
            )
            expected = True
        median = np.median(errors, 0)
        drawn.append(errors.ravel())
        traces.append({
            **_line(counts, median, colour, 2.5, dash), "mode": "lines+markers",
            "name": TITLES[gate], "marker": {"size": 8, "symbol": symbol, "color": colour},
            "hovertemplate": f"{TITLES[gate]}, n = %{{x:.0f}}<br>median %{{y:.3g}} of"
            f" {len(errors)} repeats<extra></extra>",
        })  # fmt: skip
    first = next(iter(learned.values()))
    size = float(np.median(first.size))
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": size, "y1": size,
            "line": {"dash": "dash", "width": 1, "color": palette.PLANE}}  # fmt: skip
    every = np.concatenate(drawn)
    low, high = np.log10(every.min()), np.log10(every.max())
    powers = 10.0 ** np.arange(np.floor(low), np.ceil(high) + 1)
    counts = first.request.counts
    return _figure(traces, {
        "shapes": [line] if name == "expert" else [], "margin": {"l": 60, "r": 8, "t": 30, "b": 42},
        "xaxis": {"type": "log", "tickvals": counts, "ticktext": [*map(tick_text, counts)],
                  "title": {"text": "n, measurements", "standoff": 4}},
        "yaxis": {"type": "log", "range": [low - 0.2, min(high, 2.0) + 0.2], "tickvals": powers,
                  "ticktext": [*map(tick_text, powers)]},
    })  # fmt: skip


def curves_chart(curves: LearningCurves, level: float) -> go.Figure:
    """Draw test errors against training points, seed by seed, and where ``level`` is reached."""
    names = ("ungated", title_of(curves.request.gate))
    traces: list[dict[str, Any]] = []
    for title, accuracy, needed, style in zip(
        names, curves.accuracy, curves.needed(level), (NO_GATE_STYLE, STYLES[0]), strict=True
    ):
        colour, dash, symbol = style
        errors = 100 * (1 - accuracy)
        rows = np.concatenate([np.append(row, np.nan) for row in errors])
        many = np.tile(np.append(curves.counts, np.nan), len(errors))
        traces.append(_line(many, rows, colour, 1, "solid", opacity=0.3, **QUIET))
        traces.append({
            **_line(curves.counts, errors.mean(0), colour, 2.5, dash), "mode": "lines+markers",
            "name": title, "marker": {"size": 7, "symbol": symbol, "color": colour},
            "hovertemplate": f"{title}, %{{x:.0f}} points<br>error %{{y:.2f}} %<extra></extra>",
        })  # fmt: skip
        if (of := needed.log2) is not None:
            low, middle, high = (2 ** (of.mean + k * of.half_width) for k in (-1, 0, 1))
            traces.append({
                "type": "scatter", "mode": "markers", "x": [middle], "y": [100 * (1 - level)],
                "marker": {"size": 13, "symbol": "star", "color": colour,
                           "line": {"width": 1, "color": palette.LINE}},
                "error_x": {"type": "data", "symmetric": False, "array": [high - middle],
                            "arrayminus": [middle - low], "color": colour, "thickness": 2},
                "name": f"{title} reaches it", "showlegend": False,
                "hovertemplate": f"{title}: %{{x:.0f}} points<extra></extra>",
            })  # fmt: skip
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 100 * (1 - level),
            "y1": 100 * (1 - level), "line": {"dash": "dash", "width": 1}}  # fmt: skip
    return _figure(traces, {
        "shapes": [line], "margin": {"l": 56, "r": 8, "t": 30, "b": 42}, "xaxis": _points(curves),
        "yaxis": {"title": {"text": "test error, %", "standoff": 4}, "rangemode": "tozero"},
    })  # fmt: skip


def difference_chart(curves: LearningCurves, margin: float) -> go.Figure:
    """Draw gated minus ungated accuracy with intervals, and the ``margin`` of no difference."""
    differences = curves.differences()
    means = np.array([100 * one.measured.mean for one in differences])
    ends = np.array([[100 * one.measured.low, 100 * one.measured.high] for one in differences])
    dots = {
        "type": "scatter", "mode": "markers", "x": curves.counts, "y": means, "showlegend": False,
        "marker": {"size": 9, "color": STYLES[0][0],
                   "symbol": [MARKS.get(one.word, UNDECIDED_MARK) for one in differences]},
        "error_y": {"type": "data", "symmetric": False, "array": ends[:, 1] - means,
                    "arrayminus": means - ends[:, 0], "thickness": 1.5},
        "customdata": [one.word for one in differences],
        "hovertemplate": "%{x:.0f} points: %{y:.2f} points of accuracy<br>%{customdata}"
        "<extra></extra>",
    }  # fmt: skip
    title = f"{title_of(curves.request.gate).split()[0]} − ungated accuracy, points"
    ends_of_band = {"xref": "paper", "x0": 0, "x1": 1, "y0": -100 * margin, "y1": 100 * margin}
    band = {"type": "rect", **ends_of_band, "fillcolor": f"{palette.PLANE}33", "line": {"width": 0}}
    return _figure([dots], {
        "shapes": [band], "margin": {"l": 56, "r": 8, "t": 30, "b": 42}, "xaxis": _points(curves),
        "yaxis": {"title": {"text": title, "standoff": 4}, "zeroline": True},
    })  # fmt: skip


def _points(curves: LearningCurves) -> dict[str, Any]:
    ticks = [f"{count:.0f}" for count in curves.counts]
    return {"type": "log", "tickvals": curves.counts, "ticktext": ticks,
            "title": {"text": "training points", "standoff": 4}}  # fmt: skip


def _line(
    x: np.ndarray, y: np.ndarray, colour: str, width: float, dash: str, **more: Any
) -> dict[str, Any]:
    style = {"color": colour, "width": width, "dash": dash}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": style, **more}


def _figure(traces: list[dict[str, Any]], layout: dict[str, Any]) -> go.Figure:
    legend = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}
    return go.Figure({"data": traces, "layout": {"height": HEIGHT_PIXELS, "legend": legend,
                                                 "hovermode": "closest", **layout}})  # fmt: skip
