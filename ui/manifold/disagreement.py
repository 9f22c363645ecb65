"""Where the ways of measuring K disagree, and how that depends on the step. Plain Plotly.

Colours are those of the palette; texts and papers are left to the theme of the page.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.geometry import ErrorCurve, SecondOpinion
from ui.common.words import percent, tick_text
from ui.drawing import palette
from ui.drawing.colours import scale_of
from ui.manifold.histogram import LEGEND, TITLE_SIZE

# Colour and symbol of each curve by name, the same in every figure.
CURVE_STYLES = {
    "differences, float64": (palette.CLASS_COLOURS[0], "circle"),
    "differences, float32": (palette.CLASS_COLOURS[1], "square"),
    "triangle mesh": (palette.ACCENT, "diamond"),
    "paper's proxy": (palette.PLANE, "cross"),
}
MAP_SIZE = (360, 430)  # pixels: three beside each other on a desk, two where it is narrow
BAR = {"orientation": "h", "x": 0.5, "y": 1.04, "yanchor": "bottom", "thickness": 12, "len": 0.8,
       "outlinewidth": 0}  # fmt: skip
GUIDE_BELOW = 30  # the guide's distance from the curve, as a factor


def error_maps(second: SecondOpinion) -> list[go.Figure]:
    """Draw the exact K over the chart, and how far the others are from it: log10 of |K - exact K|.

    The errors share one scale, which shows all of them; what is smaller than the exact K's own
    error is drawn as that. Unresolved points, and those where the other way has no value, are
    left open, as is K where it is not known. It has the scale that it would have alone in the view;
    its title says which share of the points lies beyond.
    """
    others = {"differences": second.difference, "mesh": second.mesh}
    errors = {
        name: _log_error(second, other) for name, other in others.items() if other is not None
    }
    scale = scale_of("curvature", [second.known], asinh=False)
    note = f"exact K ({percent(scale.beyond)} of points beyond)" if scale.beyond else "exact K"
    text = tick_text(scale.high)
    ticks = {-scale.high: f"−{text}", 0: "0", scale.high: text}
    exact = _error_map(second.axis, second.known, note, ticks, "K = %{z:.3g}",
                       colorscale=scale.colours, hovertemplatefallback="not known")  # fmt: skip
    low, high = _whole_decades(np.concatenate([error.ravel() for error in errors.values()]))
    ends = {"zmin": low, "zmax": high, "colorscale": "Cividis"}
    decades = range(low, high + 1, max(1, math.ceil((high - low) / 4)))
    ticks = {decade: f"10<sup>{decade}</sup>" for decade in decades}
    return [exact] + [
        _error_map(second.axis, error, f"error of K: {name}", ticks,
                   "off by %{customdata:.1e}", customdata=10**error, **ends)
        for name, error in errors.items()
    ]  # fmt: skip


def _error_map(
    axis: np.ndarray, z: np.ndarray, title: str, ticks: dict[float, str], reading: str, **heat: Any
) -> go.Figure:
    """A square over the chart ``axis`` x ``axis``, its colours ending at the ticks unless said.

    The bar of colours stands above: below it would be far away in a narrow window.
    """
    ends = [float(axis[0]), float(axis[-1])]
    square = {
        "constrain": "domain", "range": ends, "zeroline": False, "automargin": False,
        "tickvals": [ends[0], sum(ends) / 2, ends[1]],
    }  # fmt: skip
    width, height = MAP_SIZE
    bar = BAR | {"tickvals": [*ticks], "ticktext": [*ticks.values()]}
    bar |= {"title": {"text": title, "side": "top", "font": {"size": TITLE_SIZE}}}
    hover = f"x = (%{{x:.2f}}, %{{y:.2f}})<br>{reading}<extra></extra>"
    trace = {"type": "heatmap", "x": axis, "y": axis, "z": z, "zmin": min(ticks),
             "zmax": max(ticks), "colorbar": bar, "hovertemplate": hover}  # fmt: skip
    return go.Figure({
        "data": [trace | heat],
        "layout": {
            "xaxis": square | {"title": {"text": "x<sub>1</sub>", "standoff": 4}},
            "yaxis": square | {"title": {"text": "x<sub>2</sub>", "standoff": 4},
                               "scaleanchor": "x", "constraintoward": "top"},
            "width": width, "height": height,
            "margin": {"l": 45, "r": 15, "t": 80, "b": 50, "pad": 0},
        },
    })  # fmt: skip


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
    """Draw the relative error against step or grid spacing, both logarithmic.

    Each curve's median with markers, its 95 % quantile dotted, its smallest median ringed; the
    current ``step`` is a vertical line. The dashed guide below the first curve falls as step^2,
    as truncation does; there is none where that curve shows no truncation. Errors that are zero or
    infinite have no place on a logarithmic axis and leave a gap; the legend says so where they
    are all zero.
    """
    traces: list[dict[str, Any]] = []
    drawn: list[float] = []
    for curve in curves:
        colour, symbol = CURVE_STYLES.get(curve.name, (palette.PLANE, "x"))
        median, high = _positive(curve.median), _positive(curve.high)
        hover = f"{curve.name}<br>{curve.x_name} %{{x:.2g}}<br>error %{{y:.1e}}<extra></extra>"
        if not np.array_equal(median, high, equal_nan=True):
            traces.append({
                "x": curve.x, "y": high, "mode": "lines", "name": f"{curve.name}, 95 %",
                "line": {"color": colour, "dash": "dot", "width": 1}, "showlegend": False,
                "hovertemplate": "95 %: " + hover,
            })  # fmt: skip
        traces.append({
            "x": curve.x, "y": median, "mode": "lines+markers", "hovertemplate": hover,
            "line": {"color": colour, "width": 2}, "marker": {"symbol": symbol, "size": 6},
            "name": curve.name if curve.median.any() else f"{curve.name}: exactly 0",
        })  # fmt: skip
        if curve.best is not None:
            traces.append({
                "x": curve.x[[curve.best]], "y": median[[curve.best]], "mode": "markers",
                "marker": {"symbol": "circle-open", "size": 15, "color": colour,
                           "line": {"width": 2.5}},
                "name": f"{curve.name}, smallest", "showlegend": False,
                "hovertemplate": "smallest: " + hover,
            })  # fmt: skip
        drawn += [*median[np.isfinite(median)], *high[np.isfinite(high)]]
    low, top = (min(drawn), max(drawn)) if drawn else (1e-16, 1.0)
    guide = _guide(curves[0], low) if curves else None
    line = {"mode": "lines", "hoverinfo": "skip"}
    if guide is not None:
        traces.append(line | {
            "x": guide[0], "y": guide[1], "name": "∝ step²",
            "line": {"color": palette.PLANE, "dash": "dash", "width": 1.5},
        })  # fmt: skip
    traces.append(line | {
        "x": [step, step], "y": [low, top], "name": "current step",
        "line": {"color": palette.PLANE, "width": 2},
    })  # fmt: skip
    decades = {"type": "log", "exponentformat": "power"}
    return go.Figure({
        "data": [{"type": "scatter", **trace} for trace in traces],
        "layout": {
            "xaxis": decades | {"title": {"text": "step or grid spacing (chart)"}, "dtick": 1},
            "yaxis": decades | {"title": {"text": "relative error"}, "nticks": 8,
                                "minor": {"ticks": ""}},
            "height": 400, "legend": LEGEND, "margin": {"l": 60, "r": 10, "t": 30, "b": 40},
            "hovermode": "closest",
        },
    })  # fmt: skip


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
