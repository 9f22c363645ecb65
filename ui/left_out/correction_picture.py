"""Charts of the tab Correction: outputs in a plane, cosines beside the share of scores, retrieval.

Shapes: T queries, S seeds, n points of a curve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.at_work import PairedDifference
from gating_core.left_out_at_work import GAMMA_STEPS, GAPS, PAIRS, WINDOW_STEPS, Correction
from gating_core.training import mean_interval
from ui.drawing import palette
from ui.left_out.line_chart import Line, Style, gate_lines, line_chart

FULL = Style("full", palette.SIDE_COLOURS["left"], "solid", "circle")
SPARSE = Style("window", palette.CLASS_COLOURS[1], "dash", "x")
CORRECTED = Style("corrected", palette.CLASS_COLOURS[0], "solid", "diamond")
WAYS = (FULL, SPARSE, CORRECTED)
SLOW = Style("slow tokens", palette.BESIDE, "solid", "circle")
PLANE_PIXELS = 195
NONE = "none"  # where nothing is corrected


def plane_chart(result: Correction) -> go.Figure:
    """Draw full, sparse and corrected outputs (3, T, 2), and the way from full's mean to theirs."""
    traces: list[dict[str, Any]] = []
    for points, style in zip(result.points, WAYS, strict=True):
        traces.append({
            "type": "scatter", "mode": "markers", "x": points[:, 0], "y": points[:, 1],
            "name": style.name, "opacity": 0.45,
            "marker": {"size": 5, "symbol": style.symbol, "color": style.colour},
            "hovertemplate": f"{style.name}, query %{{pointNumber}}<extra></extra>",
        })  # fmt: skip
    means = result.points[:, result.first :].mean(1)
    for mean, style in zip(means, WAYS, strict=True):
        traces.append({
            "type": "scatter", "mode": "lines+markers", "x": [means[0, 0], mean[0]],
            "y": [means[0, 1], mean[1]], "showlegend": False,
            "line": {"color": style.colour, "width": 3},
            "marker": {"size": [0, 13], "symbol": style.symbol, "color": style.colour,
                       "line": {"width": 1.5, "color": "white"}},
            "hovertemplate": f"mean of {style.name}<extra></extra>",
        })  # fmt: skip
    return go.Figure({"data": traces, "layout": {
        "height": PLANE_PIXELS, "margin": {"l": 40, "r": 6, "t": 26, "b": 34},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "hovermode": "closest",
        "xaxis": {"title": {"text": "first direction", "standoff": 2}, "zeroline": False},
        "yaxis": {"title": {"text": "second", "standoff": 2}, "zeroline": False,
                  "scaleanchor": "x"},
    }})  # fmt: skip


def change_chart(
    slow: Sequence[Correction], head: Correction, gamma: int, beside: str
) -> go.Figure:
    """Draw the relative change of the missing part after 1, 2, ... queries; γ is marked."""
    changes = np.stack([of.change for of in slow])
    lines = [
        _over_seeds(SLOW, np.arange(1, changes.shape[1] + 1), changes.T),
        Line(_named(beside), np.arange(1, len(head.change) + 1), head.change),
    ]
    figure = line_chart(lines, "queries later", "change", level=(1.0, "all of it"))
    figure.add_vline(gamma, line={"width": 1, "dash": "dot", "color": palette.PLANE},
                     annotation={"text": f"γ = {gamma}", "font": {"size": 10}})  # fmt: skip
    return figure.update_layout(height=PLANE_PIXELS).update_yaxes(rangemode="tozero")


def gamma_chart(slow: Sequence[Correction], head: Correction, beside: str) -> go.Figure:
    """Draw cosines with full attention against γ, and the share of scores, which is dotted."""
    names = [*map(str, GAMMA_STEPS), NONE]
    cosines = np.stack([[*of.by_gamma[0], of.cosine[0]] for of in slow], -1)
    lines = [
        _over_seeds(SLOW, names, cosines),
        Line(_named(beside), names, np.array([*head.by_gamma[0], head.cosine[0]])),
        *(Line(style.cost, names, np.array([*of.by_gamma[1], of.share[0]]))
          for of, style in ((slow[0], SLOW), (head, _named(beside)))),
    ]  # fmt: skip
    return _shares(line_chart(lines, "γ", "cosine; share of scores"))


def window_chart(slow: Sequence[Correction], head: Correction, beside: str) -> go.Figure:
    """Draw cosines against the window, sparse (dashed) and corrected, and shares of scores."""
    names = [*map(str, WINDOW_STEPS)]
    lines = []
    for style, of in ((SLOW, slow), (_named(beside), [head])):
        sparse, repaired = (np.stack([one.by_window[row] for one in of], -1) for row in (0, 1))
        lines += [_over_seeds(style.without, names, sparse), _over_seeds(style, names, repaired),
                  Line(style.cost, names, of[0].by_window[3])]  # fmt: skip
    return _shares(line_chart(lines, "window", "cosine; share of scores"))


def loss_chart(losses: Mapping[str, Mapping[str, PairedDifference]]) -> go.Figure:
    """Draw losses above full attention by γ for each kind of model, with intervals."""
    return line_chart(gate_lines(losses), "γ", "nats a character", level=(0.0, ""))


def retrieval_chart(accuracy: np.ndarray) -> go.Figure:
    """Draw how often full, sparse and corrected attention find a value, (3, G, S), by distance."""
    names = [*map(str, GAPS)]
    lines = [_over_seeds(style, names, of) for style, of in zip(WAYS, accuracy, strict=True)]
    return line_chart(lines, "tokens between", "right", level=(1 / PAIRS, "by chance"))


def _named(beside: str) -> Style:
    """The style of the sample that is compared with slow tokens, by its short name."""
    return Style(beside, palette.CLASS_COLOURS[3], "solid", "square")


def _over_seeds(style: Style, x: Sequence[object] | np.ndarray, values: np.ndarray) -> Line:
    """The mean over seeds of values (n, S), with its interval where there are seeds."""
    if values.shape[1] < 2:
        return Line(style, x, values[:, 0])
    widths = [mean_interval(row).half_width for row in values]
    return Line(style, x, values.mean(1), np.array(widths))


def _shares(figure: go.Figure) -> go.Figure:
    return figure.update_yaxes(range=[0, 1.04])
