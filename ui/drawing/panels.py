"""Parts of charts: figures, places and titles of several panels, ticks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

MOST_TICKS = 3  # numbers along an axis
TICK_ROOM = 0.15  # of an axis at both ends, without numbers: those of two axes would meet there
CHART_NAMES = {"inputs": ("x<sub>1</sub>", "x<sub>2</sub>"), "weights": ("u", "v")}  # of its axes


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
