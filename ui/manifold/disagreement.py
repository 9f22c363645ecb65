"""Where do the ways of measuring K disagree, and how does that depend on the step? Plain Plotly.

Colours are those of the palette; texts and papers are left to the theme of the page.
"""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from gating_core.experiments.specimen import COLOURINGS
from gating_core.geometry import ErrorCurve, SecondOpinion
from ui.common.words import percent, tick_text
from ui.drawing import palette
from ui.drawing.colours import colour_scale
from ui.manifold.histogram import LEGEND, TITLE_SIZE

# Colour and symbol of each curve by name, the same in every figure.
CURVE_STYLES = {
    "differences, float64": (palette.CLASS_COLOURS[0], "circle"),
    "differences, float32": (palette.CLASS_COLOURS[1], "square"),
    "triangle mesh": (palette.ACCENT, "diamond"),
    "paper's proxy": (palette.PLANE, "cross"),
}
MAPS_HEIGHT = 430  # pixels
BARS_BELOW = -0.28  # of the maps' height: below the titles of the axes
GUIDE_BELOW = 30  # the guide's distance from the curve, as a factor


def error_maps(second: SecondOpinion) -> go.Figure:
    """Exact K over the chart, and how far the others are from it: log10 of |K - exact K|.

    The errors share one scale, which shows all of them; what is smaller than the exact K's own
    error is drawn as that. Unresolved points, and those where the other way has no value, are
    left open, as is K where it is not known. It has the scale that it would have alone in the view;
    its title says which share of the points lies beyond.
    """
    others = {"differences": second.difference, "mesh": second.mesh}
    errors = {
        name: _log_error(second, other) for name, other in others.items() if other is not None
    }
    titles = ["exact K", *(f"error: {name}" for name in errors)]
    figure = make_subplots(1, len(titles), subplot_titles=titles, horizontal_spacing=0.04)
    figure.update_annotations(font_size=TITLE_SIZE)
    axis = second.axis
    place = "x = (%{x:.2f}, %{y:.2f})<br>"
    figure.add_heatmap(
        x=axis, y=axis, z=second.known, coloraxis="coloraxis", row=1, col=1,
        hovertemplate=place + "K = %{z:.3g}<extra></extra>", hovertemplatefallback="not known",
    )  # fmt: skip
    for column, error in enumerate(errors.values(), 2):
        figure.add_heatmap(
            x=axis, y=axis, z=error, coloraxis="coloraxis2", row=1, col=column,
            customdata=10**error,
            hovertemplate=place + "off by %{customdata:.1e}<extra></extra>",
        )  # fmt: skip
    for column in range(1, len(titles) + 1):
        figure.update_yaxes(scaleanchor=f"x{column if column > 1 else ''}", row=1, col=column)
    ends = [float(axis[0]), float(axis[-1])]
    square = {"constrain": "domain", "range": ends, "zeroline": False,
              "tickvals": [ends[0], sum(ends) / 2, ends[1]]}  # fmt: skip
    figure.update_xaxes(title_text="x<sub>1</sub>", **square)
    figure.update_yaxes(showticklabels=False, constraintoward="top", **square)
    figure.update_yaxes(title_text="x<sub>2</sub>", showticklabels=True, col=1)

    scale = colour_scale(COLOURINGS["curvature"], [second.known])
    low, high = _whole_decades(np.concatenate([error.ravel() for error in errors.values()]))
    decades = np.arange(low, high + 1, max(1, math.ceil((high - low) / 4)))
    bar = {"orientation": "h", "y": BARS_BELOW, "yanchor": "top", "thickness": 12, "len": 0.46}
    note = f"K ({percent(scale.beyond)} of points beyond)" if scale.beyond else "K"
    end = scale.high
    figure.update_layout(
        coloraxis={
            "colorscale": scale.colours, "cmin": -end, "cmax": end,
            "colorbar": bar | {
                "title": {"text": note, "side": "top"}, "x": 0.22,
                "tickvals": [-end, 0, end],
                "ticktext": [f"−{tick_text(end)}", "0", tick_text(end)],
            },
        },
        coloraxis2={
            "colorscale": "Cividis", "cmin": low, "cmax": high,
            "colorbar": bar | {
                "title": {"text": "error of K", "side": "top"}, "x": 0.77,
                "tickvals": decades, "ticktext": [f"10<sup>{d}</sup>" for d in decades],
            },
        },
        margin={"l": 40, "r": 10, "t": 36, "b": 130}, height=MAPS_HEIGHT,
    )  # fmt: skip
    return figure


def _log_error(second: SecondOpinion, other: np.ndarray) -> np.ndarray:
    """(R, C): log10 of |other - exact|, not below the exact one's error; NaN where unknown."""
    relative = np.finfo(float).eps
    finest = relative * (second.scale.value if math.isfinite(second.scale.value) else 1.0)
    gap = np.where(second.resolved, np.abs(other - second.exact), np.nan)
    gap[~np.isfinite(gap)] = np.nan
    floor = np.where(second.resolved, second.exact_error, 0.0)
    return np.log10(np.maximum(gap, np.maximum(floor, finest)))


def _whole_decades(logs: np.ndarray) -> tuple[int, int]:
    """Whole numbers below and above the finite ones among ``logs``, not equal."""
    finite = logs[np.isfinite(logs)]
    if not finite.size:
        return -1, 0
    low, high = math.floor(finite.min()), math.ceil(finite.max())
    return low, max(high, low + 1)


# --- How the error depends on the step ------------------------------------------------------------


def error_curves(curves: list[ErrorCurve], step: float) -> go.Figure:
    """Relative error against step or grid spacing, both logarithmic.

    Each curve's median with markers, its 95 % quantile dotted, its smallest median ringed; the
    current ``step`` is a vertical line. The dashed guide below the first curve falls as step^2,
    as truncation does; there is none where that curve shows no truncation. Errors that are zero or
    infinite have no place on a logarithmic axis and leave a gap; the legend says so where they
    are all zero.
    """
    figure = go.Figure()
    drawn: list[float] = []
    for curve in curves:
        colour, symbol = CURVE_STYLES.get(curve.name, (palette.PLANE, "x"))
        median, high = _positive(curve.median), _positive(curve.high)
        hover = f"{curve.name}<br>{curve.x_name} %{{x:.2g}}<br>error %{{y:.1e}}<extra></extra>"
        if not np.array_equal(median, high, equal_nan=True):
            figure.add_scatter(
                x=curve.x, y=high, mode="lines", line={"color": colour, "dash": "dot", "width": 1},
                name=f"{curve.name}, 95 %", showlegend=False, hovertemplate="95 %: " + hover,
            )  # fmt: skip
        figure.add_scatter(
            x=curve.x, y=median, mode="lines+markers", line={"color": colour, "width": 2},
            marker={"symbol": symbol, "size": 6}, hovertemplate=hover,
            name=curve.name if curve.median.any() else f"{curve.name}: exactly 0",
        )  # fmt: skip
        if curve.best is not None:
            figure.add_scatter(
                x=curve.x[[curve.best]], y=median[[curve.best]], mode="markers",
                marker={"symbol": "circle-open", "size": 15, "color": colour,
                        "line": {"width": 2.5}},
                name=f"{curve.name}, smallest", showlegend=False,
                hovertemplate="smallest: " + hover,
            )  # fmt: skip
        drawn += [*median[np.isfinite(median)], *high[np.isfinite(high)]]
    low, top = (min(drawn), max(drawn)) if drawn else (1e-16, 1.0)
    guide = _guide(curves[0], low) if curves else None
    if guide is not None:
        figure.add_scatter(
            x=guide[0], y=guide[1], mode="lines", name="∝ step²", hoverinfo="skip",
            line={"color": palette.PLANE, "dash": "dash", "width": 1.5},
        )  # fmt: skip
    figure.add_scatter(
        x=[step, step], y=[low, top], mode="lines", name="current step", hoverinfo="skip",
        line={"color": palette.PLANE, "width": 2},
    )  # fmt: skip
    figure.update_xaxes(
        title_text="step or grid spacing (chart)", type="log", dtick=1, exponentformat="power"
    )
    figure.update_yaxes(
        title_text="relative error", type="log", exponentformat="power", nticks=8, minor_ticks=""
    )
    figure.update_layout(
        height=400, legend=LEGEND, margin={"l": 60, "r": 10, "t": 30, "b": 40}, hovermode="closest"
    )
    return figure


def _positive(values: np.ndarray) -> np.ndarray:
    """``values`` with NaN for what a logarithmic axis cannot show."""
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _guide(curve: ErrorCurve, low: float) -> tuple[list[float], list[float]] | None:
    """Both ends of a line of slope two below the curve's last point, down to ``low``.

    None where the curve shows no truncation: its smallest median is at its largest step.
    """
    usable = np.flatnonzero(np.isfinite(_positive(curve.median)))
    if curve.best is None or curve.best == usable[-1]:
        return None
    x, y = float(curve.x[usable[-1]]), float(curve.median[usable[-1]]) / GUIDE_BELOW
    if y <= low:
        return None
    start = max(x * math.sqrt(low / y), float(curve.x[0]))
    return [start, x], [y * (start / x) ** 2, y]
