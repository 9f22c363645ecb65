"""How K is distributed over a surface's area. Plain Plotly.

Colours are those of the palette; texts and papers are left to the theme of the page.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.geometry import SurfaceResult
from ui.common.words import percent, tick_text
from ui.drawing import palette
from ui.drawing.panels import subplot, subplot_title

BINS_PER_SIGN = 20
TICKS_PER_SIGN = 3
TITLE_SIZE = 13  # pixels: three titles beside each other fit a telephone
ROW_GAP = 0.16  # between two rows, of the height
LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}


def curvature_histogram(surfaces: dict[str, SurfaceResult], colours: dict[str, str]) -> go.Figure:
    """Draw the share of each surface's area by its K, one row a surface, on the same bins.

    Bins are equally wide in asinh(K / typical |K|): linear near zero, logarithmic beyond, up to the
    largest |K|, so that nothing is cut off. In a strip between the bins stands what is known to be
    flat, and hatched on top of it what is undecided: |K| within an error that is not small, or
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
            ("undecided", verdict.undecided, verdict.flat, {"shape": "/", "solidity": 0.4}),
        ):
            traces.append(bar | {
                "x": [0.0], "y": [share], "base": [base], "name": title, "customdata": [share],
                "marker": {"color": colours[name], "pattern": pattern}, "showlegend": not row,
                "hovertemplate": f"{title}<br>%{{customdata:.2%}} of the area<extra></extra>",
            })  # fmt: skip
        note = f" ({percent(verdict.unresolved)} of points unresolved)"
        titles.append(name + (note if verdict.unresolved else ""))
    return go.Figure({"data": traces, "layout": _layout(titles, bins)})


def _layout(titles: list[str], bins: _Bins) -> dict[str, Any]:
    """Rows under each other, each under its title, over one axis of K."""
    height = (1 - ROW_GAP * (len(titles) - 1)) / len(titles)
    layout: dict[str, Any] = {"annotations": []}
    for row, title in enumerate(titles):
        x, y = subplot(row).values()
        top, last = 1 - row * (height + ROW_GAP), row == len(titles) - 1
        layout[f"xaxis{x[1:]}"] = {
            "anchor": y, "range": [-bins.end, bins.end], "tickvals": bins.ticks[0],
            "ticktext": bins.ticks[1], "zeroline": False,
            **({"title": {"text": "K (1 / length²)"}} if last
               else {"matches": subplot(len(titles) - 1)["xaxis"], "showticklabels": False}),
        }  # fmt: skip
        layout[f"yaxis{y[1:]}"] = {
            "anchor": x, "domain": [max(top - height, 0.0), top], "tickformat": ".0%",
            "rangemode": "tozero", "nticks": 4,
            **({"title": {"text": "share of area"}} if last else {}),
        }  # fmt: skip
        layout["annotations"].append(subplot_title(title, 0.5, top, TITLE_SIZE))
    return layout | {
        "barmode": "overlay", "bargap": 0, "height": 400 if len(titles) > 1 else 320,
        "legend": LEGEND | {"y": 1.1}, "margin": {"l": 50, "r": 10, "t": 60, "b": 40},
    }  # fmt: skip


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
