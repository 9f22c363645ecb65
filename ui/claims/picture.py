"""Figures made to fit the page: their height, their colours, their number of traces."""

from __future__ import annotations

import json
from typing import Any

import plotly.graph_objects as go

from ui.claims.style import DARK, LIGHT, colours

HEIGHT = 300  # pixels, so that the picture stands on the first screen
LINE_PIXELS = 30  # of a forest plot that shows everything, below the first screen
MOST_NAMES = 12  # in a legend; of more groups only their colours and their symbols are named
LISTS = ("x", "y", "customdata", "text")


def figure_of(text: str, dark: bool, wide: bool) -> go.Figure:
    """The figure whose JSON is ``text``, in the colours of the theme."""
    if dark:
        for light, other in zip(colours(LIGHT), colours(DARK), strict=True):
            text = text.replace(f'"{light}"', f'"{other}"')
    figure = go.Figure(json.loads(text))
    lines = len(figure.layout.yaxis.ticktext or ()) if wide else 0
    figure.update_layout(
        height=max(HEIGHT, LINE_PIXELS * lines),
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        xaxis_automargin=True, yaxis_automargin=True,
        legend={"orientation": "h", "x": 0.0, "y": 1.0, "yanchor": "bottom", "font": {"size": 11}},
    )  # fmt: skip
    return figure


def merged(figure: dict[str, Any]) -> dict[str, Any]:
    """The same picture with as few traces as possible: each costs a browser and a server time.

    Joined are traces that look alike and have no names of their own in a legend; a gap stands
    between two lines.
    """
    shows = figure["layout"].get("showlegend", True)
    joined: dict[str, dict[str, Any]] = {}
    for trace in figure["data"]:
        key = _looks(trace, shows)
        joined[key] = _joined(joined[key], trace) if key in joined else _listed(trace)
    data = [*joined.values()]
    named = {trace["name"] for trace in data if trace.get("showlegend", shows)}
    if shows and len(named) > MOST_NAMES:
        data = _with_short_legend(data, figure["layout"]["font"]["color"])
    return figure | {"data": data}


def _with_short_legend(data: list[dict[str, Any]], ink: str) -> list[dict[str, Any]]:
    """Name a colour for each task and a symbol for each variant; groups are "task, variant"."""
    tasks: dict[str, str] = {}
    variants: dict[str, str] = {}
    for trace in data:
        if trace["mode"] == "markers":
            task, variant = trace["name"].split(", ")
            tasks[task], variants[variant] = trace["marker"]["color"], trace["marker"]["symbol"]
    styles = {name: {"color": colour, "symbol": "circle"} for name, colour in tasks.items()}
    styles |= {name: {"color": ink, "symbol": f"{sign}-open"} for name, sign in variants.items()}
    keys = [
        {"type": "scatter", "mode": "markers", "name": name, "x": [None], "y": [None],
         "legendgroup": name, "marker": marker, "hoverinfo": "skip"}
        for name, marker in styles.items()
    ]  # fmt: skip
    return [
        *(trace | {"showlegend": False, "legendgroup": trace["name"].split(", ")[0]}
          for trace in data),
        *keys,
    ]  # fmt: skip


def _looks(trace: dict[str, Any], shows: bool) -> str:
    marker = {k: v for k, v in trace.get("marker", {}).items() if not isinstance(v, list)}
    group = trace.get("legendgroup", trace.get("name")) if shows else ""
    parts = (trace["mode"], marker, trace.get("line"), group, "error_x" in trace,
             trace.get("xaxis"), trace.get("hoverinfo"),
             sorted(trace.get("marker", {})))  # fmt: skip
    return json.dumps(parts, sort_keys=True)


def _listed(trace: dict[str, Any]) -> dict[str, Any]:
    """The same with a text and a template for each point, so that it can be joined."""
    count, more = len(trace["x"]), {}
    for name in ("hovertemplate", "text"):
        if isinstance(trace.get(name), str):
            more[name] = [trace[name]] * count
    return trace | more


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    other = _listed(other)
    gap = [None] if "lines" in one["mode"] else []
    lists = {name: [*one[name], *gap, *other[name]] for name in (*LISTS, "hovertemplate")
             if name in one and name in other}  # fmt: skip
    marker = dict(one.get("marker", {}))
    for name, value in marker.items():
        if isinstance(value, list):
            marker[name] = [*value, *(value[:1] * len(gap)), *other["marker"][name]]
    joined = one | lists | ({"marker": marker} if marker else {})
    if "error_x" in one:
        ends = {name: [*one["error_x"][name], *other["error_x"][name]]
                for name in ("array", "arrayminus") if name in one["error_x"]}  # fmt: skip
        joined["error_x"] = one["error_x"] | ends
    return joined
