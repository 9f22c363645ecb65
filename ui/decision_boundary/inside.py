"""Every attention weight and gate of both models over the input square, at the shown step."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots

from gating_core.experiments.comparison import drawn_frames, layer_maps
from ui.common.charts import Charts
from ui.common.formatting import short
from ui.common.links import LINK
from ui.decision_boundary.model import TITLES, text
from ui.decision_boundary.picture import variants_of
from ui.decision_boundary.shared import MeasurementRequest, stopped_frame
from ui.drawing import palette
from ui.work.runs import Shown

SMALL_KEY = "inside_small_"
ZERO_BELOW = 1e-6  # of the other end of a scale
SEPARATOR = " · "  # between the parts of a map's name; the first is its side
COLUMNS = 4  # of small multiples: what a phone can show
ROW_HEIGHT, TITLE_HEIGHT, LARGE_HEIGHT = 150, 56, 460  # pixels


def is_open() -> bool:
    """Return whether the fold was left open."""
    return bool(st.session_state.get("looking"))


def draw(shown: Shown, measurement: MeasurementRequest, charts: Charts) -> None:
    """Draw the fold with all maps of both models as small multiples, or with one enlarged."""
    fold = st.expander("Attention weights and gates", key="looking", on_change="rerun", **LINK)
    if fold.open:
        with fold:
            _draw_maps(shown, measurement, charts)


def _draw_maps(shown: Shown, measurement: MeasurementRequest, charts: Charts) -> None:
    run, member = shown.run, measurement.member(shown.run)
    frame = int(drawn_frames(run)[stopped_frame(run)])
    variants = variants_of(run)
    maps = {
        side: {
            f"{side}{SEPARATOR}{part}": field
            for part, field in layer_maps(run, name, member, frame).items()
        }
        for side, name in variants.items()
    }
    fields = {name: field for own in maps.values() for name, field in own.items()}
    low, high = span(fields)
    axis = np.linspace(-1, 1, len(next(iter(fields.values()))))
    x1, x2 = np.meshgrid(axis, axis)
    columns = {"x1": x1, "x2": x2} | fields
    charts.tables["inside"] = {name: field.ravel().tolist() for name, field in columns.items()}
    st.caption(
        text(
            "inside",
            seed=run.task.seeds[member],
            step=run.steps[frame],
            low=_end(low, high),
            high=_end(high, low),
        )
    )
    large = st.pills("Enlarge", tuple(fields), key="enlarged")
    if large in fields:
        _draw({large: fields[large]}, (low, high), (large,), "inside_large")
        st.button(
            "Show all",
            icon=":material/grid_view:",
            on_click=_enlarge,
            args=(None,),
            key="inside_all",
        )
        return
    # One order for both: the model with fewer maps has some of the other's.
    parts = [name.split(SEPARATOR, 1)[1] for name in max(maps.values(), key=len)]
    for column, (side, own) in zip(st.columns(len(maps)), maps.items(), strict=True):
        order = dict.fromkeys([*(f"{side}{SEPARATOR}{part}" for part in parts), *own])
        with column:
            st.markdown(f"**{TITLES[variants[side]]}**")
            _draw(own, (low, high), tuple(order), SMALL_KEY + side)


def _draw(
    fields: dict[str, np.ndarray], ends: tuple[float, float], order: Sequence[str], key: str
) -> None:
    st.plotly_chart(
        inside_figure(fields, ends, order),
        key=key,
        on_select=lambda: _on_field(key),
        selection_mode="points",
        config={"displayModeBar": False},
        alt=f"{len(fields)} maps over the input square, from {_end(*ends)} to"
        f" {_end(*ends[::-1])}: {', '.join(fields)}.",
    )


def _end(number: float, other: float) -> str:
    """Return an end of the scale as text; zero where no colour tells it from that."""
    return short(0.0 if abs(number) < ZERO_BELOW * abs(other) else number)


def _on_field(key: str) -> None:
    chart = st.session_state.get(key)
    points = chart["selection"]["points"] if chart else ()
    if points:
        _enlarge(points[0]["customdata"])


def _enlarge(name: str | None) -> None:
    st.session_state["enlarged"] = name


def inside_figure(
    fields: dict[str, np.ndarray],
    ends: tuple[float, float] | None = None,
    order: Sequence[str] | None = None,
) -> go.Figure:
    """Draw small multiples of ``fields`` (R, C) over the input square, on one scale.

    ``ends`` of the scale are the least and the largest number unless given. Each field has its cell
    in ``order``, in which some may be missing, so that figures of one order can be compared row by
    row. Over each of several lies an invisible point that can be clicked: its customdata is the
    field's name.
    """
    cells = _cells(order or tuple(fields))
    rows, columns = (1 + max(indices) for indices in zip(*cells.values(), strict=True))
    taken = {cells[name]: name for name in fields}
    specs: list[list[dict | None]] = [
        [{} if (r, c) in taken else None for c in range(columns)] for r in range(rows)
    ]
    shown = {name: fields[name] for _, name in sorted(taken.items())}
    titles = [
        f"{name.split(SEPARATOR, 1)[-1]}<br>{field.min():z.2f} … {field.max():z.2f}"
        for name, field in shown.items()
    ]
    alone = len(cells) == 1
    height = LARGE_HEIGHT if alone else (ROW_HEIGHT + TITLE_HEIGHT) * rows
    figure = make_subplots(
        rows,
        columns,
        specs=specs,
        subplot_titles=titles,
        horizontal_spacing=0.02,
        vertical_spacing=TITLE_HEIGHT / height if rows > 1 else 0,
    )
    for name, field in shown.items():
        axis, (row, column) = np.linspace(-1, 1, len(field)), cells[name]
        figure.add_heatmap(
            x=axis,
            y=axis,
            z=field,
            coloraxis="coloraxis",
            row=row + 1,
            col=column + 1,
            hovertemplate="(%{x:.2f}, %{y:.2f}): %{z:.3g}<extra></extra>",
        )
    for name in () if alone else shown:  # Streamlit reports clicks on points alone
        unseen, (row, column) = {"symbol": "square", "size": ROW_HEIGHT, "opacity": 0}, cells[name]
        figure.add_scatter(
            x=[0],
            y=[0],
            customdata=[name],
            mode="markers",
            marker=unseen,
            showlegend=False,
            selected={"marker": {"opacity": 0}},
            unselected={"marker": {"opacity": 0}},
            row=row + 1,
            col=column + 1,
            hovertemplate=f"{name}: click to enlarge<extra></extra>",
        )
    figure.update_xaxes(range=[-1, 1], visible=False, constrain="domain")
    figure.update_yaxes(range=[-1, 1], visible=False)
    for number in range(1, len(shown) + 1):
        suffix = "" if number == 1 else str(number)
        figure.layout[f"yaxis{suffix}"].update(scaleanchor=f"x{suffix}")
    figure.update_annotations(font_size=11)
    low, high = ends or span(fields)
    scale = {"colorscale": palette.SEQUENTIAL_SCALE, "cmin": low, "cmax": high, "showscale": alone}
    margin = {"l": 5, "r": 5, "t": TITLE_HEIGHT, "b": 5}
    figure.update_layout(height=height + 5, margin=margin, coloraxis=scale)
    return figure


def _cells(names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return row and column of each: weights, gates, layers and heads begin a row of their own."""
    cells, row = {}, 0
    for _, group in itertools.groupby(names, lambda name: re.sub(r"(α|gate )\d+", r"\1", name)):
        members = list(group)
        for index, name in enumerate(members):
            cells[name] = row + index // COLUMNS, index % COLUMNS
        row += math.ceil(len(members) / COLUMNS)
    return cells


def span(fields: dict[str, np.ndarray]) -> tuple[float, float]:
    """Return the least and the largest number of all ``fields``."""
    ends = [end for field in fields.values() for end in (field.min(), field.max())]
    return float(min(ends)), float(max(ends))
