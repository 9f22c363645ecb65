"""The tab Error analysis: bounds, integrals, proofs, K by area, and K by finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.experiments.instance import MeasuredInstance, ModelInstance, chart_of
from gating_core.geometry import (
    HOLONOMY_LIMIT,
    TANGENT_ERROR_LIMIT,
    ErrorCurve,
    Integral,
    SurfaceIntegrals,
    difference_errors,
)
from ui.common.charts import Charts, Trace, bars, chart, line, log_axis, mark_y
from ui.common.formatting import error_text, percent, plus_minus, short, tick_text
from ui.common.lessons import section
from ui.common.links import LINK
from ui.drawing import palette
from ui.drawing.chart_map import CHART_NAMES
from ui.manifold.shared import VARIANT_NAMES, Result, best_total, code_of, totals_of
from ui.proved import Code, Compared, ProvableSurface, draw_proofs
from ui.work import pool
from ui.work.cache import cached

COLOURS = dict(zip(VARIANT_NAMES, palette.SIDE_COLOURS.values(), strict=True))
INTEGRALS = {
    "area": "Area ∫dA (length²)",
    "absolute": "Total curvature ∫|K| dA",
    "positive": "Its positive part ∫max(K, 0) dA",
    "gaussian": "∫K dA",
    "bending": "Total bending ∫|II|² dA",
}
BINS = 20  # of each sign of K


@cached("Measuring by finite differences …")
def differences(instance: ModelInstance) -> ErrorCurve:
    """Return the error of K of an instance by finite differences over their step."""
    return pool.POOL.call(_differences, instance, seconds=pool.LONG_VIEW)


def _differences(instance: ModelInstance) -> ErrorCurve:
    return difference_errors(chart_of(instance), instance.covariance)


def draw(result: Result) -> None:
    """Draw what is known of both surfaces, how it is known, and what other methods say."""
    variants, charts = result.variants, Charts("error_analysis")
    names = VARIANT_NAMES[: len(variants)]
    totals = totals_of(tuple(x.instance for x in variants))
    refined = [totals.get(x.instance) for x in variants]
    last = variants[-1].verdict
    decided = percent(last.positive + last.negative + last.flat)
    st.markdown(
        f"**The sign of K is known on {decided} of the area of the surface"
        f" {names[-1].lower()}.** A bound follows rounding through every operation, from the"
        " weights to K; a point is unresolved where its tangent plane may be off by"
        f" {TANGENT_ERROR_LIMIT:g} rad or more."
    )
    columns = [known_of(*pair) for pair in zip(variants, refined, strict=True)]
    rows = {name: [*x.values()] for name, x in zip(names, columns, strict=True)}
    table = {"Quantity": [*columns[0]]} | rows
    st.table(table)
    charts.tables["bounds_and_integrals"] = table
    draw_proofs(lambda: _compared(variants, refined), CHART_NAMES[variants[-1].instance.chart])
    whose = st.radio("Differences of which surface", names, len(names) - 1, key="whose",
                     horizontal=True, **LINK)  # fmt: skip
    first, second = st.columns(2)
    charts.draw("histogram", first, histogram(variants), "Share of each surface's area by K.")
    variant = variants[names.index(whose)]
    found = differences(variant.instance)
    charts.draw("differences", second, error_chart(found, variant), differences_text(found))
    charts.draw_footer(section("manifold", "errors", limit=f"{HOLONOMY_LIMIT:g}"))


# --- The table ------------------------------------------------------------------------------------


def known_of(variant: MeasuredInstance, totals: SurfaceIntegrals | None) -> dict[str, str]:
    """Return bounds, shares of the area, and integrals of a variant as text."""
    surface, verdict = variant.surface, variant.verdict
    known = surface.known[0][surface.resolved[0] & np.isfinite(surface.known[0])]
    errors = surface.gaussian_error[0][surface.resolved[0]]
    sign = "K > 0" if verdict.positive else "K < 0" if verdict.negative else "K = 0"
    known_sign = verdict.proof is not None or verdict.one_sign is not None

    def of(values: np.ndarray, which: Callable[[np.ndarray], float], text: Callable) -> str:
        return text(float(which(values))) if values.size else "none"

    flat = bool(surface.proved_zero[0])
    return {
        "Least K known": "0 (proved)" if flat else of(known, np.min, short),
        "Greatest K known": "0 (proved)" if flat else of(known, np.max, short),
        "Error bound of K, median": of(errors, np.median, error_text),
        "Error bound of K, largest": of(errors, np.max, error_text),
        "Unresolved points": percent(verdict.unresolved),
        "Area with K > 0": percent(verdict.positive),
        "Area with K < 0": percent(verdict.negative),
        "Area with K = 0": percent(verdict.flat),
        "Undetermined area": percent(verdict.undetermined),
        "Proved on the whole chart": sign if known_sign else "nothing",
    } | {title: _integral(name, variant, totals) for name, title in INTEGRALS.items()}


def _integral(name: str, variant: MeasuredInstance, totals: SurfaceIntegrals | None) -> str:
    """The refined integral; the total curvature is the one that stands over the surface."""
    if totals is None:
        return "…"
    x: Integral = getattr(totals, name)
    if name == "absolute":
        x = best_total(variant, totals) or x
    text = plus_minus(float(x.value), float(x.error), -math.inf if name == "gaussian" else 0.0)
    if not bool(x.resolved):
        return f"{text} (lower estimate: some points are unresolved)"
    return text if bool(x.finished) else f"{text} (refined to {x.points:,} points)"


# --- Charts ---------------------------------------------------------------------------------------


def histogram(variants: Sequence[MeasuredInstance]) -> go.Figure:
    """Share of each curved surface's area by K, in equal bins of asinh(K / median |K|).

    Area with K = 0 is a bar at zero; hatched is what is undetermined.
    """
    sizes = np.concatenate([np.abs(x.surface.gaussian[abs(x.surface.sign) == 1]) for x in variants])
    typical = max(float(np.median(sizes)) if sizes.size else 1.0, np.finfo(float).tiny)
    end = float(np.arcsinh(sizes.max(initial=typical) / typical))
    edges = np.linspace(-end, end, 2 * BINS + 1) * (1 + 1e-12)
    middles, traces = (edges[1:] + edges[:-1]) / 2, []
    for name, variant in zip(VARIANT_NAMES, variants, strict=False):
        surface, verdict = variant.surface, variant.verdict
        if verdict.without_curvature and len(variants) > 1:
            continue  # one bar of 100 % would hide the other surface
        decided = abs(surface.sign[0]) == 1
        area = np.nan_to_num(surface.area_element[0]) * surface.quadrature
        place = np.arcsinh(surface.gaussian[0][decided] / typical)
        shares = np.histogram(place, edges, weights=area[decided] / (area.sum() or 1.0))[0]
        limits = typical * np.sinh(edges)
        labels = [f"K from {a:.3g} to {b:.3g}" for a, b in pairwise(limits)]
        traces.append(bars(name, middles, shares, colour=COLOURS[name], labels=labels))
        zeros = {"K = 0": (verdict.flat, False), "undetermined": (verdict.undetermined, True)}
        for what, (share, hatched) in zeros.items():
            if share:
                bar = bars(f"{name}, {what}", [0.0], [share], colour=COLOURS[name], hatched=hatched)
                traces.append(bar | {"width": edges[1] - edges[0]})
    marks = [typical * math.sinh(share * end) for share in (0.4, 0.7, 1.0)]
    places = [math.asinh(x / typical) for x in marks]
    ticks = {"tickvals": [*(-x for x in places), 0, *places],
             "ticktext": [*(f"−{tick_text(x)}" for x in marks), "0", *map(tick_text, marks)],
             "zeroline": False}  # fmt: skip
    return chart("Share of the area by K", traces, "K (1 / length²)", "share of area", height=340,
                 x_axis=ticks, y_axis={"tickformat": ".0%"}, barmode="overlay",
                 bargap=0)  # fmt: skip


def error_chart(found: ErrorCurve, variant: MeasuredInstance) -> go.Figure:
    """Draw the error of K by differences over their step, beside the bound of exact derivatives."""
    trace = error_line("differences", found, palette.CLASS_COLOURS[0], "circle")
    figure = chart("Error of K by finite differences", [trace], "step (chart)",
                   "error of K (1 / length²)", height=340, x_axis=log_axis(),
                   y_axis=log_axis(decades=None), showlegend=False)  # fmt: skip
    bounds = variant.surface.gaussian_error[0][variant.surface.resolved[0]]
    bound = float(np.median(bounds)) if bounds.size else 0.0
    return mark_y(figure, bound, "bound of exact derivatives, median") if bound > 0 else figure


def error_line(name: str, found: ErrorCurve, colour: str, symbol: str) -> Trace:
    """Return a line of medians, with bars up to the 95 % quantile, for a logarithmic axis."""
    median, high = (
        np.where(np.isfinite(x) & (x > 0), x, np.nan) for x in (found.median, found.high)
    )
    above = np.nan_to_num(high - median)
    half = np.stack([np.zeros_like(above), above])
    return line(name, found.x, median, half, colour=colour, symbol=symbol)


def differences_text(found: ErrorCurve) -> str:
    """Say at which step the differences are best, and how good."""
    if not np.isfinite(found.median).any():
        return "Finite differences give no K here."
    best = int(np.nanargmin(found.median))
    return (
        f"K by finite differences is best at a step of {found.x[best]:.2g}: its median error is"
        f" {error_text(float(found.median[best]))}."
    )


# --- What is proved -------------------------------------------------------------------------------


def _compared(
    variants: Sequence[MeasuredInstance], refined: Sequence[SurfaceIntegrals | None]
) -> tuple[list[Compared], Code]:
    compared = []
    for name, variant, totals in zip(VARIANT_NAMES, variants, refined, strict=False):
        instance = variant.instance
        surface = ProvableSurface(instance, chart_of(instance), instance.covariance)
        known = {} if totals is None else {x: getattr(totals, x) for x in ("gaussian", "area")}
        if (total := best_total(variant, totals)) is not None:
            known["absolute"] = total
        compared.append(Compared(name, surface, known, variant.surface))
    return compared, code_of(variants[-1].instance)
