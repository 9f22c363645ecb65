"""Charts of the tab Linear: maps of a head, the state, losses of conversions, recall and costs.

Shapes: T characters, d channels, W ways of attention, S seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from gating_core.at_work import PairedDifference
from gating_core.left_out import COSTS
from gating_core.left_out_at_work import (
    CHEAPER,
    RECALL_PAIRS,
    AttentionTimes,
    Cheaper,
    RecallCurves,
)
from gating_core.training import mean_interval
from ui.drawing import palette
from ui.drawing.characters import sign
from ui.left_out.line_chart import HEIGHT_PIXELS, Line, Style, line_chart

COST_LENGTHS = tuple(10**power for power in range(2, 7))  # tokens
# By the square root of the weight: most weights are small.
SCALE = [[(1 + np.sign(2 * at - 1) * (2 * at - 1) ** 2) / 2, colour]
         for at, colour in palette.SIGNED_SCALE]  # fmt: skip
LOSSES_PIXELS = 228
ALONE = {16: "window 16 alone", 4: "window 4 alone"}  # what hybrids are compared with
BEST, WORST = 0.003, 3.0  # nats: the ends of the losses' axis
GREY, MAGENTA = palette.SIDE_COLOURS["left"], palette.SIDE_COLOURS["right"]
BLUE, ORANGE, GREEN, PURPLE = palette.CLASS_COLOURS
WAYS = {
    "softmax": Style("softmax", GREY, "dot", "x"),
    "window": Style("window", ORANGE, "dash", "square"),
    "linear": Style("linear", BLUE, "solid", "circle"),
    "hybrid": Style("hybrid", PURPLE, "dashdot", "diamond"),
    "delta": Style("delta rule", GREEN, "longdash", "triangle-up"),
}
RULES = {  # of the toy
    "linear": replace(WAYS["linear"], name="sum"),
    "delta": replace(WAYS["delta"], name="delta"),
    "gated_delta": replace(WAYS["hybrid"], name="gated"),
    "best": replace(WAYS["window"], name="best"),
    "softmax": WAYS["softmax"],
}
BRANCHES = {"whole": ("whole", MAGENTA, "circle"),
            "without_window": ("without window", ORANGE, "square-open"),
            "without_linear": ("without linear", BLUE, "diamond-open")}  # fmt: skip


def map_chart(result: Cheaper, text: str | None) -> go.Figure:
    """Draw the weights of all ways side by side, on one scale from -1 to 1.

    Rows are the tokens that look, columns those that are looked at: characters of ``text``, if any.
    """
    length = result.weights.shape[-1]
    names = [f"{n} {sign(one)}" for n, one in enumerate(text, 1)] if text else [
        f"{n}" for n in range(1, length + 1)
    ]  # fmt: skip
    hidden = np.triu(np.ones((length, length), bool), 1)
    alike = [" ", *(f"{cosine:.2f}" for cosine in result.cosine[1:])]
    titles = [f"{WAYS[name].name}<br>{of}" for name, of in zip(CHEAPER, alike, strict=True)]
    figure = make_subplots(1, len(CHEAPER), horizontal_spacing=0.012, subplot_titles=titles)
    for column, (name, weights) in enumerate(zip(CHEAPER, result.weights, strict=True), 1):
        figure.add_heatmap(
            z=np.where(hidden, np.nan, weights).astype(np.float32), x=names, y=names,
            row=1, col=column, zmin=-1, zmax=1, colorscale=SCALE,
            showscale=column == len(CHEAPER),
            colorbar={"thickness": 8, "len": 0.9, "tickvals": [-1, -0.3, 0, 0.3, 1]},
            hovertemplate=f"{WAYS[name].name}, %{{y}} looks at %{{x}}: %{{z:.3f}}<extra></extra>",
        )  # fmt: skip
    figure.update_annotations(font_size=11).update_xaxes(visible=False)
    figure.update_yaxes(visible=False, autorange="reversed")
    return figure.update_layout(height=HEIGHT_PIXELS, margin={"l": 4, "r": 4, "t": 34, "b": 2})


def state_chart(result: Cheaper, at: int) -> go.Figure:
    """Draw the state (d, d) of the delta rule after character ``at``, on one scale for all."""
    low, high = palette.symmetric_range(float(np.abs(result.states).max()))
    trace = {
        "type": "heatmap", "z": result.states[at], "zmin": low, "zmax": high,
        "colorscale": palette.SIGNED_SCALE, "colorbar": {"thickness": 8, "len": 0.9},
        "hovertemplate": "key channel %{x}, value channel %{y}: %{z:.3g}<extra></extra>",
    }  # fmt: skip
    return go.Figure({"data": [trace], "layout": {
        "height": HEIGHT_PIXELS, "margin": {"l": 38, "r": 4, "t": 6, "b": 34},
        "xaxis": {"title": {"text": "channel of keys", "standoff": 2}, "constrain": "domain"},
        "yaxis": {"title": {"text": "of values", "standoff": 2}, "scaleanchor": "x",
                  "constrain": "domain"},
    }})  # fmt: skip


def conversion_chart(
    losses: Mapping[str, Mapping[str, PairedDifference]],
) -> go.Figure:
    """Draw losses above softmax of conversions by title, whole and with a branch taken out.

    Dashed: windows trained alone. A loss that is not above 0 has no place on this axis.
    """
    traces: list[dict[str, Any]] = []
    for branch, (name, colour, symbol) in BRANCHES.items():
        rows = {title: of[branch] for title, of in losses.items() if branch in of}
        traces.append({
            "type": "scatter", "mode": "markers", "name": name, "y": list(rows),
            "x": [one.mean for one in rows.values()],
            "error_x": {"type": "data", "array": [one.half_width for one in rows.values()],
                        "thickness": 1.2, "width": 3},
            "marker": {"size": 8, "symbol": symbol, "color": colour},
            "hovertemplate": f"%{{y}}, {name}: %{{x:.3f}} nats<extra></extra>",
        })  # fmt: skip
    alone = [losses[title]["whole"].mean for title in ALONE.values() if title in losses]
    shapes = [{
        "type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": mean, "x1": mean,
        "line": {"dash": "dash", "width": 1, "color": palette.PLANE},
    } for mean in alone if mean > 0]  # fmt: skip
    return go.Figure({"data": traces, "layout": {
        "height": LOSSES_PIXELS, "margin": {"l": 104, "r": 6, "t": 26, "b": 34}, "shapes": shapes,
        "legend": {"orientation": "h", "x": -0.35, "y": 1, "yanchor": "bottom",
                   "font": {"size": 10}},
        "hovermode": "closest",
        "xaxis": {"type": "log", "range": [np.log10(BEST), np.log10(WORST)],
                  "tickvals": [0.01, 0.1, 1], "title": {"text": "nats above softmax",
                                                        "standoff": 2}},
        "yaxis": {"autorange": "reversed", "tickfont": {"size": 10}, "dtick": 1},
    }})  # fmt: skip


def recall_chart(curves: RecallCurves, channels: int) -> go.Figure:
    """Draw the share of pairs that each rule recognises against their number; d is marked."""
    names = [*map(str, RECALL_PAIRS)]
    lines = []
    for rule, of in curves.recognised.items():
        widths = np.array([mean_interval(row).half_width for row in of])
        lines.append(Line(RULES[rule], names, of.mean(1), widths))
    figure = line_chart(lines, "pairs", "recognised", rows=3).update_yaxes(range=[0, 1.04])
    if str(channels) in names:
        line = {"width": 1, "dash": "dot", "color": palette.PLANE}
        figure.add_vline(names.index(str(channels)), line=line,
                         annotation={"text": f"d = {channels}", "font": {"size": 10}})  # fmt: skip
    return figure


def cost_chart(channels: int, window: int) -> go.Figure:
    """Draw products (solid) and numbers stored (dotted) for 100 to 10⁶ tokens: arithmetic."""
    lines = []
    for name, (products, stored) in paper_costs(channels, window).items():
        style = replace(WAYS["softmax" if name == "full" else name], dash="solid")
        lines += [Line(style, np.array(COST_LENGTHS), products),
                  Line(style.stored, np.array(COST_LENGTHS), stored)]  # fmt: skip
    return line_chart(lines, "tokens", "products; numbers", log=True, rows=2)


def paper_costs(channels: int, window: int) -> dict[str, np.ndarray]:
    """Return products of d numbers, and numbers stored, (2, n) at `COST_LENGTHS`."""
    sizes = {"full": (), "window": (window,), "linear": (), "hybrid": (window,)}
    costs = {name: [COSTS[name](n, channels, *more) for n in COST_LENGTHS]
             for name, more in sizes.items()}  # fmt: skip
    return {name: np.array([[one.scores for one in of], [one.stored for one in of]], float)
            for name, of in costs.items()}  # fmt: skip


def time_chart(times: AttentionTimes) -> go.Figure:
    """Draw the time of each way over that of softmax attention, with quartiles of repeats."""
    lines = []
    timed = {name: times.ratios(name) for name in ("window", "linear")}
    ratios = np.stack([*timed.values()])
    reach = [np.log10(ratios.min()) - 0.1, np.log10(ratios.max()) + 0.1]
    for name, quartiles in timed.items():
        lines.append(Line(WAYS[name], [*map(_length, times.lengths)], quartiles[:, 1],
                          (quartiles[:, 2] - quartiles[:, 0]) / 2))  # fmt: skip
    figure = line_chart(lines, "tokens", "time / softmax", level=(1.0, ""), rows=2)
    ticks = {"dtick": 1, "exponentformat": "power"}
    return figure.update_yaxes(type="log", range=reach, **ticks).update_xaxes(tickangle=0)


def _length(tokens: int) -> str:
    return f"{tokens // 1024}k" if tokens >= 1024 else f"{tokens}"
