"""Plain figures of *Doubt*: K by share of the area, and where ways of measuring it disagree.

Colours are those of the palette; texts and papers are left to the theme of the page.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.geometry import ErrorCurve, SecondOpinion, SurfaceResult
from ui.common.formatting import percent, tick_text
from ui.drawing import palette
from ui.drawing.colours import scale_of
from ui.drawing.panels import plain_figure, subplot, subplot_title

BINS_PER_SIGN = 20
TICKS_PER_SIGN = 3
TITLE_SIZE = 13  # pixels: three titles beside each other fit a telephone
ROW_GAP = 0.16  # between two rows, of the height
LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
# Colour and symbol of each curve by name, the same in every figure.
CURVE_STYLES = {
    "differences, float64": (palette.CLASS_COLOURS[0], "circle"),
    "differences, float32": (palette.CLASS_COLOURS[1], "square"),
    "triangle mesh": (palette.ACCENT, "diamond"),
    "paper's proxy": (palette.PLANE, "cross"),
}
MAP_SIZE = (360, 430)  # pixels: three beside each other on a desk, two where it is narrow
BAR = {
    "orientation": "h",
    "x": 0.5,
    "y": 1.04,
    "yanchor": "bottom",
    "thickness": 12,
    "len": 0.8,
    "outlinewidth": 0,
}
GUIDE_BELOW = 30  # the guide's distance from the curve, as a factor


def curvature_histogram(surfaces: dict[str, SurfaceResult], colours: dict[str, str]) -> go.Figure:
    """Draw the share of each surface's area by its K, one row a surface, on the same bins.

    Bins are equally wide in asinh(K / typical |K|): linear near zero, logarithmic beyond, up to the
    largest |K|, so that nothing is cut off. In a strip between the bins stands what is known to be
    flat, and hatched on top of it what is undetermined: |K| within an error that is not small, or
    unresolved; the share of unresolved points is written above. Bars add up to one, and every row
    has its own scale of shares.
    """
    ks, areas, wholes = {}, {}, {}  # of decided points: K and their area; the whole area
    for name, surface in surfaces.items():
        element, decided = surface.area_element[0], surface.decided[0]
        area = np.where(np.isfinite(element), element, 0.0) * surface.quadrature
        ks[name], areas[name] = surface.gaussian[0][decided], area[decided]
        wholes[name] = area.sum() or 1.0
    bins = _Bins(np.abs(np.concatenate([*ks.values()])), np.concatenate([*areas.values()]))
    traces, titles = [], []
    for row, (name, surface) in enumerate(surfaces.items()):
        verdict = surface.verdicts[0]
        bar = {"type": "bar", "width": bins.width, **subplot(row)}
        traces.append(bar | {
            "x": bins.middles, "y": bins.shares(ks[name], areas[name] / wholes[name]),
            "marker": {"color": colours[name]},
            "customdata": bins.limits, "name": name, "showlegend": False,
            "hovertemplate": "K from %{customdata[0]:.3g} to %{customdata[1]:.3g}<br>"
            "%{y:.2%} of the area<extra></extra>",
        })  # fmt: skip
        for title, share, base, pattern in (
            ("K = 0: flat", verdict.flat, 0.0, {}),
            ("undetermined", verdict.undetermined, verdict.flat, {"shape": "/", "solidity": 0.4}),
        ):
            traces.append(bar | {
                "x": [0.0], "y": [share], "base": [base], "name": title, "customdata": [share],
                "marker": {"color": colours[name], "pattern": pattern}, "showlegend": not row,
                "hovertemplate": f"{title}<br>%{{customdata:.2%}} of the area<extra></extra>",
            })  # fmt: skip
        note = f" ({percent(verdict.unresolved)} of points unresolved)"
        titles.append(name + (note if verdict.unresolved else ""))
    return plain_figure(traces, _layout(titles, bins))


def _layout(titles: list[str], bins: _Bins) -> dict[str, Any]:
    """Rows under each other, each under its title, over one axis of K."""
    height = (1 - ROW_GAP * (len(titles) - 1)) / len(titles)
    layout: dict[str, Any] = {"annotations": []}
    for row, title in enumerate(titles):
        x, y = subplot(row).values()
        top, last = 1 - row * (height + ROW_GAP), row == len(titles) - 1
        layout[f"xaxis{x[1:]}"] = {
            "anchor": y,
            "range": [-bins.end, bins.end],
            "tickvals": bins.ticks[0],
            "ticktext": bins.ticks[1],
            "zeroline": False,
            **(
                {"title": {"text": "K (1 / length²)"}}
                if last
                else {"matches": subplot(len(titles) - 1)["xaxis"], "showticklabels": False}
            ),
        }
        layout[f"yaxis{y[1:]}"] = {
            "anchor": x,
            "domain": [max(top - height, 0.0), top],
            "tickformat": ".0%",
            "rangemode": "tozero",
            "nticks": 4,
            **({"title": {"text": "share of area"}} if last else {}),
        }
        layout["annotations"].append(subplot_title(title, 0.5, top, TITLE_SIZE))
    return layout | {
        "barmode": "overlay",
        "bargap": 0,
        "height": 400 if len(titles) > 1 else 320,
        "legend": LEGEND | {"y": 1.1},
        "margin": {"l": 50, "r": 10, "t": 60, "b": 40},
    }


class _Bins:
    """Bins of K, as many on either side of a strip around zero, equally wide as drawn.

    Drawn, K is at sign(K) (asinh(|K| / typical) + half a strip), zero at zero; the strip is as
    wide as a bin. ``sizes`` and ``areas`` (P,) are |K| > 0 and area at the points to be drawn.
    """

    def __init__(self, sizes: np.ndarray, areas: np.ndarray) -> None:
        largest = max(float(sizes.max(initial=0.0)), palette.COLOUR_RANGE_FLOOR)
        order = np.argsort(sizes)
        middle = np.searchsorted(np.cumsum(areas[order]), areas.sum() / 2)
        typical = float(sizes[order][min(middle, len(sizes) - 1)]) if len(sizes) else largest
        self.typical = max(typical, np.finfo(float).tiny)
        span = math.asinh(largest / self.typical)
        self.width = span / BINS_PER_SIGN
        self.end = span + self.width / 2
        edges = np.arange(BINS_PER_SIGN + 1) * self.width
        middles = edges[:-1] + self.width  # half a bin, and half the strip
        limits = self.typical * np.sinh(edges)
        limits[-1] = largest
        self.middles = np.concatenate([-middles[::-1], middles])
        above = np.stack([limits[:-1], limits[1:]], -1)
        self.limits = np.concatenate([-above[::-1, ::-1], above])
        self.ticks = self._ticks(largest)

    def shares(self, gaussian: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """(2 BINS_PER_SIGN,): ``shares`` (P,) added up by the bins of ``gaussian`` (P,), not 0."""
        number = np.arcsinh(np.abs(gaussian) / self.typical) / self.width
        number = np.minimum(number.astype(int), BINS_PER_SIGN - 1)
        bins = np.where(gaussian > 0, BINS_PER_SIGN + number, BINS_PER_SIGN - 1 - number)
        return np.bincount(bins, weights=shares, minlength=2 * BINS_PER_SIGN)

    def _ticks(self, largest: float) -> tuple[list[float], list[str]]:
        """Where round values of K are drawn, and what is written there."""
        chosen: list[tuple[float, float]] = []
        last = self.end * (1 + 0.9 / TICKS_PER_SIGN)
        power = math.floor(math.log10(largest))
        while last > 0 and len(chosen) < TICKS_PER_SIGN and power > -300:
            for factor in (5, 2, 1):
                value = float(f"{factor}e{power}")
                where = math.asinh(value / self.typical) + self.width / 2
                apart = 0.9 * self.end / TICKS_PER_SIGN
                if value <= largest and last - where >= apart and where >= apart:
                    chosen.append((where, value))
                    last = where
            power -= 1
            if math.asinh(10.0**power / self.typical) < self.width:
                break
        above = [(x, tick_text(k)) for x, k in chosen]
        both = sorted([*((-x, f"−{text}") for x, text in above), (0.0, "0"), *above])
        return [x for x, _ in both], [text for _, text in both]


# --- Ways of measuring K --------------------------------------------------------------------------


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
    exact = _error_map(
        second.axis,
        second.known,
        note,
        ticks,
        "K = %{z:.3g}",
        colorscale=scale.colours,
        hovertemplatefallback="not known",
    )
    low, high = _whole_decades(np.concatenate([error.ravel() for error in errors.values()]))
    ends = {"zmin": low, "zmax": high, "colorscale": "Cividis"}
    decades = range(low, high + 1, max(1, math.ceil((high - low) / 4)))
    ticks = {decade: f"10<sup>{decade}</sup>" for decade in decades}
    return [exact] + [
        _error_map(
            second.axis,
            error,
            f"error of K: {name}",
            ticks,
            "off by %{customdata:.1e}",
            customdata=10**error,
            **ends,
        )
        for name, error in errors.items()
    ]


def _error_map(
    axis: np.ndarray, z: np.ndarray, title: str, ticks: dict[float, str], reading: str, **heat: Any
) -> go.Figure:
    """A square over the chart ``axis`` x ``axis``, its colours ending at the ticks unless said.

    The bar of colours stands above: below it would be far away in a narrow window.
    """
    ends = [float(axis[0]), float(axis[-1])]
    square = {
        "constrain": "domain",
        "range": ends,
        "zeroline": False,
        "automargin": False,
        "tickvals": [ends[0], sum(ends) / 2, ends[1]],
    }
    width, height = MAP_SIZE
    bar = BAR | {"tickvals": [*ticks], "ticktext": [*ticks.values()]}
    bar |= {"title": {"text": title, "side": "top", "font": {"size": TITLE_SIZE}}}
    hover = f"x = (%{{x:.2f}}, %{{y:.2f}})<br>{reading}<extra></extra>"
    trace = {"type": "heatmap", "x": axis, "y": axis, "z": z, "zmin": min(ticks),
             "zmax": max(ticks), "colorbar": bar, "hovertemplate": hover}  # fmt: skip
    return plain_figure([trace | heat], {
        "xaxis": square | {"title": {"text": "x<sub>1</sub>", "standoff": 4}},
        "yaxis": square | {"title": {"text": "x<sub>2</sub>", "standoff": 4},
                           "scaleanchor": "x", "constraintoward": "top"},
        "width": width, "height": height,
        "margin": {"l": 45, "r": 15, "t": 80, "b": 50, "pad": 0},
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
            traces.append(
                {
                    "x": curve.x,
                    "y": high,
                    "mode": "lines",
                    "name": f"{curve.name}, 95 %",
                    "line": {"color": colour, "dash": "dot", "width": 1},
                    "showlegend": False,
                    "hovertemplate": "95 %: " + hover,
                }
            )
        traces.append({
            "x": curve.x, "y": median, "mode": "lines+markers", "hovertemplate": hover,
            "line": {"color": colour, "width": 2}, "marker": {"symbol": symbol, "size": 6},
            "name": curve.name if curve.median.any() else f"{curve.name}: exactly 0",
        })  # fmt: skip
        if curve.best is not None:
            traces.append(
                {
                    "x": curve.x[[curve.best]],
                    "y": median[[curve.best]],
                    "mode": "markers",
                    "marker": {
                        "symbol": "circle-open",
                        "size": 15,
                        "color": colour,
                        "line": {"width": 2.5},
                    },
                    "name": f"{curve.name}, smallest",
                    "showlegend": False,
                    "hovertemplate": "smallest: " + hover,
                }
            )
        drawn += [*median[np.isfinite(median)], *high[np.isfinite(high)]]
    low, top = (min(drawn), max(drawn)) if drawn else (1e-16, 1.0)
    guide = _guide(curves[0], low) if curves else None
    line = {"mode": "lines", "hoverinfo": "skip"}
    if guide is not None:
        traces.append(
            line
            | {
                "x": guide[0],
                "y": guide[1],
                "name": "∝ step²",
                "line": {"color": palette.PLANE, "dash": "dash", "width": 1.5},
            }
        )
    traces.append(line | {
        "x": [step, step], "y": [low, top], "name": "current step",
        "line": {"color": palette.PLANE, "width": 2},
    })  # fmt: skip
    decades = {"type": "log", "exponentformat": "power"}
    return plain_figure([{"type": "scatter", **trace} for trace in traces], {
        "xaxis": decades | {"title": {"text": "step or grid spacing (chart)"}, "dtick": 1},
        "yaxis": decades | {"title": {"text": "relative error"}, "nticks": 8,
                            "minor": {"ticks": ""}},
        "height": 400, "legend": LEGEND, "margin": {"l": 60, "r": 10, "t": 30, "b": 40},
        "hovermode": "closest",
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
