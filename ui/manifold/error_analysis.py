"""The tab Error analysis: proofs, bounds, integrals, K by area, and second opinions."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.experiments import cost
from gating_core.experiments.instance import MeasuredInstance, ModelInstance, chart_of
from gating_core.geometry import (
    HOLONOMY_LIMIT,
    TANGENT_ERROR_LIMIT,
    Integral,
    SecondOpinion,
    SurfaceIntegrals,
    Verdict,
    opinion_evaluations,
    second_opinion,
    square_grid,
)
from ui.common.charts import Charts
from ui.common.explanations import draw_explanation
from ui.common.formatting import error_text, percent, plus_minus, short
from ui.common.lessons import section
from ui.common.links import LINK
from ui.drawing import palette
from ui.drawing.panels import CHART_NAMES
from ui.limits import CACHED_FIGURES, OPINION_COST
from ui.manifold.error_charts import curvature_histogram, error_curves, error_maps
from ui.manifold.model import Resolved
from ui.manifold.shared import TOTALS, VARIANT_NAMES, Result, best_total, watch_totals
from ui.proved.section import Code, Compared, ProvableSurface, draw_proofs, short_code
from ui.work import pool
from ui.work.cache import cached

IMPORTS = """\
from gating_core.attention import AttentionConfig, GateConfig
from gating_core.experiments.instance import ModelInstance, chart_of"""
REFINED = ("absolute", "gaussian", "area")
COLOURS = dict(zip(VARIANT_NAMES, palette.SIDE_COLOURS.values(), strict=True))
INTEGRALS = {
    "area": "Area ∫dA (length²)",
    "absolute": "Total curvature ∫|K| dA",
    "positive": "Its positive part ∫max(K, 0) dA",
    "gaussian": "∫K dA",
    "holonomy": "∫K dA once more, by holonomy",
}
STEPS = [f"1e-{power}" for power in range(7, 0, -1)]
TOO_LARGE = section("manifold", "too_large")
SIGNED = ("gaussian", "holonomy")  # integrals that may be negative
MAPS = {
    "exact_K": "Exact K over the chart.",
    "error_of_differences": "How far finite differences are off over the chart.",
    "error_of_mesh": "How far the mesh is off over the chart.",
}


@cached("Measuring in other ways …")
def opinion(instance: ModelInstance, grid: int, step: float) -> SecondOpinion:
    """Measure K of an instance by finite differences and by a mesh, and the paper's proxy."""
    return pool.POOL.call(_opinion, instance, grid, step, rank=pool.Rank.BRIEF)


@st.cache_resource(max_entries=CACHED_FIGURES, show_spinner=False)
def figures(key: Hashable, _make: Callable[[], list[go.Figure]]) -> list[go.Figure]:
    """Return what ``_make`` draws; ``key`` names the figures and all that they depend on."""
    # Plotly imports pandas when it first draws; two threads at once would see half of it. Imported
    # here and not above: it takes a third of a second, and no first picture needs it.
    import pandas  # noqa: F401

    return _make()


def _opinion(instance: ModelInstance, grid: int, step: float) -> SecondOpinion:
    return second_opinion(chart_of(instance), square_grid(grid), step, instance.covariance)


def draw(result: Result) -> None:
    """Draw what the tab shows below the covariance."""
    resolved, variants = result.resolved, result.variants
    charts = Charts("error_analysis")
    draw_proofs(lambda: _compared(variants), CHART_NAMES[variants[-1].instance.chart])
    st.subheader("Bounds", anchor=False)
    columns = [_bounds(variant) for variant in variants]
    # One column for each variant: on a telephone ten columns would be cut off.
    table = {"On the grid": list(columns[0])}
    table |= {n: list(x.values()) for n, x in zip(VARIANT_NAMES, columns, strict=False)}
    st.table(table)
    charts.tables["bounds"] = table
    st.caption(section("manifold", "bounds", limit=f"{TANGENT_ERROR_LIMIT:g}"))
    st.subheader("Integrals", anchor=False)
    instances = tuple(variant.instance for variant in variants)
    watch_totals(
        instances,
        lambda totals: _draw_integrals(
            [_as_in_captions(x, totals.get(x.instance)) for x in variants], charts
        ),
    )
    st.subheader("Where the curvature sits", anchor=False)
    _draw_histogram(variants, resolved.grid, charts)
    st.subheader("Second opinion", anchor=False)
    _draw_opinion(resolved, variants, charts)
    charts.offer()


def _as_in_captions(
    variant: MeasuredInstance, totals: SurfaceIntegrals | None
) -> SurfaceIntegrals | None:
    """The refined integrals with the total curvature that captions show: one number everywhere."""
    if totals is None:
        return None
    return replace(totals, absolute=best_total(variant, totals) or totals.absolute)


def _draw_integrals(totals: list[SurfaceIntegrals | None], charts: Charts) -> None:
    charts.tables["integrals"] = _integrals_table(totals)
    st.table(charts.tables["integrals"])
    if totals[-1] is not None:
        _explain_integrals(VARIANT_NAMES[len(totals) - 1], totals[-1])


def _explain_integrals(name: str, totals: SurfaceIntegrals) -> None:
    gaussian, holonomy = (
        (float(x.value), float(x.error)) for x in (totals.gaussian, totals.holonomy)
    )
    gap = abs(gaussian[0] - holonomy[0])
    within = gap <= gaussian[1] + holonomy[1]
    draw_explanation(
        "manifold",
        "the integrals",
        "integrals",
        limit=f"{HOLONOMY_LIMIT:g}",
        variant=name,
        gaussian=plus_minus(*gaussian),
        holonomy=plus_minus(*holonomy),
        gap=short(gap),
        agree="within their errors" if within else "more than their errors allow",
    )


def _bounds(variant: MeasuredInstance) -> dict[str, str]:
    verdict = variant.verdict
    return {
        "Least K known": _extreme(variant, np.min),
        "Greatest K known": _extreme(variant, np.max),
        "Bound of K, median": _error(variant, np.median),
        "Bound of K, largest": _error(variant, np.max),
        "Unresolved points": percent(verdict.unresolved),
        "Area with K > 0": percent(verdict.positive),
        "Area with K < 0": percent(verdict.negative),
        "Flat area": percent(verdict.flat),
        "Undetermined area": percent(verdict.undetermined),
        "Proved on the whole chart": proved_sign(verdict),
    }


def proved_sign(verdict: Verdict) -> str:
    """Return the sign of K that a theorem proves everywhere, if one does."""
    if verdict.proof is not None:
        return "K = 0"
    if verdict.one_sign is None:
        return "nothing"
    return "K > 0" if verdict.positive else "K < 0"


def _extreme(variant: MeasuredInstance, which: Callable[[np.ndarray], float]) -> str:
    """Of what is known: where K is proved to be zero, its digits are rounding."""
    if not variant.surface.resolved.any():
        return "none"
    known = variant.surface.known[0]
    if variant.surface.proof[0]:
        return "0 (proved)"
    finite = known[np.isfinite(known)]
    return short(float(which(finite))) if finite.size else "not known"


def _error(variant: MeasuredInstance, which: Callable[[np.ndarray], float]) -> str:
    resolved = variant.surface.resolved[0]
    errors = variant.surface.gaussian_error[0][resolved]
    return error_text(float(which(errors))) if resolved.any() else "none"


def _integrals_table(totals: list[SurfaceIntegrals | None]) -> dict[str, list[str]]:
    """The table; "…" where a total is not refined yet."""
    table: dict[str, list[str]] = {"Integral": list(INTEGRALS.values())}
    for name, total in zip(VARIANT_NAMES, totals, strict=False):
        table[name] = ["…" if total is None else _integral(x, total) for x in INTEGRALS]
    left, right = totals[0], totals[-1]
    if len(totals) == 2 and left is not None and right is not None:
        table["Difference"] = [_difference(getattr(left, x), getattr(right, x)) for x in INTEGRALS]
    return table


def _integral(name: str, total: SurfaceIntegrals) -> str:
    x: Integral = getattr(total, name)
    least = -math.inf if name in SIGNED else 0.0
    text = plus_minus(float(x.value), float(x.error), least)
    return text if bool(x.complete) else f"{text} (lower estimate: some points are unresolved)"


def _difference(left: Integral, right: Integral) -> str:
    if not (bool(left.complete) and bool(right.complete)):
        return "unknown: one of them is a lower estimate"
    return plus_minus(float(right.value - left.value), float(left.error + right.error))


def _draw_histogram(variants: list[MeasuredInstance], grid: int, charts: Charts) -> None:
    surfaces = {n: x.surface for n, x in zip(VARIANT_NAMES, variants, strict=False)}
    key = "histogram", grid, tuple(variant.instance for variant in variants)
    (figure,) = figures(key, lambda: [curvature_histogram(surfaces, COLOURS)])
    charts.figures["histogram"] = figure
    st.plotly_chart(
        figure,
        alt="Share of each surface's area over Gaussian curvature; hatched: undetermined.",
        key="histogram",
    )
    names = ("positive", "negative", "flat", "undetermined")
    shares = {name: percent(getattr(variants[-1].verdict, name)) for name in names}
    draw_explanation("manifold", "the histogram", "histogram", **shares)


def _draw_opinion(resolved: Resolved, variants: list[MeasuredInstance], charts: Charts) -> None:
    left, right = st.columns(2)
    whose = ("ungated", "gated")[: len(variants)]
    chosen = left.radio(
        "Of which model", whose, len(whose) - 1, key="whose", horizontal=True, **LINK
    )
    step = float(
        right.select_slider("Step of the finite differences", STEPS, "1e-4", key="step", **LINK)
    )
    instance, grid = variants[whose.index(chosen)].instance, resolved.grid
    config = instance.config
    if cost(config) * opinion_evaluations(grid, config.model_dim) > OPINION_COST:
        st.info(TOO_LARGE, icon=":material/hourglass_disabled:")
        return
    second = opinion(instance, grid, step)
    *maps, curves = figures(
        ("opinion", instance, grid, step),
        lambda: [*error_maps(second), error_curves(second.curves, step)],
    )
    with st.container(horizontal=True):
        for n, (name, figure) in enumerate(zip(MAPS, maps, strict=False)):
            charts.figures[name] = figure
            st.plotly_chart(figure, alt=MAPS[name], key=f"error_map_{n}", width="content")
    alt = "Error against step or grid spacing, on logarithmic axes."
    charts.figures["error_curves"] = curves
    st.plotly_chart(curves, alt=alt, key="error_curves")
    at_step, limit = f"{second.proxy_mean:.6g}", f"{second.proxy_limit:.6g}"
    st.caption(section("manifold", "proxy", at_step=at_step, limit=limit))
    if second.mesh is None:
        st.caption("PyVista's discrete curvature needs a surface in three dimensions.")
    with st.container(horizontal=True):
        written = f"{step:.0e}"
        rounding = f"{1e-16 / step**2:.0e}"
        draw_explanation("manifold", "the maps", "error_maps", step=written, rounding=rounding)
        draw_explanation("manifold", "the error curves", "error_curves", step=written)


# --- What is proved -------------------------------------------------------------------------------


def _compared(variants: Sequence[MeasuredInstance]) -> tuple[list[Compared], Code]:
    compared = [
        Compared(name, surface_of(each.instance), estimates(each), each.surface)
        for name, each in zip(VARIANT_NAMES, variants, strict=False)
    ]
    return compared, code_of(variants[-1].instance)


def code_of(instance: ModelInstance) -> Code:
    """Return Python that makes the surface of an instance."""
    return IMPORTS, f"surface = chart_of({short_code(instance)})"


def surface_of(instance: ModelInstance) -> ProvableSurface:
    """Return what is proved of an instance."""
    return ProvableSurface(instance, chart_of(instance), instance.covariance)


def estimates(variant: MeasuredInstance) -> dict[str, Integral]:
    """Return the estimated integrals that are there: refined ones, or the grid's total."""
    refined = TOTALS.cached((variant.instance,)).get(variant.instance)
    known = {} if refined is None else {name: getattr(refined, name) for name in REFINED}
    total = best_total(variant, refined)
    return known | ({} if total is None else {"absolute": total})
