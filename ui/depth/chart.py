"""The chart of a quantity against depth: medians with bands, fitted lines, exponents of all seeds.

Shapes: S seeds, L depths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.experiments.depth import (
    MOST_CURVATURE,
    QUANTITIES,
    Curve,
    DepthResult,
    Exponent,
    cap_curvature,
)
from ui.common.words import tick_text
from ui.drawing import palette
from ui.drawing.panels import QUIET

HEIGHT_PIXELS, SMALL_PIXELS = 430, 290  # of one chart, and of three side by side
CURVES_SHARE, DOTS_SHARE = 0.74, 0.14  # of the width: curves, and one dot a seed
THEORY = {  # the exponent where gates are small
    "aligned": {"total": 2.0, "mean": 2.0, "centre": 2.0, "proxy": 1.0},
    "random": {"total": 1.0, "mean": 1.0, "centre": 1.0, "proxy": 0.5},
}
DASHES = ("dot", "solid")  # colour is never the only channel
COLOURS = tuple(palette.SIDE_COLOURS.values())
REFERENCE = "#0e7490"  # theory
SPREAD = 0.2  # of dots round their place
DECADES_DRAWN = 12.0  # below the largest: what has collapsed further is cut off


@dataclass(frozen=True, eq=False)
class ChartCurve:
    """One curve of the chart: a quantity of a regime, with its name and colour."""

    regime: str
    title: str
    result: DepthResult
    quantity: str
    colour: str

    @property
    def curve(self) -> Curve:
        return self.result.curves[self.quantity]

    @property
    def theory(self) -> float | None:
        return THEORY.get(self.regime, {}).get(self.quantity)

    @property
    def shown_exponent(self) -> Exponent:
        """Where the regime's condition holds, or else over all depths."""
        exponent = self.curve.exponent
        return exponent if exponent.over_seeds.known else self.curve.course.whole

    @property
    def limited(self) -> bool:
        """Whether theory says where its growth ends."""
        return self.regime == "strong" and self.quantity == "total"


def depth_chart(drawn: list[ChartCurve], member: int | None = None, seed: int = 0) -> go.Figure:
    """Draw curves on logarithmic axes, one seed as a thin line, and the exponents of all seeds.

    A curve ends where fewer than half of its seeds are known. Zero is not drawn.

    Args:
        drawn: Curves of one quantity.
        member: Index of the seed with a thin line; without one the chart is a small one.
        seed: What it is called.
    """
    traces = [_band(each) for each in drawn]
    for each, dash in zip(drawn, DASHES[-len(drawn) :], strict=True):
        traces += _curve(each, member, dash)
        traces += _fit(each)
    for index, each in enumerate(drawn):
        traces += _dots(each, index)
    traces += [trace for each in drawn if each.limited for trace in _limits(each)]
    depths = drawn[0].curve.depths
    lines = (
        f"median of {len(drawn[0].curve.values)} seeds, band: middle half",
        f"thin: seed {seed}, dashed: fitted" if member is not None else "dashed: fitted",
    )  # two, as the chart may be narrow
    key = "<br>".join(f"<sub>{line}</sub>" for line in lines)
    quantity = QUANTITIES[drawn[0].quantity]
    low, high = _range(drawn, member)
    step = max(1, int(np.ceil((high - low) / 6)))
    powers = np.arange(np.floor(low), np.ceil(high) + 1, step)
    near = high - low < 1.5
    ticks = [m * 10.0**p for p in powers for m in ((1, 2, 5) if near else (1,))]
    return go.Figure({"data": traces, "layout": {
        "height": SMALL_PIXELS if member is None else HEIGHT_PIXELS,
        "margin": {"l": 58, "r": 14, "t": 8, "b": 70},
        "legend": {"x": 0.01, "y": 1.0, "yanchor": "bottom", "orientation": "h"},
        "hovermode": "closest",
        "xaxis": {
            "type": "log", "tickvals": [1, 2, 4, 8, 16],
            "title": {"text": f"layers<br>{key}", "standoff": 4},
            "range": [np.log10(0.93), np.log10(depths[-1] * 1.08)], "domain": [0, CURVES_SHARE],
        },
        "xaxis2": {
            "domain": [1 - DOTS_SHARE, 1], "range": [-0.6, len(drawn) - 0.4], "showgrid": False,
            "zeroline": False, "showticklabels": False, "anchor": "y2",
            "title": {"text": "<sub>exponent,<br>one dot<br>a seed</sub>", "standoff": 4},
        },
        "yaxis2": {
            "anchor": "x2", "nticks": 6,
            "zeroline": True, "range": _exponent_range(drawn),
        },
        "yaxis": {
            "type": "log", "range": [low, high], "title": {"text": quantity.symbol, "standoff": 4},
            "tickvals": ticks, "ticktext": [tick_text(x) for x in ticks],
        },
    }})  # fmt: skip


def _positive(values: np.ndarray) -> np.ndarray:
    """NaN where a value has no place on a logarithmic axis."""
    return np.where(values > 0, values, np.nan)


def _range(drawn: list[ChartCurve], member: int | None) -> tuple[float, float]:
    """Powers of ten at both ends of the axis, which holds medians, bands and the single seed."""
    curves = [each.curve for each in drawn]
    shown = [x for curve in curves for x in (curve.median, curve.band)]
    if member is not None:
        shown += [np.where(x.known[member], x.values[member], np.nan) for x in curves]
    parts = [_positive(x).ravel() for x in shown]
    logs = np.log10(np.concatenate(parts))
    logs = logs[np.isfinite(logs)]
    if not logs.size:
        return -1.0, 1.0
    high = float(logs.max())
    if any(each.limited for each in drawn):
        high = max(high, float(np.log10(MOST_CURVATURE)))
    low = max(float(logs.min()), high - DECADES_DRAWN)
    room = 0.06 * max(high - low, 0.3)
    return low - room, high + 2 * room


def _band(each: ChartCurve) -> dict[str, Any]:
    curve = each.curve
    low, high = _positive(curve.band[0]), _positive(curve.band[1])
    finite = np.isfinite(low) & np.isfinite(high)
    depths = curve.depths[finite]
    x = np.concatenate([depths, depths[::-1]])
    y = np.concatenate([low[finite], high[finite][::-1]])
    return _line(x, y, {"width": 0}, **QUIET, fill="toself", fillcolor=f"{each.colour}33")


def _curve(each: ChartCurve, member: int | None, dash: str) -> list[dict[str, Any]]:
    curve, traces = each.curve, []
    if member is not None:
        values = np.where(curve.known[member], curve.values[member], np.nan)
        style = {"color": each.colour, "width": 1}
        traces = [_line(curve.depths, _positive(values), style, **QUIET, opacity=0.7)]
    whole = curve.count == len(curve.values)
    middle = {
        "type": "scatter", "mode": "lines+markers", "name": each.title,
        "x": curve.depths, "y": _positive(curve.median),
        "line": {"color": each.colour, "width": 2.5, "dash": dash},
        "marker": {"size": 7, "color": each.colour,
                   "symbol": np.where(whole, "circle", "circle-open").tolist()},
        "customdata": np.stack([*curve.band, curve.count], 1),
        "hovertemplate": f"{each.title}, %{{x}} layers<br>median %{{y:.3g}}, quartiles"
        " %{customdata[0]:.3g} to %{customdata[1]:.3g}<br>%{customdata[2]} of"
        f" {len(curve.values)} seeds known<extra></extra>",
    }  # fmt: skip
    return [*traces, middle]


def _fit(each: ChartCurve) -> list[dict[str, Any]]:
    """The line with the median exponent, as many fitted points above as below; theory's beside."""
    curve, exponent = each.curve, each.curve.exponent
    if exponent.depths is None:
        return []
    slope = exponent.over_seeds.value
    used = curve.fitted & np.isfinite(exponent.slopes)[:, None]
    depths = np.broadcast_to(curve.depths, used.shape)[used]
    start = float(np.median(np.log(curve.values[used]) - slope * np.log(depths)))
    ends = np.array(exponent.depths, dtype=float)
    logs = start + slope * np.log(ends)
    style = {"color": each.colour, "width": 1.5, "dash": "dash"}
    name = f"{each.title}, fitted"
    lines = [_line(ends, np.exp(logs), style, name=name, hoverinfo="skip", showlegend=False)]
    if each.theory is not None:
        lift = 0.35 * max(each.theory, 0.5)  # beside the curve, to be seen
        middle = float(np.log(depths).mean())
        logs = start + lift + slope * middle + each.theory * (np.log(ends) - middle)
        style = {"color": REFERENCE, "width": 1.5, "dash": "dashdot"}
        name = f"slope {each.theory:g} (theory)"
        lines.append(_line(ends, np.exp(logs), style, name=name, hoverinfo="skip"))
    return lines


def _dots(each: ChartCurve, x: int) -> list[dict[str, Any]]:
    """One dot for the exponent of each seed, the median as a bar, theory's as a line."""
    exponent = each.shown_exponent
    slopes = np.sort(exponent.slopes[np.isfinite(exponent.slopes)])
    if not len(slopes):
        return []
    where: dict[str, Any] = {"xaxis": "x2", "yaxis": "y2", "showlegend": False}
    across = x + SPREAD * np.resize([-1, 0, 1], len(slopes))
    dots = {
        "type": "scatter", "mode": "markers", "x": across, "y": slopes, **where,
        "marker": {"size": 5, "color": each.colour, "opacity": 0.7},
        "hovertemplate": f"{each.title}, one seed: exponent %{{y:.2f}}<extra></extra>",
    }  # fmt: skip
    ends = np.array([x - 0.45, x + 0.45])
    traces = []
    if exponent.over_seeds.known:
        bar = {"color": each.colour, "width": 3}
        traces.append(_line(ends, np.full(2, exponent.over_seeds.value), bar, **where,
                            hovertemplate="median %{y:.2f}<extra></extra>"))  # fmt: skip
    if each.theory is not None:
        style = {"color": REFERENCE, "width": 1.5, "dash": "dashdot"}
        traces.append(_line(ends, np.full(2, each.theory), style, **where, hoverinfo="skip"))
    return [*traces, dots]


def _exponent_range(drawn: list[ChartCurve]) -> list[float]:
    """Both ends of the axis of exponents, which holds all of them and zero."""
    slopes = np.concatenate([each.shown_exponent.slopes for each in drawn])
    slopes = np.append(slopes[np.isfinite(slopes)], [0.0, 0.5])
    room = 0.08 * float(np.ptp(slopes))
    return [float(slopes.min()) - room, float(slopes.max()) + room]


def _limits(each: ChartCurve) -> list[dict[str, Any]]:
    """The cap that strong gates tend to where their steps are small, and the most it can have."""
    depths, eps = each.curve.depths, each.result.eps
    assert eps is not None  # of scalar gates
    cap = np.median(cap_curvature(2 * eps[:, None] * depths), 0)
    most = np.full(len(depths), MOST_CURVATURE)
    return [
        _line(depths, y, {"color": REFERENCE, "width": 1.5, "dash": dash}, name=name,
              hoverinfo="skip")
        for y, dash, name in ((cap, "dot", "ellipsoid's cap"), (most, "dash", "2π, half a sphere"))
    ]  # fmt: skip


def _line(x: np.ndarray, y: np.ndarray, style: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": style, **more}
