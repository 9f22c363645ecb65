"""Charts of the tab Top-k: weights in order, bounds of what is left out, losses, and the rule.

Shapes: P points of curves over k, S seeds, H heads of all models, B bins, K sizes k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.at_work import PairedDifference
from gating_core.left_out import CERTIFICATES, COSTS
from gating_core.left_out_at_work import BINS, SIZES, RowCurves
from ui.drawing import palette
from ui.drawing.characters import sign
from ui.left_out.line_chart import gate_lines, gate_styles, level_line, line_chart
from ui.limits import READ_CHARACTERS

PIXELS, LOWER_PIXELS = 262, 250
LEAST = 1e-4  # of a weight and of a mass that is drawn
LONG = 300  # keys: beyond it the axis of k is logarithmic
KEPT, LEFT = palette.SIDE_COLOURS["right"], palette.PLANE
TRUTH = ("the truth", palette.BESIDE, "solid")
STYLES = dict(zip(CERTIFICATES, (
    (palette.CLASS_COLOURS[1], "dot"), (palette.CLASS_COLOURS[0], "dash"),
    (palette.CLASS_COLOURS[3], "dashdot"), (palette.CLASS_COLOURS[2], "longdash"),
), strict=True))  # fmt: skip
CONTEXT = READ_CHARACTERS + 1  # characters of the losses' texts
LOSSES = (-4, 0.5)  # powers of ten, nats
TICKS = (1, 0.1, 0.01, 0.001, 0.0001)


def weight_chart(row: RowCurves, k: int, text: str | None) -> go.Figure:
    """Draw the weights in order; those beyond ``k`` are left out. ``text``: their characters."""
    names = ["" if text is None else f" of “{sign(text[key])}”, character {key}"
             for key in row.keys]  # fmt: skip
    traces: list[dict[str, Any]] = []
    for name, chosen, colour, pattern in (
        ("kept", row.ks <= k, KEPT, ""), ("left out", row.ks > k, LEFT, "/"),
    ):  # fmt: skip
        shown = np.maximum(row.weights[chosen], LEAST * 1.05)
        common = {
            "x": row.ks[chosen], "name": name,
            "customdata": [f"{weight:.3g}{of}" for weight, of, here in
                           zip(row.weights, names, chosen, strict=True) if here],
            "hovertemplate": f"weight %{{x}} in order: %{{customdata}}<extra>{name}</extra>",
        }  # fmt: skip
        if row.n <= LONG:
            traces.append({
                "type": "bar", "y": shown, **common,
                "marker": {"color": colour, "pattern": {"shape": pattern, "size": 4}},
            })  # fmt: skip
        else:
            traces.append({
                "type": "scatter", "mode": "lines", "y": shown, **common,
                "line": {"color": colour, "dash": "dot" if pattern else "solid", "width": 3},
            })  # fmt: skip
    low = LEAST if row.n <= LONG else max(1e-12, float(row.weights.min()) / 2)
    up = {"type": "log", "range": [np.log10(low), 0.05], "exponentformat": "power", "dtick": 1}
    figure = _figure(traces, row, "weight", up, PIXELS)
    return _marked(figure, row, k).update_layout(bargap=0)


def bound_chart(row: RowCurves, k: int, epsilon: float) -> go.Figure:
    """Draw the mass left out over k, and above it the bound of each certificate."""
    curves = {TRUTH[0]: (row.mass, TRUTH[1:])}
    for name, curve in row.bounds.items():
        curves[CERTIFICATES[name].title] = curve, STYLES[name]
    traces = [{
        "type": "scatter", "mode": "lines", "x": row.ks, "name": name,
        "y": np.where(curve >= LEAST, curve, np.nan),
        "line": {"color": colour, "dash": dash, "width": 3 if name == TRUTH[0] else 2},
        "hovertemplate": f"k = %{{x}}: at most %{{y:.3g}}<extra>{name}</extra>",
    } for name, (curve, (colour, dash)) in curves.items()]  # fmt: skip
    up = {"type": "log", "range": [np.log10(LEAST), 0.05], "tickvals": TICKS,
          "ticktext": [f"{tick:g}" for tick in TICKS]}  # fmt: skip
    figure = _marked(_figure(traces, row, "mass left out, τ", up, PIXELS), row, k)
    figure.update_layout(legend={"orientation": "v", "x": 0.01, "y": 0.01, "yanchor": "bottom",
                                 "font": {"size": 10}, "bgcolor": "rgba(0, 0, 0, 0)"})  # fmt: skip
    return figure.add_shape(level_line(epsilon, f"ε = {epsilon:g}"))


def loss_chart(losses: Mapping[str, Mapping[int, PairedDifference]], k: int | None) -> go.Figure:
    """Draw the losses above those of the same models with all keys, by title and k."""
    figure = line_chart(gate_lines(losses), "k, and the share of values mixed", "nats a character",
                        log=True)  # fmt: skip
    figure.update_layout(height=PIXELS, margin_b=50)
    full = COSTS["full"](CONTEXT, 1).mixed
    texts = [f"{size}<br>{COSTS['top_k'](CONTEXT, 1, size).mixed / full:.0%}" for size in SIZES]
    figure.update_xaxes(tickvals=SIZES, ticktext=texts, dtick=None)
    figure.update_yaxes(range=LOSSES)
    if k is not None:
        _line(figure, np.log10(k), k)
    return figure


def error_chart(row: RowCurves, k: int) -> go.Figure:
    """Draw how far the output moves for every k, and τ times the diameter."""
    assert row.errors is not None
    traces = [{
        "type": "scatter", "mode": "lines", "x": row.ks, "y": curve, "name": name,
        "line": {"color": colour, "dash": dash, "width": 2.5},
        "hovertemplate": f"k = %{{x}}: %{{y:.3g}}<extra>{name}</extra>",
    } for curve, (name, colour, dash) in zip(row.errors, (
        ("output", palette.BESIDE, "solid"),
        ("τ · diameter", palette.CLASS_COLOURS[1], "dot"),
    ), strict=True)]  # fmt: skip
    return _marked(_figure(traces, row, "|o − ô|", {"rangemode": "tozero"}, LOWER_PIXELS), row, k)


def rule_chart(rules: Mapping[str, Sequence[np.ndarray]], names: Sequence[str]) -> go.Figure:
    """Draw predicted and needed k of all heads (S, H), by the models' title."""
    traces: list[dict[str, Any]] = []
    for (title, (predicted, needed)), style in zip(rules.items(), gate_styles(rules), strict=True):
        seeds = len(predicted)
        traces.append({
            "type": "scatter", "mode": "markers", "x": needed.ravel(), "y": predicted.ravel(),
            "name": title, "text": [f"head {name}, seed {seed}" for seed in range(seeds)
                                    for name in names],
            "marker": {"size": 7, "symbol": style.symbol, "color": style.colour}, "opacity": 0.75,
            "hovertemplate": f"{title}, %{{text}}: needs %{{x:.0f}}, rule %{{y:.1f}}"
            "<extra></extra>",
        })  # fmt: skip
    axis = {"type": "log", "range": [-0.05, 2.15], "tickvals": [1, 3, 10, 30, 100]}
    return go.Figure({"data": traces, "layout": {
        "height": LOWER_PIXELS, "margin": {"l": 46, "r": 8, "t": 26, "b": 38},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "shapes": [{"type": "line", "x0": 1, "y0": 1, "x1": 128, "y1": 128,
                    "line": {"width": 1, "dash": "dash", "color": palette.PLANE}}],
        "xaxis": {"title": {"text": "k that a head needs", "standoff": 2}, **axis},
        "yaxis": {"title": {"text": "k by the rule", "standoff": 4}, **axis},
    }})  # fmt: skip


def score_chart(row: RowCurves) -> go.Figure:
    """Draw the distributions of scores and of their weight, beside normal distributions."""
    middles, width = (BINS[1:] + BINS[:-1]) / 2, BINS[1] - BINS[0]
    traces: list[dict[str, Any]] = []
    for name, shares, colour, pattern, centre in (
        ("keys", row.counts, palette.SIDE_COLOURS["left"], "", 0.0),
        ("their weight", row.carried, palette.SIDE_COLOURS["right"], "/", row.sigma),
    ):
        traces.append({
            "type": "bar", "x": middles, "y": 100 * shares, "name": name, "opacity": 0.6,
            "marker": {"color": colour, "pattern": {"shape": pattern, "size": 4}},
            "hovertemplate": f"%{{x:.2f}} σ: %{{y:.1f}} % of {name}<extra></extra>",
        })  # fmt: skip
        normal = np.exp(-((middles - centre) ** 2) / 2) * width / np.sqrt(2 * np.pi)
        traces.append({
            "type": "scatter", "mode": "lines", "x": middles, "y": 100 * normal,
            "name": f"{name}, by the rule", "hoverinfo": "skip", "showlegend": False,
            "line": {"color": colour, "dash": "dash", "width": 2},
        })  # fmt: skip
    seen = np.flatnonzero(row.counts + row.carried)
    reach = [min(middles[seen[0]], -3.5), max(middles[seen[-1]], row.sigma + 2.5, 3.5)]
    return go.Figure({"data": traces, "layout": {
        "height": LOWER_PIXELS, "margin": {"l": 46, "r": 8, "t": 26, "b": 38},
        "barmode": "overlay", "bargap": 0,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "xaxis": {"title": {"text": "score minus the row's mean, in σ", "standoff": 2},
                  "range": [max(reach[0], BINS[0]), min(reach[1], BINS[-1])]},
        "yaxis": {"title": {"text": "share, %", "standoff": 4}},
    }})  # fmt: skip


def _figure(
    traces: list[dict[str, Any]], row: RowCurves, name: str, up: dict[str, Any], height: int
) -> go.Figure:
    across = {"type": "log", "dtick": 1} if row.n > LONG else {"range": [0.4, row.n + 0.6]}
    return go.Figure({"data": traces, "layout": {
        "height": height, "margin": {"l": 54, "r": 8, "t": 26, "b": 38},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "hovermode": "closest", "yaxis": {"title": {"text": name, "standoff": 4}, **up},
        "xaxis": {"title": {"text": "k", "standoff": 2}, **across},
    }})  # fmt: skip


def _marked(figure: go.Figure, row: RowCurves, k: int) -> go.Figure:
    return _line(figure, np.log10(k + 0.5) if row.n > LONG else k + 0.5, k)


def _line(figure: go.Figure, at: float, k: int) -> go.Figure:
    """Draw an upright line; ``at`` as the axis counts, in powers of ten where it is logarithmic."""
    line = {"width": 1.5, "dash": "dot", "color": palette.ACCENT}
    shape = {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": line}
    note = {"text": f"k = {k:,}", "x": at, "yref": "paper", "y": 0.98, "showarrow": False,
            "xanchor": "left", "font": {"size": 11}}  # fmt: skip
    if figure.layout.xaxis.type == "log":
        shape |= {"x0": 10**at, "x1": 10**at}
    return figure.add_shape(shape).add_annotation(note)
