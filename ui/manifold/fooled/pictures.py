"""The pictures that lie: maps with a colour scale of their own, side views with unequal axes."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from gating_core.experiments.specimen import COLOURINGS
from gating_core.geometry import SurfaceResult
from ui.common.words import figures, percent
from ui.drawing import palette
from ui.drawing.colours import ColourScale, colour_scale
from ui.drawing.lines import grid_lines, zero_curve

FIGURE_HEIGHT = 430


def signed_map(axis: np.ndarray, field: np.ndarray, zero_line: bool = False) -> go.Figure:
    """K (R, C) on the scale that the Manifold page would give it alone."""
    scale = colour_scale(COLOURINGS["curvature"], [field])
    figure = quantity_map(axis, field, scale, "K")
    if zero_line:
        line, _ = zero_curve(field, axis, field[..., None])
        figure.add_scatter(
            x=line[:, 0], y=line[:, 1], mode="lines", name="K = 0", hoverinfo="skip",
            line={"color": palette.LINE, "dash": "dash", "width": 2}, showlegend=False,
        )  # fmt: skip
    return figure


def quantity_map(
    axis: np.ndarray,
    field: np.ndarray,
    scale: ColourScale,
    symbol: str,
    names: tuple[str, str] = ("x<sub>1</sub>", "x<sub>2</sub>"),
) -> go.Figure:
    """``field`` (R, C) over the chart; NaN is left open. On a logarithmic scale it holds log10.

    Drawn is the place on the scale, 0 to 1: browsers lose ends that differ in the last digit only.
    """
    reading = 10**field if scale.log else field
    ticks = [scale.low, (scale.low + scale.high) / 2, scale.high]
    place = (field - scale.low) / (scale.high - scale.low)
    beyond = f" ({percent(scale.beyond)} of points beyond)" if scale.beyond else ""
    figure = go.Figure()
    figure.add_heatmap(
        x=axis, y=axis, z=place, customdata=reading, coloraxis="coloraxis",
        hovertemplate=f"(%{{x:.2f}}, %{{y:.2f}})<br>{symbol} = %{{customdata:.3g}}<extra></extra>",
    )  # fmt: skip
    square = {"range": [float(axis[0]), float(axis[-1])], "constrain": "domain",
              "zeroline": False, "showgrid": False,
              "tickvals": [float(axis[0]), 0, float(axis[-1])]}  # fmt: skip
    figure.update_layout(
        xaxis=square | {"title": {"text": names[0]}},
        yaxis=square | {"title": {"text": names[1]}, "scaleanchor": "x"},
        coloraxis={
            "colorscale": scale.colours, "cmin": 0, "cmax": 1,
            "colorbar": {
                "title": {"text": symbol + beyond, "side": "top"}, "orientation": "h",
                "y": -0.24, "yanchor": "top", "thickness": 12, "len": 0.8,
                "tickvals": [0, 0.5, 1], "ticktext": [_tick(x, scale.log) for x in ticks],
            },
        },
        margin={"l": 45, "r": 10, "t": 12, "b": 122}, height=FIGURE_HEIGHT,
    )  # fmt: skip
    return figure


def _tick(x: float, log: bool) -> str:
    return (figures(10**x, 1) if log else figures(x)).replace("-", "−")


def side_view(surface: SurfaceResult, stretch: float) -> go.Figure:
    """Grid lines and middle section in the plane of y1 and y3, the latter ``stretch``-fold."""
    values = surface.values[0]
    lines, section = grid_lines(values[None])[0], values[len(values) // 2]
    figure = go.Figure()
    for points, colour, width, name in (
        (lines, palette.PLANE, 1, "grid lines"),
        (section, palette.SIGNED_SCALE[-2][1], 4, "cross-section"),
    ):
        figure.add_scatter(
            x=points[:, 0], y=points[:, 2], mode="lines", name=name,
            line={"color": colour, "width": width}, hoverinfo="skip", showlegend=False,
        )  # fmt: skip
    plain = {"zeroline": False, "dtick": 0.2, "constrain": "domain"}
    figure.update_layout(
        xaxis=plain | {"title": {"text": "y<sub>1</sub>"}},
        yaxis=plain
        | {"title": {"text": "y<sub>3</sub>"}, "scaleanchor": "x", "scaleratio": stretch},
        margin={"l": 50, "r": 10, "t": 20, "b": 45}, height=FIGURE_HEIGHT,
    )  # fmt: skip
    return figure


def globe(surface: SurfaceResult, radius: float) -> go.Figure:
    """A piece of a sphere about the origin, seen from outside, with the outline of the ball."""
    values = surface.values[0]
    towards = values.mean((0, 1)) / np.linalg.norm(values.mean((0, 1)))
    across = np.linalg.svd(towards[None])[2][1:].T  # (3, 2): a basis of the plane of the screen
    seen = values @ across
    lines = grid_lines(seen[None])[0]
    rim = np.concatenate([seen[0], seen[:, -1], seen[-1, ::-1], seen[::-1, 0]])
    turn = np.linspace(0, 2 * np.pi, 181)
    colour = palette.SIGNED_SCALE[-2][1]
    figure = go.Figure()
    for x, y, line, fill in (
        (radius * np.cos(turn), radius * np.sin(turn), {"color": palette.PLANE, "width": 2}, None),
        (*rim.T, {"color": colour, "width": 3}, "toself"),
        (*lines.T, {"color": palette.SIGNED_SCALE[-1][1], "width": 1.2}, None),
    ):
        figure.add_scatter(
            x=x, y=y, mode="lines", line=line, fill=fill, fillcolor=colour, hoverinfo="skip",
            showlegend=False,
        )  # fmt: skip
    bare = {"visible": False, "constrain": "domain"}
    figure.update_layout(
        xaxis=bare, yaxis=bare | {"scaleanchor": "x"},
        margin={"l": 10, "r": 10, "t": 20, "b": 20}, height=FIGURE_HEIGHT,
    )  # fmt: skip
    return figure
