"""The *Doubt* tab: bounds, integrals, where the curvature sits, and second opinions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import streamlit as st

from gating_core.experiments import cost
from gating_core.experiments.specimen import MeasuredSpecimen
from gating_core.geometry import TILT_LIMIT, Integral, SurfaceIntegrals, opinion_evaluations
from ui.common.explain import explain
from ui.common.figures import figures
from ui.common.words import error_text, percent, plus_minus, short
from ui.drawing import palette
from ui.limits import OPINION_COST
from ui.manifold import measured, words
from ui.manifold.controls import MANIFOLD, WHOSE
from ui.manifold.disagreement import error_curves, error_maps
from ui.manifold.explain import error_curves_text, error_maps_text, histogram_text, integrals_text
from ui.manifold.histogram import curvature_histogram
from ui.manifold.request import Resolved
from ui.manifold.totals import watch_totals

COLOURS = dict(zip(words.SIDE_NAMES, palette.SIDE_COLOURS.values(), strict=True))
INTEGRALS = {
    "area": "Area ∫dA (length²)",
    "absolute": "Total curvature ∫|K| dA",
    "positive": "Its positive part ∫max(K, 0) dA",
    "gaussian": "∫K dA",
    "holonomy": "∫K dA once more, by holonomy",
}

MAP_NAMES = (
    "Exact K over the chart.",
    "How far finite differences are off over the chart.",
    "How far the mesh is off over the chart.",
)
TOO_LARGE = (
    "A second opinion on a model of this size takes too long for this page: fewer layers, values or"
    " dimensions."
)
SIGNED = ("gaussian", "holonomy")  # integrals that may be negative


def draw_doubt(resolved: Resolved, sides: list[MeasuredSpecimen]) -> None:
    """Everything the tab shows below the covariance."""
    st.subheader("Bounds", anchor=False)
    st.table(_bounds_table(sides))
    st.caption(
        "The bound follows rounding through every operation, from the weights to K. It covers"
        " rounding, not sampling. Tilt: how far the tangent plane may be off; above"
        f" {TILT_LIMIT:g} rad a point is unresolved."
    )
    st.subheader("Integrals", anchor=False)
    specimens = tuple(side.specimen for side in sides)
    watch_totals(specimens, lambda totals: _draw_integrals([totals.get(x) for x in specimens]))
    st.subheader("Where the curvature sits", anchor=False)
    _draw_histogram(sides, resolved.grid)
    st.subheader("Second opinion", anchor=False)
    _draw_opinion(resolved, sides)


def _draw_integrals(totals: list[SurfaceIntegrals | None]) -> None:
    st.table(_integrals_table(totals))
    if totals[-1] is not None:
        explain("the integrals", integrals_text(words.SIDE_NAMES[len(totals) - 1], totals[-1]))


def _names(sides: list[MeasuredSpecimen]) -> tuple[str, ...]:
    return words.SIDE_NAMES[: len(sides)]


def _bounds_table(sides: list[MeasuredSpecimen]) -> dict[str, list[str]]:
    """One column a side: on a telephone ten columns would be cut off."""
    columns = dict(zip(_names(sides), map(_bounds, sides), strict=True))
    first = next(iter(columns.values()))
    return {"On the grid": list(first)} | {
        name: list(found.values()) for name, found in columns.items()
    }


def _bounds(side: MeasuredSpecimen) -> dict[str, str]:
    verdict = side.verdict
    return {
        "Least K known": _extreme(side, np.min),
        "Greatest K known": _extreme(side, np.max),
        "Bound of K, median": _error(side, np.median),
        "Bound of K, largest": _error(side, np.max),
        "Unresolved points": percent(verdict.unresolved),
        "Area with K > 0": percent(verdict.positive),
        "Area with K < 0": percent(verdict.negative),
        "Flat area": percent(verdict.flat),
        "Undecided area": percent(verdict.undecided),
    }


def _extreme(side: MeasuredSpecimen, which: Callable[[np.ndarray], float]) -> str:
    """Of what is known: where K is proved to be zero, its digits are rounding."""
    if not side.surface.resolved.any():
        return "none"
    known = side.surface.known[0]
    if side.surface.proof[0]:
        return "0 (proved)"
    found = known[np.isfinite(known)]
    return short(float(which(found))) if found.size else "not known"


def _error(side: MeasuredSpecimen, which: Callable[[np.ndarray], float]) -> str:
    resolved = side.surface.resolved[0]
    errors = side.surface.gaussian_error[0][resolved]
    return error_text(float(which(errors))) if resolved.any() else "none"


def _integrals_table(totals: list[SurfaceIntegrals | None]) -> dict[str, list[str]]:
    """A dot dot dot where a total is not refined yet."""
    table: dict[str, list[str]] = {"Integral": list(INTEGRALS.values())}
    columns = []
    for name, total in zip(words.SIDE_NAMES, totals, strict=False):
        if total is None:
            table[name] = ["…"] * len(INTEGRALS)
            continue
        columns.append([getattr(total, kind) for kind in INTEGRALS])
        table[name] = [_integral(kind, x) for kind, x in zip(INTEGRALS, columns[-1], strict=True)]
    if len(columns) == 2:
        table["Difference"] = [
            _difference(a, b) for a, b in zip(columns[0], columns[1], strict=True)
        ]
    return table


def _integral(name: str, x: Integral) -> str:
    least = -math.inf if name in SIGNED else 0.0
    text = plus_minus(float(x.value), float(x.error), least)
    return text if bool(x.complete) else f"{text} (lower estimate: some points are unresolved)"


def _difference(a: Integral, b: Integral) -> str:
    if not (bool(a.complete) and bool(b.complete)):
        return "unknown: a side is a lower estimate"
    return plus_minus(float(b.value - a.value), float(a.error + b.error))


def _draw_histogram(sides: list[MeasuredSpecimen], grid: int) -> None:
    surfaces = {name: side.surface for name, side in zip(_names(sides), sides, strict=True)}
    key = "histogram", grid, tuple(side.specimen for side in sides)
    (figure,) = figures(
        key, lambda: [curvature_histogram(surfaces, dict.fromkeys(surfaces, 0), COLOURS)]
    )
    st.plotly_chart(
        figure,
        alt="Share of each surface's area over values of Gaussian curvature; hatched: undecided.",
        key="histogram",
    )
    explain("the histogram", histogram_text(sides))


def _draw_opinion(resolved: Resolved, sides: list[MeasuredSpecimen]) -> None:
    left, right = st.columns(2)
    whose = ("ungated", "gated")[: len(sides)]
    chosen = replace(WHOSE, words=whose, default=whose[-1]).draw(left)
    step = MANIFOLD["step"].draw(right)
    side = sides[0 if chosen == "ungated" else -1]
    config = side.specimen.config
    if cost(config) * opinion_evaluations(resolved.grid, config.model_dim) > OPINION_COST:
        st.info(TOO_LARGE, icon=":material/hourglass_disabled:")
        return
    found = measured.opinion(side.specimen, resolved.grid, step)
    *maps, curves = figures(
        ("opinion", side.specimen, resolved.grid, step),
        lambda: [*error_maps(found), error_curves(found.curves, step)],
    )
    with st.container(horizontal=True):
        for n, figure in enumerate(maps):
            st.plotly_chart(figure, alt=MAP_NAMES[n], key=f"error_map_{n}", width="content")
    st.plotly_chart(
        curves,
        alt="Error against step or grid spacing, on logarithmic axes.",
        key="error_curves",
    )  # fmt: skip
    st.caption(
        f"The paper's proxy, in our reading, is the mean size of second differences: at this step"
        f" {found.proxy_mean:.6g}, in the limit {found.proxy_limit:.6g}. It sees warping and"
        " bending as well as curving, and grows with the output: it is no curvature."
    )
    if found.mesh is None:
        st.caption("PyVista's discrete curvature needs a surface in three dimensions.")
    with st.container(horizontal=True):
        explain("the maps", error_maps_text(step))
        explain("the error curves", error_curves_text(step))
