"""Charts of the tab Eviction: the kept keys, losses and errors over budgets, the best subset.

Shapes: T tokens, n keys of a prefill, P policies, b budgets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from gating_core.at_work import PairedDifference
from gating_core.language import MODELS
from gating_core.left_out import COSTS
from gating_core.left_out_at_work import BUDGETS, POLICIES, PREFILL, Evicted, Searched
from ui.drawing import palette
from ui.drawing.characters import sign
from ui.left_out.line_chart import Line, Style, difference_line, gate_lines, line_chart
from ui.left_out.request import EVICT_BY

BESIDE = {"orientation": "v", "x": 1.01, "y": 1, "yanchor": "top", "font": {"size": 10}}
STRIP_PIXELS, PIXELS, LOWER_PIXELS = 160, 205, 235
LABELLED = 128  # characters at most, beside which each has its sign
CHANNELS = MODELS["none"].width // MODELS["none"].heads  # of a head
Losses = Mapping[str, Mapping[int, PairedDifference]]
NAMES = {policy: words for words, policy in EVICT_BY.items()}
STYLES = {
    "recency": Style(NAMES["recency"], palette.SIDE_COLOURS["left"], symbol="x"),
    "mass": Style(NAMES["mass"], palette.CLASS_COLOURS[0], symbol="circle"),
    "value": Style(NAMES["value"], palette.CLASS_COLOURS[1], symbol="square"),
    "key": Style(NAMES["key"], palette.CLASS_COLOURS[2], symbol="diamond"),
    "joint": Style(NAMES["joint"], palette.SIDE_COLOURS["right"], symbol="triangle-up"),
    "exact": Style(NAMES["exact"], palette.BESIDE, symbol="star"),
}
SCALE = [[0.0, "rgba(122, 135, 148, 0.15)"], [1.0, palette.SIDE_COLOURS["right"]]]
MAP_SCALE = [
    [0.0, "rgba(0, 0, 0, 0)"],
    [0.5, palette.NEUTRAL],
    [1.0, palette.SIDE_COLOURS["right"]],
]


def strip_chart(result: Evicted, protects: bool, text: str | None) -> go.Figure:
    """Draw which keys of the prefill each policy keeps; ``text``: the characters there."""
    kept = result.kept[0 if protects else 1].astype(np.uint8)
    signs = [*map(sign, text or "")][: result.prefill]
    names = [style.name for style in STYLES.values()]
    axis = {"tickvals": [*range(len(signs))], "ticktext": signs, "tickangle": 0, "ticks": "",
            "tickfont": {"size": 10}} if 0 < len(signs) <= LABELLED else {}  # fmt: skip
    return go.Figure({"data": [{
        "type": "heatmap", "z": kept, "y": names, "zmin": 0, "zmax": 1, "colorscale": SCALE,
        "showscale": False, "xgap": 1, "ygap": 2,
        "hovertemplate": "%{y}, key %{x}: %{z}<extra></extra>",
    }], "layout": {
        "height": STRIP_PIXELS, "margin": {"l": 96, "r": 8, "t": 4, "b": 24},
        "xaxis": {"showgrid": False, **axis},
        "yaxis": {"autorange": "reversed", "showgrid": False},
    }})  # fmt: skip


def reading_chart(result: Evicted) -> go.Figure:
    """Draw the keys that each query sees while keys are evicted one by one; the others are grey."""
    seen = result.reading.astype(np.uint8) + np.tri(result.length, dtype=np.uint8)
    return go.Figure({"data": [{
        "type": "heatmap", "z": seen, "zmin": 0, "zmax": 2, "colorscale": MAP_SCALE,
        "showscale": False,
        "hovertemplate": "query %{y}, key %{x}: %{z} (2: there, 1: has left)<extra></extra>",
    }], "layout": {
        "height": PIXELS, "margin": {"l": 46, "r": 8, "t": 26, "b": 34},
        "xaxis": {"title": {"text": "key", "standoff": 2}, "showgrid": False},
        "yaxis": {"title": {"text": "query", "standoff": 4}, "autorange": "reversed",
                  "showgrid": False},
    }})  # fmt: skip


def loss_chart(losses: Losses) -> go.Figure:
    """Draw losses above the full cache over budgets, by policy that protects recent keys."""
    figure = _losses([
        difference_line(replace(STYLES[of.score], name=of.title, width=2.0,
                                dash="dash" if of.first else "solid"), losses[name])
        for name, of in POLICIES.items() if of.protects
    ])  # fmt: skip
    return figure.update_layout(height=LOWER_PIXELS, legend=BESIDE)


def pair_chart(losses: Losses, budget: int | None = None) -> go.Figure:
    """Draw two losses over budgets by name, to compare: the second may be lower."""
    figure = _losses(gate_lines(losses))
    if budget is not None:
        figure.add_vline(budget, line={"width": 1.5, "dash": "dot", "color": palette.ACCENT})
    return figure


def error_chart(result: Evicted, over_texts: Line | None = None) -> go.Figure:
    """Draw errors of a head's later outputs over budgets; with nothing protected dashed.

    ``over_texts``: those of the same head by the selected policy over all measured texts.
    """
    some = result.budgets < result.prefill
    budgets = [*map(int, result.budgets[some])]
    lines = [
        Line(replace(style, dash="solid" if protects else "dash", listed=protects,
                     width=2.0 if protects else 1.5), budgets, errors[some])
        for protects, rows in zip((True, False), result.errors, strict=True)
        for style, errors in zip(STYLES.values(), rows, strict=True)
    ]  # fmt: skip
    if over_texts is not None:
        lines.append(over_texts)
    figure = line_chart(lines, "budget, and the share of numbers stored", "error", log=True)
    _shares(figure, budgets, result.length)
    return figure.update_layout(height=LOWER_PIXELS, legend=BESIDE)


def texts_line(errors: np.ndarray, half_widths: np.ndarray, texts: int) -> Line:
    """The errors (b,) of a head over ``texts``, with their intervals, for `error_chart`."""
    style = Style(f"over {texts} texts", palette.ACCENT, "dot", "circle-open", width=2)
    return Line(style, BUDGETS, errors, half_widths)


def search_chart(result: Searched) -> go.Figure:
    """Draw errors of each policy for few keys, and of the best subset there is."""
    budgets = np.arange(1, len(result.best) + 1)
    lines = [
        Line(Style("best subset", palette.PLANE, "dash", "line-ew", width=4), budgets, result.best)
    ]
    lines += [Line(replace(style, listed=False), budgets, errors)  # listed in `error_chart`
              for style, errors in zip(STYLES.values(), result.errors, strict=True)]  # fmt: skip
    figure = line_chart(lines, "keys kept of the first 12", "error", log=True)
    return figure.update_xaxes(type="linear", dtick=2).update_layout(height=LOWER_PIXELS)


def _losses(lines: Sequence[Line]) -> go.Figure:
    figure = line_chart(lines, "budget, and the share of numbers stored", "nats a character")
    figure.update_yaxes(rangemode="tozero")
    _shares(figure, [*map(int, np.array(lines[0].x))], PREFILL)
    return figure.update_layout(height=PIXELS)


def _shares(figure: go.Figure, budgets: Sequence[int], length: int) -> None:
    """Write below each budget which share of the numbers of ``length`` keys it keeps."""
    full = COSTS["full"](length, CHANNELS).stored
    texts = [f"{budget}<br>{COSTS['evicted'](length, CHANNELS, budget).stored / full:.0%}"
             for budget in budgets]  # fmt: skip
    figure.update_xaxes(tickvals=[*budgets], ticktext=texts, dtick=None)
    figure.update_layout(margin_b=46)
