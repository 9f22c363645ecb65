"""The look of all pictures of claims: Plotly figures as dictionaries, in the colours of a palette.

A figure is a dictionary of ``data`` and ``layout``. Colour is never the only channel. For the page
figures get its height, the colours of its theme, and as few traces as possible.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

HEIGHT = 300  # pixels on the page, so that the picture stands on the first screen
LINE_PIXELS = 30  # of a forest plot that shows everything, below the first screen
MOST_NAMES = 12  # in a legend; of more groups only their colours and their symbols are named
LISTS = ("x", "y", "customdata", "text")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
FIGURE_HEIGHT = 420  # pixels, where a figure stands alone
SPREAD = 0.22  # of single seeds, above and below their line
ROUND_A_ROW = 0.3  # of tasks or variants, above and below theirs


@dataclass(frozen=True)
class Palette:
    """Colours for one theme. Paper is transparent: the page's shows through."""

    ink: str = "#1f2933"
    faint: str = "#c3c8cf"
    gated: str = "#a21caf"
    ungated: str = "#6b7280"
    control: str = "#0e7490"
    band: str = "rgba(14, 116, 144, 0.14)"
    tasks: tuple[str, ...] = ("#2b6cb0", "#c2660c", "#2a7d53", "#8b3fc0", "#b0344a", "#5d6b1c",
                              "#127f8c", "#75533a")  # fmt: skip


LIGHT = Palette()
DARK = Palette(
    ink="#e4e7eb", faint="#444b54", gated="#e06bf0", ungated="#a5adb8", control="#4fc3d9",
    band="rgba(79, 195, 217, 0.18)",
    tasks=("#6aa8ee", "#f0974a", "#5cc492", "#c48bef", "#f0788c", "#b9c95a", "#58cbd8", "#c79f80"),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Figure:
    """One picture: ``figure`` for Plotly, what it shows in a sentence, and how to read it."""

    title: str
    figure: dict[str, Any]
    alt: str
    explain: str


def colours(palette: Palette) -> tuple[str, ...]:
    """Return all colours of a palette, in one order: one theme's can be put for another's."""
    *own, tasks = astuple(palette)
    return (*own, *tasks)


def layout_of(palette: Palette, x: str, y: str) -> dict[str, Any]:
    axis = {"gridcolor": palette.faint, "linecolor": palette.faint, "zeroline": False}
    return {
        "height": FIGURE_HEIGHT, "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": palette.ink}, "margin": {"l": 70, "r": 20, "t": 20, "b": 60},
        "hovermode": "closest", "legend": {"orientation": "h", "y": -0.22},
        "xaxis": axis | {"title": {"text": x}}, "yaxis": axis | {"title": {"text": y}},
    }  # fmt: skip


def rows_axis(labels: list[str], below: float, above: float) -> dict[str, Any]:
    """One labelled row for each of ``labels``, from the bottom up, with room at both ends."""
    return {"tickvals": [*range(len(labels))], "ticktext": labels, "showgrid": False,
            "range": [-below, len(labels) - above], "automargin": True}  # fmt: skip


def markers(name: str, x: Any, y: Any, **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "mode": "markers", "name": name, "x": x, "y": y, **more}


def lines(name: str, x: Any, y: Any, **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, **more}


def vertical(x: float, colour: str, dash: str = "solid") -> dict[str, Any]:
    return {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1,
            "line": {"color": colour, "width": 1, "dash": dash}}  # fmt: skip


def jittered(row: int, count: int) -> list[float]:
    """Heights of single seeds round their row, in order, so that equal ones stay apart."""
    return (row + SPREAD * np.linspace(-1, 1, count) * (count > 1)).tolist()


# --- On the page ----------------------------------------------------------------------------------


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
