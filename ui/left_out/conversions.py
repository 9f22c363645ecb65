"""Losses of models converted to cheaper attention: is the linear branch needed?

Shapes: S seeds, N texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.at_work import PairedDifference, loss_difference
from ui.drawing import palette
from ui.left_out.words import LEAST_SEEDS, gate_verdict, nats

LOSSES_PIXELS = 228
ALONE = {16: "window 16 alone", 4: "window 4 alone"}  # what hybrids are compared with
BEST, WORST = 0.003, 3.0  # nats: the ends of the losses' axis
BRANCHES = {
    "whole": ("whole", palette.SIDE_COLOURS["right"], "circle"),
    "without_window": ("without window", palette.CLASS_COLOURS[1], "square-open"),
    "without_linear": ("without linear", palette.CLASS_COLOURS[0], "diamond-open"),
}
SMALL = 0.005  # nats: a branch that is worth less for certain is called bypassed
REFERENCE, GATED_REFERENCE = "softmax", "gated_softmax"
NAMES = {  # of conversions, as in the chart
    "window_16": ALONE[16], "hybrid_16": "16, hybrid", "dropped_16": "16, dropped",
    "elu_16": "16, elu + 1", "window_4": ALONE[4], "hybrid_4": "4, hybrid",
    "dropped_4": "4, dropped", "elu_4": "4, elu + 1", "linear": "linear alone",
    "delta": "delta rule",
}  # fmt: skip
ADDED = {"added_16": "16 added later", "added_4": "4 added later"}  # to linear alone
Losses = Mapping[str, Mapping[str, np.ndarray]]  # (S, N) by conversion and measurement


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


@dataclass(frozen=True, eq=False)
class Conversions:
    """The losses of conversions, and sentences about them."""

    losses: Losses
    counts: np.ndarray  # (N,): characters of the texts
    rows: dict[str, dict[str, PairedDifference]]  # as `above_softmax` returns them
    bypass: str
    gate: str


def above_softmax(losses: Losses, counts: np.ndarray) -> dict[str, dict[str, PairedDifference]]:
    """Return losses above softmax attention trained on as long, by conversion and branch."""
    if REFERENCE not in losses:
        return {}
    base = losses[REFERENCE]["whole"]

    def against(sums: np.ndarray) -> PairedDifference:
        seeds = min(len(sums), len(base))
        return loss_difference(sums[:seeds], base[:seeds], counts)

    rows = {title: {branch: against(losses[name][branch]) for branch in BRANCHES
                    if branch in losses[name]}
            for name, title in NAMES.items() if name in losses}  # fmt: skip
    linear = losses.get("linear", {})
    for added, title in ADDED.items():
        parts = {branch: against(linear[f"{added}.{branch}"]) for branch in BRANCHES
                 if f"{added}.{branch}" in linear}  # fmt: skip
        if parts:
            rows[title] = parts
    return rows


def branch_worth(losses: Losses, counts: np.ndarray, window: int) -> PairedDifference | None:
    """Return the loss of a window trained alone minus the hybrid's: the linear branch's worth.

    ``None`` where one of the two is missing.
    """
    alone, both = f"window_{window}", f"hybrid_{window}"
    if not {alone, both} <= set(losses):
        return None
    seeds = min(len(losses[alone]["whole"]), len(losses[both]["whole"]))
    return loss_difference(losses[alone]["whole"][:seeds], losses[both]["whole"][:seeds], counts)


def taken_out(losses: Losses, counts: np.ndarray, window: int) -> PairedDifference:
    """Return what a hybrid loses when its linear branch is taken out, untrained without it."""
    of = losses[f"hybrid_{window}"]
    return loss_difference(of["without_linear"], of["whole"], counts)


def bypass_text(losses: Losses, counts: np.ndarray) -> str:
    """Say whether hybrids bypass their linear branch, against a window trained on as long."""
    parts = []
    for window in (16, 4):
        worth = branch_worth(losses, counts, window)
        if worth is None:
            continue
        taken = taken_out(losses, counts, window)
        known = len(worth.by_seed) >= LEAST_SEEDS and taken.low > worth.high
        parts.append(
            f"At window {window} {_verdict(worth)}: it is worth {nats(worth)} nats"
            " against the window alone, trained for as long. Taking it out suggests"
            f" {nats(taken)}{': more, which is co-adaptation' * known}."
        )
    return " ".join(parts)


def gate_text(losses: Losses, counts: np.ndarray) -> str:
    """Say whether models with a gate lose less by a window."""
    names = ("window_16", REFERENCE, "gated_window_16", GATED_REFERENCE)
    if not set(names) <= set(losses):
        return ""
    seeds = min(len(losses[name]["whole"]) for name in names)
    window, full, gated, gated_full = (losses[name]["whole"][:seeds] for name in names)
    saves = loss_difference(gated - gated_full, window - full, counts)
    return f"{gate_verdict(saves, 'the window')} ({nats(saves)} nats)."


def _verdict(difference: PairedDifference) -> str:
    """The linear branch is needed, bypassed, or neither is certain."""
    if len(difference.by_seed) < LEAST_SEEDS:
        return "it is undecided whether the linear branch is bypassed (too few seeds)"
    if difference.high < SMALL:
        return "**the linear branch is bypassed**"
    if difference.low > SMALL:
        return "**the linear branch is needed**"
    return "**it is undecided whether the linear branch is bypassed**"
