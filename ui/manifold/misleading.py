"""Misleading pictures, each beside the number that corrects it.

A case is a row of `CASES`: a function that computes its picture, its number and the numbers in its
texts, and the request whose left model that is. The texts stand in ``assets/lessons/manifold.md``.
Shapes: R x C grid points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.attention import WeightChart, through_logs
from gating_core.experiments.instance import (
    ModelInstance,
    build_instance,
    chart_of,
    measure_instance,
)
from gating_core.geometry import (
    DIFFERENCE_STEP,
    SURFACES,
    SurfaceResult,
    adaptive_integrals,
    difference_curvature,
    measure_surface,
    square_grid,
    stretched_sphere,
)
from ui.common.charts import Charts, in_type_of_page
from ui.common.explanations import beats, explain
from ui.common.formatting import error_text, figures, percent, plus_minus
from ui.common.lessons import section
from ui.common.links import LINK
from ui.drawing import palette
from ui.drawing.chart_map import chart_map, plane_line
from ui.drawing.colours import QUANTILE, ColourScale, scale_of
from ui.drawing.lines import grid_lines
from ui.drawing.panels import CHART_NAMES
from ui.manifold.model import ManifoldRequest, resolve
from ui.manifold.shared import show_model
from ui.work import pool
from ui.work.cache import cached

SIZE = 61
GRID = square_grid(SIZE)
SMALL_STEP = 1e-7  # in the chart: of the size that suits one-sided first differences
TOLERANCE = 0.02  # of the total curvature
STRETCH = 2.0  # how much longer a unit of the upright axis is drawn
CAP = 3.0  # half the chart's side for the stretched sphere: it reaches 72 degrees from the pole
SPHERE = SURFACES["sphere by gating"].chart
HEIGHT_PIXELS = 430
BRIGHT, DARK = palette.SIGNED_SCALE[-2][1], palette.SIGNED_SCALE[-1][1]
Fields = dict[str, object]  # numbers in the texts beside a picture
Made = tuple[go.Figure, str, Fields]  # a picture, the number that says otherwise, and those


@dataclass(frozen=True, eq=False)
class MisleadingPicture:
    """A picture and a number with its doubt, and the texts of a section of the lesson, in order.

    ``lie`` is a short clause that goes on after "The picture says:". ``drawn``, ``formula`` and
    ``look_for`` explain the picture; ``reasons`` are two sentences. ``fields`` are the numbers in
    the texts; ``flat`` says that the surface of the model is.
    """

    figure: go.Figure
    number: str
    fields: Fields
    flat: bool
    reasons: tuple[str, ...]
    title: str
    lie: str
    number_name: str
    doubt: str
    drawn: str
    formula: str
    look_for: str


@dataclass(frozen=True)
class Case:
    """``text`` is the section of the lesson; ``request`` the model, if the page can show it."""

    text: str
    make: Callable[[], Made] | Callable[[ModelInstance], Made]
    request: ManifoldRequest | None = None


def misleading_picture(name: str) -> MisleadingPicture:
    """Compute the case called ``name``, a key of `CASES`."""
    case = CASES[name]
    models = [] if case.request is None else [resolve(case.request).variants[0]]
    figure, number, fields = case.make(*models)
    texts = section("manifold", case.text, **fields).split("\n\n")
    flat = any(measure_instance(model, SIZE).surface.flat[0] for model in models)
    return MisleadingPicture(figure, number, fields, flat, tuple(texts[7:]), *texts[:7])


# --- Figures --------------------------------------------------------------------------------------


def quantity_map(
    axis: np.ndarray,
    field: np.ndarray,
    scale: ColourScale,
    symbol: str,
    names: tuple[str, str] = CHART_NAMES["inputs"],
    signed: np.ndarray | None = None,
) -> go.Figure:
    """``field`` (R, C) over the chart on this ``scale``, with the scale's numbers below it."""
    low, high = scale.low, scale.high
    beyond = f" ({percent(scale.beyond)} of points beyond)" if scale.beyond else ""
    bar = {
        "title": {"text": symbol + beyond, "side": "top"}, "orientation": "h", "y": -0.24,
        "yanchor": "top", "thickness": 12, "len": 0.8, "tickvals": [0, 0.5, 1],
        "ticktext": [_tick(x, scale.log) for x in (low, (low + high) / 2, high)],
    }  # fmt: skip
    layout = _layout(l=45, r=10, t=12, b=122)
    return chart_map(field, axis, scale, symbol, names, bar, layout, signed=signed)


def _tick(x: float, log: bool) -> str:
    return (figures(10**x, 1) if log else figures(x)).replace("-", "−")


def _layout(**margin: int) -> dict[str, Any]:
    return {"height": HEIGHT_PIXELS, "margin": margin, "showlegend": False}


def side_view(surface: SurfaceResult, stretch: float) -> go.Figure:
    """Grid lines and middle section in the plane of y1 and y3, the latter ``stretch``-fold."""
    values = surface.values[0]
    lines, section = grid_lines(values[None])[0], values[len(values) // 2]
    square = {"zeroline": False, "dtick": 0.2, "constrain": "domain"}
    return go.Figure(
        {
            "data": plane_line(lines[:, [0, 2]], {"color": palette.PLANE, "width": 1})
            + plane_line(section[:, [0, 2]], {"color": BRIGHT, "width": 4}, "cross-section"),
            "layout": _layout(l=50, r=10, t=20, b=45)
            | {
                "xaxis": square | {"title": {"text": "y<sub>1</sub>"}},
                "yaxis": square
                | {"title": {"text": "y<sub>3</sub>"}, "scaleanchor": "x", "scaleratio": stretch},
            },
        }
    )


def globe(surface: SurfaceResult, radius: float) -> go.Figure:
    """A piece of a sphere about the origin, seen from outside, with the outline of the ball."""
    values = surface.values[0]
    towards = values.mean((0, 1)) / np.linalg.norm(values.mean((0, 1)))
    across = np.linalg.svd(towards[None])[2][1:].T  # (3, 2): a basis of the plane of the screen
    seen = values @ across
    rim = np.concatenate([seen[0], seen[:, -1], seen[-1, ::-1], seen[::-1, 0]])
    turn = np.linspace(0, 2 * np.pi, 181)
    outline = radius * np.stack([np.cos(turn), np.sin(turn)], -1)
    piece = plane_line(rim, {"color": BRIGHT, "width": 3})
    bare = {"visible": False, "constrain": "domain"}
    return go.Figure(
        {
            "data": plane_line(outline, {"color": palette.PLANE, "width": 2})
            + [trace | {"fill": "toself", "fillcolor": BRIGHT} for trace in piece]
            + plane_line(grid_lines(seen[None])[0], {"color": DARK, "width": 1.2}),
            "layout": _layout(l=10, r=10, t=20, b=20)
            | {
                "xaxis": bare,
                "yaxis": bare | {"scaleanchor": "x"},
            },
        }
    )


# --- What several cases need ----------------------------------------------------------------------


def _k_map(surface: SurfaceResult, field: np.ndarray, zero_line: bool = False) -> go.Figure:
    """K (R, C) on the scale that the page would give it alone."""
    scale = scale_of("curvature", [field], asinh=False)
    return quantity_map(surface.axis, field, scale, "K", signed=field if zero_line else None)


def _resolved(surface: SurfaceResult) -> np.ndarray:
    """(R, C): K, NaN where the tangent plane is unresolved."""
    return surface.gaussian_where(surface.resolved)[0]


def _bound(surface: SurfaceResult, factor: float = 1.0) -> str:
    return error_text(float(surface.largest_error[0]) * factor)


def largest_text(surface: SurfaceResult, factor: float = 1.0) -> str:
    """Say what bounds |K| where the surface is flat, else the largest |K|; times ``factor``."""
    if surface.flat[0]:
        return f"at most {_bound(surface, factor)}"
    return figures(float(surface.largest_curvature[0]) * factor)


def _verdict(surface: SurfaceResult) -> str:
    if surface.flat[0]:
        return "|K| is nowhere above its bound"
    return f"|K| is above its bound on {percent(surface.decided.mean())} of the points"


def _constant_k(surface: SurfaceResult) -> tuple[float, float, str, Fields]:
    """The least and the largest K where it is the same everywhere, as a text, and its doubt."""
    field = _resolved(surface)
    low, high = float(np.nanmin(field)), float(np.nanmax(field))
    doubt: Fields = {"spread": figures((high - low) / high, 1), "bound": _bound(surface)}
    return low, high, f"{low:.5g} to {high:.5g}", doubt


# --- The cases ------------------------------------------------------------------------------------


def _curved_slice(instance: ModelInstance) -> Made:
    measured = measure_instance(instance, SIZE)
    surface, weights = measured.surface, chart_of(replace(instance, chart="weights"))
    assert isinstance(weights, WeightChart)
    whole = measure_surface(through_logs(weights), GRID)
    return _k_map(surface, _resolved(surface), zero_line=True), largest_text(whole), {
        "largest": figures(float(surface.largest_curvature[0])), "verdict": _verdict(whole),
        "values": instance.config.value_count, "dim": instance.config.model_dim,
        "hull": measured.hull_dimension, "flat": figures(np.abs(whole.gaussian).max(), 1),
        "bound": _bound(whole),
    }  # fmt: skip


def _own_scale(instance: ModelInstance) -> Made:
    surface = measure_instance(instance, SIZE).surface
    field = _resolved(surface)
    sizes, largest = np.abs(field), float(np.nanmax(np.abs(field)))
    end = float(np.nanquantile(sizes, QUANTILE))
    scale = ColourScale(palette.SIGNED_SCALE, -end, end, beyond=float((sizes > end).mean()))
    squared = float(surface.diameter[0]) ** 2
    figure = quantity_map(surface.axis, field, scale, "K")
    return figure, largest_text(surface, squared), {
        "domes": percent(float((field > 0).mean())), "saddles": percent(float((field < 0).mean())),
        "verdict": _verdict(surface), "end": figures(end, 1), "quantile": percent(QUANTILE),
        "floor": figures(palette.COLOUR_RANGE_FLOOR), "largest": figures(largest, 1),
        "bound": _bound(surface), "squared": figures(squared),
        "without_unit": figures(largest * squared, 1),
    }  # fmt: skip


def _small_step(instance: ModelInstance) -> Made:
    model = build_instance(instance)
    surface = measure_surface(model, GRID)
    field, better = (
        difference_curvature(model, GRID.points, step).reshape(SIZE, SIZE).numpy()
        for step in (SMALL_STEP, DIFFERENCE_STEP)
    )
    total = float((np.abs(field) * surface.area_element[0] * GRID.weights.numpy()).sum())
    rounding = np.finfo(float).eps / 2
    return _k_map(surface, field), largest_text(surface), {
        "largest": figures(np.abs(field).max(), 2), "total": figures(total, 2),
        "verdict": _verdict(surface), "step": figures(SMALL_STEP, 1),
        "better_step": figures(DIFFERENCE_STEP, 1), "better": figures(np.abs(better).max(), 1),
        "rounding": figures(rounding, 1), "grown": figures(rounding / SMALL_STEP**2, 1),
        "better_grown": figures(rounding / DIFFERENCE_STEP**2, 1),
    }  # fmt: skip


def _saturated(instance: ModelInstance) -> Made:
    chart = chart_of(instance)
    surface = measure_surface(chart, GRID)
    sizes = np.abs(surface.gaussian_where(surface.decided)[0])
    total = adaptive_integrals(chart, None, TOLERANCE, "rigorous").absolute
    largest, value = float(surface.largest_curvature[0]), float(total.value)
    low, high = (float(np.log10(end(sizes))) for end in (np.nanmin, np.nanmax))
    scale = ColourScale(palette.SEQUENTIAL_SCALE, low, high, log=True)
    number = ("" if bool(total.complete) else "at least ") + plus_minus(value, float(total.error))
    return quantity_map(surface.axis, sizes, scale, "|K|"), number, {
        "largest": figures(largest, 1), "sphere": figures(4 * math.pi),
        "values": instance.config.value_count, "sharpness": f"{instance.sharpness:g}",
        "open": percent(np.isnan(sizes).mean()), "total": figures(value),
        "radius": figures(largest**-0.5, 1), "middle": figures(float(np.nanmedian(sizes)), 1),
    }  # fmt: skip


def _stretched_axes() -> Made:
    grid = square_grid(SIZE, -CAP, CAP)
    surface = measure_surface(SPHERE, grid)
    drawn = np.abs(measure_surface(stretched_sphere(STRETCH), grid).gaussian)
    least, most = drawn.min(), drawn.max()
    _, high, number, doubt = _constant_k(surface)
    return side_view(surface, STRETCH), number, doubt | {
        "times": f"{most / least:.0f}", "stretch": f"{STRETCH:g}", "k": f"{high:.5g}",
        "radius": f"{high**-0.5:.3g}", "least": figures(least, 2), "most": figures(most, 2),
    }  # fmt: skip


def _no_zero() -> Made:
    surface = measure_surface(SPHERE, GRID)
    field = _resolved(surface)
    low, high, number, doubt = _constant_k(surface)
    scale = ColourScale(palette.SEQUENTIAL_SCALE, low, high)
    return (
        quantity_map(surface.axis, field, scale, "K", CHART_NAMES["weights"]),
        number,
        doubt
        | {
            "low": repr(low),
            "high": repr(high),
            "count": len(np.unique(field)),
            "digit": figures(np.spacing(high), 1),
        },
    )


def _normalised(instance: ModelInstance) -> Made:
    surface = measure_instance(instance, SIZE).surface
    dim, k = instance.config.model_dim, surface.gaussian[0]
    gap = np.abs(k - 1 / dim)
    within = bool((gap <= surface.gaussian_error[0]).all() and surface.resolved.all())
    number = f"at most {_bound(surface)}" if within else f"up to {figures(gap.max())}"
    return globe(surface, math.sqrt(dim)), number, {
        "share": percent(float(surface.shares.positive[0])), "dim": dim,
        "gate": "without" if instance.config.gate is None else "with",
        "off": error_text(gap.max()), "length": f"{math.sqrt(dim):.4g}", "k": f"{1 / dim:.4g}",
        "least": f"{k.min():.10g}", "most": f"{k.max():.10g}",
    }  # fmt: skip


CASES: dict[str, Case] = {
    "flat space, curved slice": Case(
        "lie_curved_slice", _curved_slice, ManifoldRequest(value_count=6, seed=17)
    ),
    "noise on its own scale": Case("lie_own_scale", _own_scale, ManifoldRequest(seed=134)),
    "step too small": Case("lie_small_step", _small_step, ManifoldRequest(seed=11)),
    "saturated softmax": Case(
        "lie_saturated", _saturated, ManifoldRequest(value_count=6, seed=17, sharpness=20.0)
    ),
    "stretched axes": Case("lie_stretched_axes", _stretched_axes),
    "colours without zero": Case("lie_no_zero", _no_zero),
    "normalisation": Case("lie_normalised", _normalised, ManifoldRequest(norm="post", seed=318)),
}


@cached("Computing the picture and the number …")
def picture(name: str) -> MisleadingPicture:
    """Compute the case called ``name`` once."""
    return pool.POOL.call(misleading_picture, name)


def draw() -> None:
    """Draw one case, and the choice among all."""
    name = choose()
    case = picture(name)
    st.subheader(case.title, anchor=False)
    left, right = st.columns(2, gap="large")
    with left:
        saved = Charts("misleading")
        saved.figures[name] = draw_lie(name, case)
        saved.offer()
        misread = f"It seems to say: {case.lie}. {' '.join(case.reasons)}"
        explain("the misleading picture", beats(case.drawn, case.formula, case.look_for, misread))
    with right:
        draw_number(case)
        if (request := CASES[name].request) is not None:
            st.button(
                "Show this model on the page",
                icon=":material/visibility:",
                key=f"misleading_show_{name}",
                on_click=show_model,
                args=(request,),
            )


def choose() -> str:
    """Draw the choice among all cases."""
    return st.radio("Which one?", [*CASES], key="fooled", horizontal=True, **LINK)


def draw_lie(
    name: str, case: MisleadingPicture, alt: str = "", height: int = HEIGHT_PIXELS
) -> go.Figure:
    """Draw and return the picture, and what it seems to say.

    ``alt``: a text that does not say the number.
    """
    st.markdown(f"**The picture says:** {case.lie}.")
    alt = alt or (
        f"{case.title}. The picture says: {case.lie}. The number says: {case.number_name}"
        f" {case.number}."
    )
    figure = go.Figure(case.figure).update_layout(height=height)
    st.plotly_chart(
        in_type_of_page(figure), alt=alt, key=f"misleading_{name}", config={"displayModeBar": False}
    )
    return figure


def draw_number(case: MisleadingPicture) -> None:
    """Draw the number that corrects the picture, and why."""
    st.markdown("**The number says:**")
    st.metric(case.number_name, case.number)
    st.caption(case.doubt)
    for reason in case.reasons:
        st.markdown(reason)
