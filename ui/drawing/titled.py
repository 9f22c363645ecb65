"""A title above a chart, in the room of one line."""

from __future__ import annotations

import plotly.graph_objects as go

LINE_PIXELS = 22
TITLE = {
    "x": 0,
    "xref": "paper",
    "y": 1,
    "yref": "container",
    "yanchor": "top",
    "pad": {"t": 4},
}  # of a figure: above its axes


def titled(figure: go.Figure, text: str) -> go.Figure:
    """Return ``figure`` with ``text`` above it, and taller by that."""
    above, height = figure.layout.margin.t + LINE_PIXELS, figure.layout.height + LINE_PIXELS
    title = {"text": text, **TITLE, "xref": "container", "x": 0.01}  # a phone has no more room
    return figure.update_layout(title=title, margin_t=above, height=height)
