"""A title above a chart, in the room of one line."""

from __future__ import annotations

import plotly.graph_objects as go

from ui.at_work.gates_picture import TITLE

LINE_PIXELS = 22


def titled(figure: go.Figure, text: str) -> go.Figure:
    """Return ``figure`` with ``text`` above it, and taller by that."""
    above, height = figure.layout.margin.t + LINE_PIXELS, figure.layout.height + LINE_PIXELS
    title = {"text": text, **TITLE, "xref": "container", "x": 0.01}  # a phone has no more room
    return figure.update_layout(title=title, margin_t=above, height=height)
