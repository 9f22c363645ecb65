"""Charts of one style, drawn with a title and an alt text, and saved together as CSV.

charts = Charts("top_k")
lines = [line("no gate", k, loss, half_width, colour=GREY)]
charts.draw("loss", column, chart("Δ loss", lines, "k", "nats per character"), alt)
charts.draw_footer(section("efficient", "top_k"))
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from numpy.typing import ArrayLike
from streamlit.delta_generator import DeltaGenerator

from ui.common.simplified import is_presenting
from ui.common.take_along import csv_text, offered, with_unit
from ui.drawing import palette
from ui.drawing.chart_map import plain_figure

GREY, MAGENTA = palette.SIDE_COLOURS["left"], palette.SIDE_COLOURS["right"]
(BLUE, ORANGE), (GREEN, PURPLE) = palette.CLASS_COLOURS[:2], palette.SERIES
TEAL, FAINT, ACCENT = palette.BESIDE, palette.PLANE, palette.ACCENT
Trace = dict[str, Any]  # of Plotly
Style = dict[str, Any]  # keyword arguments of `line`
UNGATED: Style = {"colour": GREY, "dash": "dot", "symbol": "x"}  # a model without a gate
GATED: Style = {"colour": MAGENTA}
LEGEND_INSIDE = {
    "x": 0.01,
    "y": 0.01,
    "yanchor": "bottom",
    "bgcolor": "rgba(0,0,0,0)",
}
LEGEND_RIGHT = {"orientation": "v", "x": 1.01, "y": 1, "yanchor": "top"}
HEIGHT = 250  # pixels
FONT_PIXELS, PRESENT_PIXELS = 12, 20  # of words on a page, and in present mode: see present.css
MARKUP = re.compile(r"<[^>]+>")
VARIABLE = re.compile(  # see ui/components/variables.js
    r"(?<![^\s(|∫·−>])(?<!\d\s)(dA|[DHKLUWYbdgknstuvwxyαγελρτ])(?![A-Za-z0-9’'-])"
)


def chart_columns(name: str, widths: int | Sequence[float]) -> list[DeltaGenerator]:
    """Return columns of charts side by side, two in a row where there is no room for more."""
    return st.container(key=f"charts-{name}").columns(widths)


def log_axis(
    low: float | None = None, high: float | None = None, decades: int | None = 1
) -> dict[str, Any]:
    """Return a logarithmic axis from ``low`` to ``high``, a tick every so many ``decades``."""
    axis = {"type": "log", "exponentformat": "power", "dtick": decades}
    if low is None or high is None:
        return axis
    return axis | {"range": [np.log10(low), np.log10(high)]}


def ticks(positions: Sequence[float], texts: Sequence[str]) -> dict[str, Any]:
    """Return an axis with these ticks."""
    return {"tickvals": [*positions], "ticktext": [*texts], "dtick": None}


def line(
    name: str,
    x: Iterable[Any],
    y: ArrayLike,
    half_width: ArrayLike | None = None,
    *,
    colour: str = GREY,
    dash: str = "solid",
    symbol: str = "circle",
    width: float = 2.5,
    mode: str = "lines+markers",
    legend: bool = True,
    labels: Sequence[str] | None = None,
) -> Trace:
    """Return a line with markers, ``x`` and ``y`` (n,), and error bars for its intervals.

    ``half_width``: of the intervals, (n,), or (2, n) for the parts below and above. ``labels``: of
    the points, in their tooltips besides x and y.
    """
    values = np.asarray(y, float)
    trace: Trace = {
        "type": "scatter", "mode": mode, "x": [*x], "y": values.tolist(), "name": name,
        "line": {"color": colour, "dash": dash, "width": width}, "showlegend": legend,
        "marker": {"size": 6, "symbol": symbol, "color": colour},
        "hovertemplate": f"{name}, %{{x}}: %{{y:.3g}}<extra>%{{text}}</extra>", "text": labels,
    }  # fmt: skip
    if half_width is not None:
        below, above = np.broadcast_to(np.asarray(half_width, float), (2, values.size)).tolist()
        trace["error_y"] = {
            "type": "data",
            "array": above,
            "arrayminus": below,
            "thickness": 1.2,
            "width": 2,
        }
    return trace


def bars(
    name: str,
    x: Iterable[Any],
    y: ArrayLike,
    *,
    colour: str,
    hatched: bool = False,
    labels: Iterable[str] | None = None,
) -> Trace:
    """Return bars; ``labels``: of the bars, in their tooltips instead of x."""
    pattern = {"shape": "/", "size": 4} if hatched else {}
    label = "%{x}" if labels is None else "%{customdata}"
    return {"type": "bar", "name": name, "x": [*x], "y": np.asarray(y, float).tolist(),
            "opacity": 0.75, "marker": {"color": colour, "pattern": pattern}, "customdata": labels,
            "hovertemplate": f"{label}: %{{y:.3g}}<extra>{name}</extra>"}  # fmt: skip


def heatmap(z: np.ndarray, low: float, high: float, scale: Any, **properties: Any) -> Trace:
    """Return a map of ``z`` (rows, columns) with colours from ``low`` to ``high``."""
    return {
        "type": "heatmap",
        "z": z,
        "zmin": low,
        "zmax": high,
        "colorscale": scale,
        "showscale": False,
    } | properties


def italic(text: str) -> str:
    """Return the ``text`` of a chart with its variables in italics."""
    return VARIABLE.sub(r"<i>\1</i>", text)


def title(text: str) -> dict[str, Any]:
    """Return a title at the left of a figure; a phone has room for 40 letters."""
    return {"text": f"<b>{italic(text)}</b>", "x": 0.01, "y": 1, "yanchor": "top", "pad": {"t": 4}}


def chart(
    name: str,
    traces: Sequence[Trace],
    x: str = "",
    y: str = "",
    *,
    height: int = HEIGHT,
    x_axis: Mapping[str, Any] | None = None,
    y_axis: Mapping[str, Any] | None = None,
    legend: Mapping[str, Any] | None = None,
    **layout: Any,
) -> go.Figure:
    """Return a figure with the title ``name``; ``x``, ``y``: quantity and unit of each axis.

    ``x_axis``, ``y_axis``, ``legend`` and ``layout`` are further properties of Plotly's.
    """
    # Plotly imports pandas when it first draws; two threads at once would see half of it. Imported
    # here and not above: it takes a third of a second.
    import pandas  # noqa: F401

    away = 14 if (y_axis or {}).get("type") == "log" else 4  # powers are set larger than numbers
    above = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}
    layout = {
        "height": height,
        "margin": {"l": 58, "r": 8, "t": 48, "b": 40},
        "hovermode": "closest",
        "title": title(name),
        "legend": legend or above,
        "xaxis": {"title": {"text": italic(x), "standoff": 2}} | dict(x_axis or {}),
        "yaxis": {"title": {"text": italic(y), "standoff": away}, "automargin": True}
        | dict(y_axis or {}),
    } | layout
    return plain_figure(traces, layout)


def mark_x(figure: go.Figure, x: float, text: str = "") -> go.Figure:
    """Draw an upright dotted line at ``x``, with a small label at its top."""
    # Plotly wants the logarithm for an annotation, and the number itself for a shape.
    position = np.log10(x) if figure.layout.xaxis.type == "log" else x
    figure.add_shape(
        {
            "type": "line",
            "x0": x,
            "x1": x,
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "line": {"width": 1.5, "dash": "dot", "color": ACCENT},
        }
    )
    return figure.add_annotation(
        text=italic(text),
        x=position,
        yref="paper",
        y=0.98,
        showarrow=False,
        xanchor="left",
    )


def mark_y(figure: go.Figure, y: float, text: str = "") -> go.Figure:
    """Draw a level dashed line at ``y``, with a small label at its beginning."""
    return figure.add_shape({"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y,
        "line": {"width": 1, "dash": "dash", "color": FAINT},
        "label": {"text": text, "textposition": "start"}})  # fmt: skip


def in_type_of_page(figure: go.Figure) -> go.Figure:
    """Return ``figure``, in present mode a larger copy: its words are larger there."""
    if not is_presenting():
        return figure
    font, more = {"size": PRESENT_PIXELS}, PRESENT_PIXELS / FONT_PIXELS
    margin = figure.layout.margin.to_plotly_json()
    words = {"tickfont": font, "title": {"font": font}}  # Streamlit's theme has sizes of its own
    larger = go.Figure(figure).update_layout(
        font=font,
        title_font=font,
        legend_font=font,
        height=figure.layout.height + (more - 1) * (margin.get("t", 0) + margin.get("b", 0)),
        margin={side: more * pixels for side, pixels in margin.items()},
    )
    larger.update_xaxes(words).update_yaxes(words)
    larger.for_each_yaxis(
        lambda axis: axis.title.update(standoff=more * (axis.title.standoff or 0))
    )
    if (larger.layout.legend.x or 0) > 1:  # beside the drawing it would leave too little of it
        rows = 1.5 * PRESENT_PIXELS * len(larger.data)
        larger.update_layout(
            legend={"x": 0, "y": 1, "yanchor": "bottom"},
            height=larger.layout.height + rows,
            margin_t=larger.layout.margin.t + rows,
        )
    for trace in larger.select_traces({"type": "heatmap"}):
        below = trace.colorbar.y
        trace.colorbar.update(words | ({} if below is None else {"y": more * below}))
    return larger


class Charts:
    """The charts and tables of one tab, in the order in which they are drawn."""

    def __init__(self, tab: str) -> None:
        self.tab = tab
        self.figures: dict[str, go.Figure] = {}
        self.tables: dict[str, Mapping[str, Sequence[Any]]] = {}
        self.later: Callable[[], dict[str, Mapping[str, Sequence[Any]]]] = dict  # more tables

    def draw(self, name: str, where: Any, figure: go.Figure, alt: str) -> None:
        """Draw ``figure`` in the container ``where``; ``alt``: its finding, as a sentence."""
        where.plotly_chart(
            in_type_of_page(figure),
            key=f"chart_{self.tab}_{name}",
            alt=alt,
            config={"displayModeBar": False},
        )
        self.figures[name] = figure

    def draw_table(
        self, name: str, where: Any, title: str, columns: Mapping[str, Sequence[Any]]
    ) -> None:
        """Draw a table; ``columns``: their cells by heading."""
        where.markdown(f"**{title}**")
        where.table(dict(columns))
        self.tables[name] = columns

    def draw_footer(self, explanation: str) -> None:
        """Draw the button that unfolds the ``explanation``; offer all data in *Take along*."""
        shown = "these charts" if self.figures else "this"
        with st.popover(f"How to read {shown}", icon=":material/help:", key=f"explain_{self.tab}"):
            st.markdown(explanation)
        self.offer()

    def offer(self) -> None:
        """Offer all data in *Take along*."""
        offered().charts[self.tab] = self

    def csv_files(self) -> dict[str, str]:
        """Return a CSV by the name of each table and figure."""
        tables = {
            name: csv_text([tuple(columns), *zip(*columns.values(), strict=True)])
            for name, columns in (self.tables | self.later()).items()
        }
        return tables | {name: csv_text(figure_rows(each)) for name, each in self.figures.items()}


def figure_rows(figure: go.Figure) -> Iterator[Sequence[Any]]:
    """Yield the headings and points of a figure: series, x, y, value (of a map), minus, plus.

    The titles of the axes, with their units, are headings, and so is what a map shows: the first
    of its customdata, if it has any. An error bar belongs to the axis along which it is drawn: y,
    or x if there is none along y.
    """
    axes = [_plain(axis.title.text) for axis in (figure.layout.xaxis, figure.layout.yaxis)]
    x_title, y_title = (text or name for text, name in zip(axes, "xy", strict=True))
    y_title = f"{y_title} (y)" if x_title == y_title else y_title
    yield "series", x_title, y_title, with_unit(_quantity(figure)), "minus", "plus"
    for trace in figure.data:
        xs, ys, custom = map(_unpacked, (trace.x, trace.y, trace.customdata))
        if trace.type == "heatmap":
            z = np.asarray(_unpacked(trace.z))
            if custom is not None:  # what is read off, where a colour is on another scale
                read = np.asarray(custom)
                z = read if read.ndim == 2 else read[..., 0]
            xs = range(z.shape[1]) if xs is None else xs
            ys = range(z.shape[0]) if ys is None else ys
            yield from (
                (trace.name, x, y, value, "", "")
                for y, row in zip(ys, z, strict=True)
                for x, value in zip(xs, row, strict=True)
            )
        else:
            error = trace.error_y if trace.error_y.array is not None else trace.error_x
            none = [""] * len(xs)
            plus = none if error.array is None else _unpacked(error.array)
            minus = plus if error.arrayminus is None else _unpacked(error.arrayminus)
            points = zip(xs, ys, none, minus, plus, strict=True)
            yield from ((trace.name, *point) for point in points)


def _quantity(figure: go.Figure) -> str:
    """Return what the colours of a figure's maps show; "value" where none of them says it."""
    maps = [trace for trace in figure.data if trace.type == "heatmap"]
    names = {trace.name for trace in maps}
    bars = [trace.colorbar for trace in maps] + [figure.layout.coloraxis.colorbar]
    titles = [bar.title.text for bar in bars if bar.title.text]
    titles += [*names] if len(names) == 1 else []
    titles += [figure.layout.title.text] if maps else []
    return next((_plain(text) for text in titles if text), "value")


def _plain(text: str | None) -> str:
    return MARKUP.sub("", (text or "").replace("<br>", " ")).strip()


def _unpacked(values: Any) -> Any:
    """Return numbers that a figure read from JSON holds packed, other ``values`` as they are."""
    if not isinstance(values, dict):
        return values
    flat = np.frombuffer(b64decode(values["bdata"]), values["dtype"])
    return flat.reshape([int(size) for size in str(values.get("shape", flat.size)).split(",")])
