"""The charts of the Experts page: counts, singular values, moves; errors against data.

Shapes: P parameters of W_V and W_O, T distances, R repeats, L numbers of data, S seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.experts import NULL_SHARE, Learned, LearningCurves, Moves, Undecidable
from ui.common.words import short, tick_text
from ui.drawing import palette
from ui.drawing.panels import QUIET
from ui.experts.request import FARTHEST, TITLES, GateSetting, title_of

HEIGHT_PIXELS, LOWER_PIXELS = 370, 290  # of a chart beside one other, and beside two
SMALLEST = 1e-17  # drawn: nothing that is computed in double precision is smaller and not 0
PER = {"elementwise": "channel", "headwise": "head"}
Counts = Mapping[GateSetting, Undecidable]
Trace = dict[str, Any]
GREY, MAGENTA = palette.SIDE_COLOURS["left"], palette.SIDE_COLOURS["right"]
LINES = {  # of moves: what is drawn of which model
    "weights": ("the head's weights", palette.CLASS_COLOURS[0], "dot"),
    "experts": ("its experts", palette.CLASS_COLOURS[1], "dash"),
}
STYLES = (  # of gates in their order: colour, dash, symbol
    (MAGENTA, "solid", "circle"),
    (palette.CLASS_COLOURS[1], "dash", "square"),
    (palette.CLASS_COLOURS[2], "dashdot", "diamond"),
    (palette.CLASS_COLOURS[0], "longdash", "triangle-up"),
    (palette.CLASS_COLOURS[3], "longdashdot", "triangle-down"),
)
NO_GATE_STYLE = (GREY, "dot", "x")
MARKS = {"gated better": "triangle-up", "ungated better": "triangle-down",
         "no difference": "circle", "no advantage": "circle-open"}  # fmt: skip
UNDECIDED_MARK = "x"

# --- What no data can decide ----------------------------------------------------------------------


def setting_text(setting: GateSetting) -> str:
    """Name a gate position."""
    return "no gate" if setting is None else f"{setting[0]}, per {PER[setting[1]]}"


def count_chart(counts: Counts, shown: GateSetting) -> go.Figure:
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
            MAGENTA if number == few < max(numbers) else GREY
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
    return _low_figure([bars, theory], {
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
            ("null", null, GREY, "diamond-open"),
        )
    ]  # fmt: skip
    return _low_figure(dots, {
        "margin": {"l": 56, "r": 8, "t": 28, "b": 40},
        "yaxis": {**_powers(-17, 0.5), "title": {"text": "singular value", "standoff": 2}},
        "xaxis": {"title": {"text": "number, from large to small", "standoff": 4}},
        "shapes": [_level(NULL_SHARE, dash="dot")],
    })  # fmt: skip


def move_chart(moves: Mapping[str, Moves], distance: float) -> go.Figure:
    """Draw what a move along a direction changes, without and with the gate."""
    plain = next(iter(moves.values()))
    lines = [
        _move_line(plain, name, getattr(plain, field), colour, dash)
        for field, (name, colour, dash) in LINES.items()
    ]
    outputs = zip(moves.items(), (GREY, MAGENTA), ("circle", "square"), strict=True)
    lines += [
        _move_line(each, f"outputs, {name}", each.outputs, colour, "solid", symbol)
        for (name, each), colour, symbol in outputs
    ]
    return _low_figure(lines, {
        "margin": {"l": 56, "r": 8, "t": 44, "b": 40},
        "yaxis": {**_powers(-17, 1), "title": {"text": "relative change", "standoff": 2}},
        "xaxis": {"title": {"text": "how far, t", "standoff": 4},
                  "range": [-FARTHEST * 1.03, FARTHEST * 1.03]},
        "shapes": [{"type": "line", "yref": "paper", "x0": distance, "x1": distance, "y0": 0,
                    "y1": 1, "line": {"color": palette.PLANE, "width": 2}}],
    })  # fmt: skip


def _move_line(
    moves: Moves, name: str, sizes: np.ndarray, colour: str, dash: str, symbol: str = ""
) -> Trace:
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


def _low_figure(traces: list[Trace], layout: dict[str, Any]) -> go.Figure:
    figure = _figure(traces, {"height": LOWER_PIXELS, **layout})
    return figure.update_layout(legend_font_size=11)


# --- Errors against data --------------------------------------------------------------------------


def error_chart(learned: Mapping[str, Learned], name: str) -> go.Figure:
    """Draw the errors ``name`` of students: every repeat as a thin line, and the median.

    What theory expects is a dotted line, where it is a number. Errors beyond 100 are cut off.
    """
    traces: list[Trace] = []
    expected = False
    styles = iter(STYLES)
    for gate, of in learned.items():
        style = NO_GATE_STYLE if gate == "none" else next(styles)
        counts, errors = of.request.counts, getattr(of, name)
        traces.append(_each_row(counts, errors, style[0]))
        theory = np.median(getattr(of, f"{name}_theory"), 0)
        if np.isfinite(theory).all():
            traces.append(
                _line(counts, theory, palette.CREASE, 2, "dot", name="theory",
                      legendgroup="theory", showlegend=not expected, hoverinfo="skip")
            )  # fmt: skip
            expected = True
        hover = f"n = %{{x:.0f}}<br>median %{{y:.3g}} of {len(errors)} repeats"
        traces.append(_marked(counts, np.median(errors, 0), style, 8, TITLES[gate], hover))
    first = next(iter(learned.values()))
    size = _level(float(np.median(first.size)), color=palette.PLANE)
    every = np.concatenate([getattr(of, name).ravel() for of in learned.values()])
    low, high = np.log10(every.min()), np.log10(every.max())
    powers = 10.0 ** np.arange(np.floor(low), np.ceil(high) + 1)
    counts = first.request.counts
    return _figure(traces, {
        "shapes": [size] if name == "expert" else [], "margin": {"l": 60, "r": 8, "t": 30, "b": 42},
        "xaxis": {"type": "log", "tickvals": counts, "ticktext": [*map(tick_text, counts)],
                  "title": {"text": "n, measurements", "standoff": 4}},
        "yaxis": {"type": "log", "range": [low - 0.2, min(high, 2.0) + 0.2], "tickvals": powers,
                  "ticktext": [*map(tick_text, powers)]},
    })  # fmt: skip


def curves_chart(curves: LearningCurves, level: float) -> go.Figure:
    """Draw test errors against training points, seed by seed, and where ``level`` is reached."""
    names = ("ungated", title_of(curves.request.gate))
    traces: list[Trace] = []
    for title, accuracy, needed, style in zip(
        names, curves.accuracy, curves.needed(level), (NO_GATE_STYLE, STYLES[0]), strict=True
    ):
        colour, errors = style[0], 100 * (1 - accuracy)
        traces.append(_each_row(curves.counts, errors, colour))
        hover = "%{x:.0f} points<br>error %{y:.2f} %"
        traces.append(_marked(curves.counts, errors.mean(0), style, 7, title, hover))
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
    return _figure(traces, {
        "shapes": [_level(100 * (1 - level))], "margin": {"l": 56, "r": 8, "t": 30, "b": 42},
        "xaxis": _points(curves),
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


def _line(x: np.ndarray, y: np.ndarray, colour: str, width: float, dash: str, **more: Any) -> Trace:
    style = {"color": colour, "width": width, "dash": dash}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": style, **more}


def _each_row(counts: np.ndarray, errors: np.ndarray, colour: str) -> Trace:
    """Every row of ``errors`` (R, L) as a thin line."""
    rows = np.concatenate([np.append(row, np.nan) for row in errors])
    many = np.tile(np.append(counts, np.nan), len(errors))
    return _line(many, rows, colour, 1, "solid", opacity=0.3, **QUIET)


def _marked(
    x: np.ndarray, y: np.ndarray, style: tuple[str, str, str], size: int, name: str, hover: str
) -> Trace:
    """A line of this colour, dash and symbol, with a marker at each point."""
    colour, dash, symbol = style
    return {
        **_line(x, y, colour, 2.5, dash), "mode": "lines+markers", "name": name,
        "marker": {"size": size, "symbol": symbol, "color": colour},
        "hovertemplate": f"{name}, {hover}<extra></extra>",
    }  # fmt: skip


def _level(y: float, dash: str = "dash", **line: Any) -> dict[str, Any]:
    """A horizontal line across the chart."""
    line |= {"dash": dash, "width": 1}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line}


def _figure(traces: list[Trace], layout: dict[str, Any]) -> go.Figure:
    legend = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}
    return go.Figure({"data": traces, "layout": {"height": HEIGHT_PIXELS, "legend": legend,
                                                 "hovermode": "closest", **layout}})  # fmt: skip
