"""Plain Plotly figures of a run: the strip of seeds, a look inside, and a figure to take home."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from gating_core.experiments.comparison import ClassifierFrames
from ui.drawing import palette
from ui.drawing.axes import Axes
from ui.drawing.classified import class_colours
from ui.drawing.lines import triangles

BESIDE = "#0f8f7f"  # variants that are neither left nor right
COLUMNS = 4  # of small multiples: what a phone can show
ROW_HEIGHT, TITLE_HEIGHT, LARGE_HEIGHT = 150, 56, 460  # pixels
JITTER = 0.12  # of a strip's width, so that equal accuracies are both seen


def seeds_figure(
    accuracies: dict[str, np.ndarray], seeds: tuple[int, ...], shown: int
) -> go.Figure:
    """Final test accuracy (S,) of every seed, one strip a variant; the shown seed is ringed."""
    figure = go.Figure()
    spread = np.linspace(-JITTER, JITTER, len(seeds))
    colours = [*palette.SIDE_COLOURS.values(), *[BESIDE] * len(accuracies)]
    for row, (name, values) in enumerate(accuracies.items()):
        figure.add_scatter(
            x=100 * values,
            y=row + spread,
            mode="markers",
            name=name,
            customdata=list(seeds),  # an array of arrays would come back from a click as a dict
            marker={
                "size": [15 if i == shown else 9 for i in range(len(seeds))],
                "color": colours[row],
                "line": {
                    "width": [3 if i == shown else 0 for i in range(len(seeds))],
                    "color": palette.ACCENT,
                },
            },
            hovertemplate="seed %{customdata}: %{x:.1f} %<extra></extra>",
        )
    figure.update_layout(
        height=110 + 55 * len(accuracies),
        margin={"l": 10, "r": 10, "t": 10, "b": 40},
        showlegend=False,
        xaxis={"title": {"text": "test accuracy, % (click a seed to show it)"}},
        yaxis={
            "tickvals": list(range(len(accuracies))),
            "ticktext": list(accuracies),
            "range": [len(accuracies) - 0.5, -0.5],
            "automargin": True,
        },
    )
    return figure


def inside_figure(fields: dict[str, np.ndarray]) -> go.Figure:
    """Small multiples of fields (R, C) over the input square, each on its own range.

    Over each of several lies a point that cannot be seen but clicked: its customdata is the name.
    """
    columns = min(COLUMNS, len(fields))
    rows = math.ceil(len(fields) / columns)
    titles = [
        f"{name.replace(' · ', '<br>', 1)}<br>{field.min():z.2f} … {field.max():z.2f}"
        for name, field in fields.items()
    ]
    height = LARGE_HEIGHT if len(fields) == 1 else (ROW_HEIGHT + TITLE_HEIGHT) * rows
    figure = make_subplots(
        rows, columns, subplot_titles=titles, horizontal_spacing=0.02,
        vertical_spacing=TITLE_HEIGHT / height if rows > 1 else 0,
    )  # fmt: skip
    for place, field in enumerate(fields.values()):
        axis = np.linspace(-1, 1, len(field))
        figure.add_heatmap(
            x=axis, y=axis, z=field, colorscale=palette.SEQUENTIAL_SCALE, showscale=False,
            row=place // columns + 1, col=place % columns + 1,
            hovertemplate="(%{x:.2f}, %{y:.2f}): %{z:.3g}<extra></extra>",
        )  # fmt: skip
    if len(fields) > 1:  # Streamlit hears of clicks on points alone
        for place, name in enumerate(fields):
            unseen = {"symbol": "square", "size": ROW_HEIGHT, "opacity": 0}
            figure.add_scatter(
                x=[0], y=[0], customdata=[name], mode="markers", marker=unseen, showlegend=False,
                selected={"marker": {"opacity": 0}}, unselected={"marker": {"opacity": 0}},
                row=place // columns + 1, col=place % columns + 1,
                hovertemplate=f"{name}: click to enlarge<extra></extra>",
            )  # fmt: skip
    figure.update_xaxes(range=[-1, 1], visible=False, constrain="domain")
    figure.update_yaxes(range=[-1, 1], visible=False)
    for number in range(1, len(fields) + 1):
        name = "" if number == 1 else str(number)
        figure.layout[f"yaxis{name}"].update(scaleanchor=f"x{name}")
    figure.update_annotations(font_size=11)
    margin = {"l": 5, "r": 5, "t": TITLE_HEIGHT, "b": 5}
    figure.update_layout(height=height + 5, margin=margin)
    return figure


def film_figure(
    sides: dict[str, ClassifierFrames],
    axes: dict[str, Axes],
    titles: dict[str, str],
    colours: tuple[int, ...],
) -> go.Figure:
    """The final surfaces side by side, coloured by the likeliest class and how sure it is."""
    figure = make_subplots(
        1,
        len(sides),
        specs=[[{"type": "scene"}] * len(sides)],
        subplot_titles=list(titles.values()),
    )
    for column, (name, side) in enumerate(sides.items(), 1):
        values = axes[name].project(side.values[-1])
        i, j, k = triangles(values.shape[0]).T
        x, y, z = values.reshape(-1, 3).T
        classes = side.logits.shape[-1]
        colour = class_colours(side.logits[-1])
        scale = palette.class_scale(colours)
        figure.add_mesh3d(
            x=x, y=y, z=z, i=i, j=j, k=k, intensity=colour.ravel(),
            colorscale=scale, cmin=0, cmax=1 if classes == 2 else classes - 1, showscale=False,
            row=1, col=column,
        )  # fmt: skip
    figure.update_scenes(aspectmode="data")
    figure.update_layout(height=600, margin={"l": 0, "r": 0, "t": 40, "b": 0})
    return figure
