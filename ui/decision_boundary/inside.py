"""Every attention weight and gate of both models over the input square, at the shown step."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.experiments.comparison import drawn_frames, layer_maps
from ui.common.charts import Charts
from ui.common.formatting import short
from ui.common.links import LINK
from ui.decision_boundary.frames import variants_of
from ui.decision_boundary.model import TITLES, text
from ui.decision_boundary.shared import MeasurementRequest, stopped_frame
from ui.drawing import palette
from ui.drawing.panels import plain_figure, subplot, subplot_title
from ui.work.runs import Shown

SMALL_KEY = "inside_small_"
ZERO_BELOW = 1e-6  # of the other end of a scale
SEPARATOR = " · "  # between the parts of a map's name; the first is its side
COLUMNS = 4  # of small multiples: what a phone can show
GAP = 0.02  # between two columns, as a share of all
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
    alone = len(cells) == 1
    height = LARGE_HEIGHT if alone else (ROW_HEIGHT + TITLE_HEIGHT) * rows
    gap = TITLE_HEIGHT / height
    wide, high = (1 - GAP * (columns - 1)) / columns, (1 - gap * (rows - 1)) / rows
    low, most = ends or span(fields)
    heatmaps, points, titles = [], [], []
    layout: dict[str, Any] = {}
    for index, name in enumerate(sorted(fields, key=lambda name: cells[name])):
        field, (row, column), axes = fields[name], cells[name], subplot(index)
        axis = np.linspace(-1, 1, len(field))
        heatmaps.append(axes | {
            "type": "heatmap", "x": axis, "y": axis, "z": field, "coloraxis": "coloraxis",
            "hovertemplate": "(%{x:.2f}, %{y:.2f}): %{z:.3g}<extra></extra>",
        })  # fmt: skip
        unseen = {"marker": {"opacity": 0}}
        points.append(axes | {  # Streamlit reports clicks on points alone
            "type": "scatter", "x": [0], "y": [0], "customdata": [name], "mode": "markers",
            "marker": {"symbol": "square", "size": ROW_HEIGHT, "opacity": 0}, "showlegend": False,
            "selected": unseen, "unselected": unseen,
            "hovertemplate": f"{name}: click to enlarge<extra></extra>",
        })  # fmt: skip
        left, top = column * (wide + GAP), 1 - row * (high + gap)
        text = f"{name.split(SEPARATOR, 1)[-1]}<br>{field.min():z.2f} … {field.max():z.2f}"
        titles.append(subplot_title(text, left + wide / 2, top, 11))
        plain = {"range": [-1, 1], "visible": False}
        layout[f"xaxis{axes['xaxis'][1:]}"] = plain | {
            "domain": [left, left + wide], "anchor": axes["yaxis"], "constrain": "domain",
        }  # fmt: skip
        layout[f"yaxis{axes['yaxis'][1:]}"] = plain | {
            "domain": [max(top - high, 0.0), top], "anchor": axes["xaxis"],
            "scaleanchor": axes["xaxis"],
        }  # fmt: skip
    scale = {"colorscale": palette.SEQUENTIAL_SCALE, "cmin": low, "cmax": most, "showscale": alone}
    return plain_figure([*heatmaps, *(() if alone else points)], layout | {
        "annotations": titles, "height": height + 5, "coloraxis": scale,
        "margin": {"l": 5, "r": 5, "t": TITLE_HEIGHT, "b": 5},
    })  # fmt: skip


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
