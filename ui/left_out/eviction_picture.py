"""Charts of the tab Eviction: the keys that stay, losses and errors over budgets, the best subset.

Shapes: T tokens, n keys of a prefill, P policies, b budgets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from gating_core.at_work import PairedDifference
from gating_core.left_out import COSTS, POLICIES
from gating_core.left_out_at_work import Evicted, Policy, Searched
from ui.drawing import palette
from ui.language.signs import sign
from ui.left_out.line_chart import Line, Style, line_chart
from ui.left_out.request import EVICT_BY

STRIP_PIXELS, PIXELS, LOWER_PIXELS = 175, 225, 235
LABELLED = 128  # characters at most, beside which each has its sign
LOSSES = (-3.5, 0.2)  # powers of ten, nats
NAMES = {policy: words for words, policy in EVICT_BY.items()}
COLOURS = dict(zip(POLICIES, (palette.SIDE_COLOURS["left"], palette.CLASS_COLOURS[0],
    palette.CLASS_COLOURS[1], palette.CLASS_COLOURS[2], palette.SIDE_COLOURS["right"],
    palette.BESIDE), strict=True))  # fmt: skip
SYMBOLS = dict(zip(POLICIES, ("x", "circle", "square", "diamond", "triangle-up", "star"),
                   strict=True))  # fmt: skip
SCALE = [[0.0, "rgba(122, 135, 148, 0.15)"], [1.0, palette.SIDE_COLOURS["right"]]]
MAP_SCALE = [
    [0.0, "rgba(0, 0, 0, 0)"],
    [0.5, palette.NEUTRAL],
    [1.0, palette.SIDE_COLOURS["right"]],
]


def strip_chart(of: Evicted, protects: bool, text: str | None) -> go.Figure:
    """Draw which keys of the prefill each policy keeps; ``text``: the characters there."""
    kept = of.kept[0 if protects else 1].astype(np.uint8)
    signs = [*map(sign, text or "")][: of.prefill]
    names = [NAMES[policy] for policy in POLICIES]
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


def reading_chart(of: Evicted) -> go.Figure:
    """Draw what every query sees while keys leave one by one; the rest of the past is grey."""
    seen = of.reading.astype(np.uint8) + np.tri(of.length, dtype=np.uint8)
    return go.Figure({"data": [{
        "type": "heatmap", "z": seen, "zmin": 0, "zmax": 2, "colorscale": MAP_SCALE,
        "showscale": False,
        "hovertemplate": "query %{y}, key %{x}: %{z} (2: there, 1: has left)<extra></extra>",
    }], "layout": {
        "height": PIXELS, "margin": {"l": 46, "r": 8, "t": 26, "b": 34},
        "xaxis": {"title": {"text": "key", "standoff": 2}, "showgrid": False,
                  "constrain": "domain"},
        "yaxis": {"title": {"text": "query", "standoff": 4}, "autorange": "reversed",
                  "showgrid": False, "scaleanchor": "x", "constrain": "domain"},
    }})  # fmt: skip


def loss_chart(
    losses: Mapping[str, Mapping[int, PairedDifference]], policies: Mapping[str, Policy]
) -> go.Figure:
    """Draw losses above the full cache over budgets, by policy as measured on whole models."""
    lines = [
        _over_budgets(_style(policies[name].score, policies[name].title,
                             policies[name].protects, policies[name].first > 0), of)
        for name, of in losses.items()
    ]  # fmt: skip
    return _losses(lines)


def gate_chart(losses: Mapping[str, Mapping[int, PairedDifference]], budget: int) -> go.Figure:
    """Draw the losses of models without and with a gate, by title in this order."""
    looks = ((palette.SIDE_COLOURS["left"], "dot", "x"),
             (palette.SIDE_COLOURS["right"], "solid", "circle"))  # fmt: skip
    return _losses([_over_budgets(Style(title, *look), of)
                    for (title, of), look in zip(losses.items(), looks, strict=True)],
                   budget)  # fmt: skip


def error_chart(of: Evicted, channels: int = 1) -> go.Figure:
    """Draw errors of one head's later outputs over budgets: protected solid, unprotected dashed."""
    lines = [
        Line(_style(policy, NAMES[policy], protects), [*map(int, of.budgets)], errors)
        for protects, rows in zip((True, False), of.errors, strict=True)
        for policy, errors in zip(POLICIES, rows, strict=True)
        if protects or policy != "recency"
    ]
    full = COSTS["full"](of.length, channels).kept
    shares = [COSTS["evicted"](of.length, channels, int(budget)).kept / full
              for budget in of.budgets]  # fmt: skip
    return _titled_budgets(line_chart(lines, "budget, and the share of numbers kept", "error",
                                      log=True), [*map(int, of.budgets)], shares)  # fmt: skip


def search_chart(of: Searched) -> go.Figure:
    """Draw errors of each policy for few keys, and of the best subset there is."""
    budgets = np.arange(1, len(of.best) + 1)
    lines = [
        Line(Style("best subset", palette.PLANE, "dash", "line-ew", width=4), budgets, of.best)
    ]
    lines += [Line(_style(policy, NAMES[policy], True), budgets, errors)
              for policy, errors in zip(POLICIES, of.errors, strict=True)]  # fmt: skip
    figure = line_chart(lines, "keys kept of the first 12", "error", log=True)
    return figure.update_xaxes(type="linear", dtick=2).update_layout(height=LOWER_PIXELS)


def _style(policy: str, name: str, protects: bool, first: bool = False) -> Style:
    dash = ("dashdot" if first else "solid") if protects else "dash"
    shown = name if protects or "nothing" in name else f"{name}, nothing protected"
    return Style(shown, COLOURS[policy], dash, SYMBOLS[policy], protects or "nothing" in name,
                 2.0 if protects else 1.5)  # fmt: skip


def _over_budgets(style: Style, of: Mapping[int, PairedDifference]) -> Line:
    return Line(style, [*of], np.array([x.mean for x in of.values()]),
                np.array([x.half_width for x in of.values()]))  # fmt: skip


def _losses(lines: Sequence[Line], budget: int | None = None) -> go.Figure:
    figure = line_chart(lines, "budget of every head, keys", "nats a character", log=True)
    budgets = [*lines[0].x]
    figure.update_yaxes(range=LOSSES)
    figure.update_xaxes(tickvals=budgets, ticktext=[*map(str, budgets)], dtick=None)
    if budget is not None:
        figure.add_vline(budget, line={"width": 1.5, "dash": "dot", "color": palette.ACCENT})
    return figure.update_layout(height=PIXELS)


def _titled_budgets(
    figure: go.Figure, budgets: Sequence[int], shares: Sequence[float]
) -> go.Figure:
    texts = [f"{budget}<br>{share:.0%}" for budget, share in zip(budgets, shares, strict=True)]
    figure.update_xaxes(tickvals=[*budgets], ticktext=texts, dtick=None)
    return figure.update_layout(height=LOWER_PIXELS, margin_b=46)
