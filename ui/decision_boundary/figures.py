"""Plain Plotly figures of a run: a look inside, and a figure to take home."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ui.drawing import palette
from ui.drawing.panels import View

SEPARATOR = " · "  # between the parts of a name; the first is its side
COLUMNS = 4  # of small multiples: what a phone can show
ROW_HEIGHT, TITLE_HEIGHT, LARGE_HEIGHT = 150, 56, 460  # pixels
SCENE_FROM, PLANE_TO, GAP = 0.42, 0.36, 0.02  # of a still's height, and of its width


def inside_figure(
    fields: dict[str, np.ndarray],
    ends: tuple[float, float] | None = None,
    order: Sequence[str] | None = None,
) -> go.Figure:
    """Small multiples of fields (R, C) over the input square, all on one scale between ``ends``.

    These are the least and the largest of them unless said. Each has its place in ``order``, in
    which some may be missing, so that figures of one order can be compared row by row. Over each of
    several lies a point that cannot be seen but clicked: its customdata is the name.
    """
    cells = _cells(order or tuple(fields))
    rows, columns = (1 + max(place) for place in zip(*cells.values(), strict=True))
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
        rows, columns, specs=specs, subplot_titles=titles, horizontal_spacing=0.02,
        vertical_spacing=TITLE_HEIGHT / height if rows > 1 else 0,
    )  # fmt: skip
    for name, field in shown.items():
        axis, (row, column) = np.linspace(-1, 1, len(field)), cells[name]
        figure.add_heatmap(
            x=axis, y=axis, z=field, coloraxis="coloraxis", row=row + 1, col=column + 1,
            hovertemplate="(%{x:.2f}, %{y:.2f}): %{z:.3g}<extra></extra>",
        )  # fmt: skip
    for name in () if alone else shown:  # Streamlit hears of clicks on points alone
        unseen, (row, column) = {"symbol": "square", "size": ROW_HEIGHT, "opacity": 0}, cells[name]
        figure.add_scatter(
            x=[0], y=[0], customdata=[name], mode="markers", marker=unseen, showlegend=False,
            selected={"marker": {"opacity": 0}}, unselected={"marker": {"opacity": 0}},
            row=row + 1, col=column + 1, hovertemplate=f"{name}: click to enlarge<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(range=[-1, 1], visible=False, constrain="domain")
    figure.update_yaxes(range=[-1, 1], visible=False)
    for number in range(1, len(shown) + 1):
        name = "" if number == 1 else str(number)
        figure.layout[f"yaxis{name}"].update(scaleanchor=f"x{name}")
    figure.update_annotations(font_size=11)
    low, high = ends or span(fields)
    scale = {"colorscale": palette.SEQUENTIAL_SCALE, "cmin": low, "cmax": high, "showscale": alone}
    margin = {"l": 5, "r": 5, "t": TITLE_HEIGHT, "b": 5}
    figure.update_layout(height=height + 5, margin=margin, coloraxis=scale)
    return figure


def _cells(names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Row and column of each: weights, gates, layers and heads begin a row of their own."""
    cells, row = {}, 0
    for _, group in itertools.groupby(names, lambda name: re.sub(r"(α|gate )\d+", r"\1", name)):
        members = list(group)
        for place, name in enumerate(members):
            cells[name] = row + place // COLUMNS, place % COLUMNS
        row += math.ceil(len(members) / COLUMNS)
    return cells


def span(fields: dict[str, np.ndarray]) -> tuple[float, float]:
    """The least and the largest number of all ``fields``."""
    found = np.concatenate([field.ravel() for field in fields.values()])
    return float(found.min()), float(found.max())


def still_figure(view: View, frame: int, titles: list[str], caption: str) -> go.Figure:
    """One ``frame`` of both sides of a ``view``, surfaces over input planes, with a ``caption``."""
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    for side, (scene, plane) in enumerate(view.columns[: len(titles)]):
        number = "" if side == 0 else str(side + 1)
        across = [side / len(titles) + GAP, (side + 1) / len(titles) - GAP]
        at_scene, at_plane = (
            {"scene": f"scene{number}"},
            {"xaxis": f"x{number}", "yaxis": f"y{number}"},
        )
        for panel, where in ((scene, at_scene), (plane, at_plane)):
            traces += [filled(trace, view, frame) | where for trace in panel.traces]
        camera = {"camera": view.camera, "domain": {"x": across, "y": [SCENE_FROM, 1.0]}}
        layout[f"scene{number}"] = scene.layout | camera
        x, y = plane.layout["xaxis"], plane.layout["yaxis"]
        layout[f"xaxis{number}"] = x | {"domain": across, "anchor": f"y{number}"}
        layout[f"yaxis{number}"] = y | {
            "domain": [0.0, PLANE_TO], "anchor": f"x{number}", "scaleanchor": f"x{number}",
        }  # fmt: skip
    figure = go.Figure(traces, layout)
    for side, title in enumerate(titles):
        figure.add_annotation(
            text=f"<b>{title}</b>", x=(side + 0.5) / len(titles), y=1.0, xref="paper", yref="paper",
            yanchor="bottom", showarrow=False,
        )  # fmt: skip
    over = {"text": caption, "font": {"size": 13}, "x": 0.02, "y": 0.98, "yanchor": "top"}
    figure.update_layout(
        height=900, title=over, showlegend=False, template="plotly_white",
        margin={"l": 50, "r": 20, "t": 120, "b": 50},
    )  # fmt: skip
    return figure


def filled(tree: Any, view: View, frame: int) -> Any:
    """A trace of ``view`` with each reference to an array replaced by that array in ``frame``.

    Ink is that of white paper.
    """
    if isinstance(tree, str):
        return palette.LINE if tree == palette.INK else tree
    if isinstance(tree, list):
        return [filled(part, view, frame) for part in tree]
    if not isinstance(tree, dict):
        return tree
    if "array" in tree and isinstance(tree["array"], str):
        array = view.arrays[tree["array"]]
        array = array[frame] if tree["array"] in view.framed else array
        return array.ravel() if tree.get("flat") else array
    return {key: filled(part, view, frame) for key, part in tree.items()}
