"""The tab Error analysis: bounds, integrals, proofs, K by area, and other ways to measure K."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.experiments import cost
from gating_core.experiments.instance import MeasuredInstance, ModelInstance, chart_of
from gating_core.geometry import (
    FLAT,
    HOLONOMY_LIMIT,
    TANGENT_ERROR_LIMIT,
    Integral,
    SecondOpinion,
    SurfaceIntegrals,
    opinion_evaluations,
    second_opinion,
    square_grid,
)
from ui.common.charts import Charts, Trace, bars, chart, heatmap, line, log_axis, mark_x
from ui.common.formatting import error_text, percent, plus_minus, short, tick_text
from ui.common.lessons import section
from ui.common.links import LINK
from ui.drawing import palette
from ui.drawing.panels import CHART_NAMES
from ui.limits import OPINION_COST
from ui.manifold.shared import VARIANT_NAMES, Result, best_total, code_of, totals_of
from ui.proved.code import Code
from ui.proved.section import Compared, ProvableSurface, draw_proofs
from ui.work import pool
from ui.work.cache import cached

COLOURS = dict(zip(VARIANT_NAMES, palette.SIDE_COLOURS.values(), strict=True))
INTEGRALS = {
    "area": "Area ∫dA (length²)",
    "absolute": "Total curvature ∫|K| dA",
    "positive": "Its positive part ∫max(K, 0) dA",
    "gaussian": "∫K dA",
    "holonomy": "∫K dA once more, by holonomy",
}
SIGNED = ("gaussian", "holonomy")  # integrals that may be negative
STEPS = [f"1e-{power}" for power in range(7, 0, -1)]
BINS = 20  # of each sign of K
STYLES = {
    "differences, float64": (palette.CLASS_COLOURS[0], "circle"),
    "differences, float32": (palette.CLASS_COLOURS[1], "square"),
    "triangle mesh": (palette.ACCENT, "diamond"),
    "paper's proxy": (palette.PLANE, "cross"),
}


@cached("Measuring in other ways …")
def opinion(instance: ModelInstance, grid: int, step: float) -> SecondOpinion:
    """Measure K of an instance by finite differences and by a mesh, and the paper's proxy."""
    return pool.POOL.call(_opinion, instance, grid, step, rank=pool.Rank.BRIEF)


def _opinion(instance: ModelInstance, grid: int, step: float) -> SecondOpinion:
    return second_opinion(chart_of(instance), square_grid(grid), step, instance.covariance)


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
    which, how = st.columns(2)
    whose = which.radio("Of which surface", names, len(names) - 1, key="whose", horizontal=True,
                        **LINK)  # fmt: skip
    step = float(how.select_slider("Step of the finite differences", STEPS, "1e-4", key="step",
                                   **LINK))  # fmt: skip
    first, second = st.columns(2)
    charts.draw("histogram", first, histogram(variants), "Share of each surface's area by K.")
    instance, grid = variants[names.index(whose)].instance, result.resolved.grid
    config = instance.config
    if cost(config) * opinion_evaluations(grid, config.model_dim) > OPINION_COST:
        second.info(section("manifold", "too_large"), icon=":material/hourglass_disabled:")
    else:
        other = opinion(instance, grid, step)
        alt = "Error of K by other methods against step or grid spacing, both logarithmic."
        charts.draw("error_curves", second, error_curves(other, step), alt)
        for column, (name, field) in zip(st.columns(2), errors_of(other).items(), strict=False):
            title = f"Error of K by {name}"
            charts.draw(name, column, error_map(other.axis, field, title), f"{title} on the chart.")
        at_step, limit = f"{other.proxy_mean:.6g}", f"{other.proxy_limit:.6g}"
        st.caption(section("manifold", "proxy", at_step=at_step, limit=limit))
    charts.draw_footer(section("manifold", "errors", limit=f"{HOLONOMY_LIMIT:g}", step=f"{step:g}"))


# --- The table ------------------------------------------------------------------------------------


def known_of(variant: MeasuredInstance, totals: SurfaceIntegrals | None) -> dict[str, str]:
    """Return bounds, shares of the area, and integrals of a variant as text."""
    surface, verdict = variant.surface, variant.verdict
    known = surface.known[0][surface.resolved[0] & np.isfinite(surface.known[0])]
    errors = surface.gaussian_error[0][surface.resolved[0]]
    proved = "nothing" if verdict.one_sign is None else "K > 0" if verdict.positive else "K < 0"

    def of(values: np.ndarray, which: Callable[[np.ndarray], float], text: Callable) -> str:
        return text(float(which(values))) if values.size else "none"

    flat = bool(surface.proof[0])
    return {
        "Least K known": "0 (proved)" if flat else of(known, np.min, short),
        "Greatest K known": "0 (proved)" if flat else of(known, np.max, short),
        "Error bound of K, median": of(errors, np.median, error_text),
        "Error bound of K, largest": of(errors, np.max, error_text),
        "Unresolved points": percent(verdict.unresolved),
        "Area with K > 0": percent(verdict.positive),
        "Area with K < 0": percent(verdict.negative),
        "Flat area": percent(verdict.flat),
        "Undetermined area": percent(verdict.undetermined),
        "Proved on the whole chart": "K = 0" if verdict.proof is not None else proved,
    } | {title: _integral(name, variant, totals) for name, title in INTEGRALS.items()}


def _integral(name: str, variant: MeasuredInstance, totals: SurfaceIntegrals | None) -> str:
    """The refined integral; the total curvature is the one that stands over the surface."""
    if totals is None:
        return "…"
    x: Integral = getattr(totals, name)
    if name == "absolute":
        x = best_total(variant, totals) or x
    text = plus_minus(float(x.value), float(x.error), -math.inf if name in SIGNED else 0.0)
    if not bool(x.resolved):
        return f"{text} (lower estimate: some points are unresolved)"
    return text if bool(x.finished) else f"{text} (refined to {x.points:,} points)"


# --- Charts ---------------------------------------------------------------------------------------


def histogram(variants: Sequence[MeasuredInstance]) -> go.Figure:
    """Share of each curved surface's area by K, in equal bins of asinh(K / median |K|).

    Flat area is a bar at zero; hatched is what is undetermined.
    """
    sizes = np.concatenate([np.abs(x.surface.gaussian[x.surface.decided]) for x in variants])
    typical = max(float(np.median(sizes)) if sizes.size else 1.0, np.finfo(float).tiny)
    end = float(np.arcsinh(sizes.max(initial=typical) / typical))
    edges = np.linspace(-end, end, 2 * BINS + 1) * (1 + 1e-12)
    middles, traces = (edges[1:] + edges[:-1]) / 2, []
    for name, variant in zip(VARIANT_NAMES, variants, strict=False):
        surface, verdict = variant.surface, variant.verdict
        if verdict.word == FLAT and len(variants) > 1:
            continue  # one bar of 100 % would hide the other surface
        decided = surface.decided[0]
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
    y_axis = {"tickformat": ".0%"}
    return chart("Share of the area by K", traces, "K (1 / length²)", "share of area", height=340,
                 x_axis=ticks, y_axis=y_axis, barmode="overlay", bargap=0)  # fmt: skip


def errors_of(other: SecondOpinion) -> dict[str, np.ndarray]:
    """Return log10 of |K - exact K| (R, C) by method, not below the exact one's error."""
    scale = other.scale.value if math.isfinite(other.scale.value) else 1.0
    floor = np.maximum(other.exact_error, np.finfo(float).eps * scale)
    methods = {"differences": other.difference, "mesh": other.mesh}
    return {
        name: np.log10(np.where(other.resolved, np.maximum(np.abs(x - other.exact), floor), np.nan))
        for name, x in methods.items()
        if x is not None
    }


def error_map(axis: np.ndarray, field: np.ndarray, title: str) -> go.Figure:
    """Error over the chart, as powers of ten."""
    finite = field[np.isfinite(field)]
    low, high = (
        (math.floor(finite.min()), math.ceil(finite.max() + 1e-9)) if finite.size else (-1, 0)
    )
    decades = range(low, high + 1, max(1, (high - low) // 4))
    bar = {"tickvals": [*decades], "ticktext": [f"10<sup>{x}</sup>" for x in decades]}
    square = {"tickvals": [-1, 0, 1], "zeroline": False, "constrain": "domain"}
    trace = heatmap(field, low, high, palette.SEQUENTIAL_SCALE, x=axis, y=axis, showscale=True,
                    colorbar=bar | {"thickness": 12},
                    hovertemplate="(%{x:.2f}, %{y:.2f}): 10^%{z:.1f}<extra></extra>")  # fmt: skip
    return chart(title, [trace], "x<sub>1</sub>", "x<sub>2</sub>", height=340, x_axis=square,
                 y_axis=square | {"scaleanchor": "x"})  # fmt: skip


def error_curves(other: SecondOpinion, step: float) -> go.Figure:
    """Median relative error of K against step or grid spacing, its 95 % quantile as a bar."""
    traces: list[Trace] = []
    for curve in other.curves:
        colour, symbol = STYLES.get(curve.name, (palette.PLANE, "x"))
        median, high = (np.where(np.isfinite(x) & (x > 0), x, np.nan)
                        for x in (curve.median, curve.high))  # fmt: skip
        above = np.nan_to_num(high - median)
        half = np.stack([np.zeros_like(above), above])
        traces.append(line(curve.name, curve.x, median, half, colour=colour, symbol=symbol))
    figure = chart("Error of other methods", traces, "step or grid spacing (chart)",
                   "relative error of K", height=340, x_axis=log_axis(),
                   y_axis=log_axis(decades=None))  # fmt: skip
    return mark_x(figure, step, "step in use")


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
