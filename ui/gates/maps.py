"""Maps over the chart, and below the gallery the curvature formula at a point with its derivation.

These are Plotly charts, for folds and tabs: the gallery loads none of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

import gating_core.theory as theory
from gating_core.theory import BENT, FLAT
from ui.common.charts import Charts
from ui.common.formatting import error_text, percent, rough, short
from ui.common.lessons import section
from ui.drawing.chart_map import chart_map
from ui.drawing.colours import ColourScale, scale_of
from ui.gates.frames import GateFrame, GateRequest, measure_shares
from ui.gates.gallery import Result, ten_digits
from ui.gates.picture import causes_text, range_text
from ui.work import pool
from ui.work.cache import cached


def map_figure(
    field: np.ndarray,
    axis: np.ndarray,
    scale: ColourScale,
    symbol: str,
    signed: np.ndarray | None = None,
    error: np.ndarray | None = None,
) -> go.Figure:
    """Draw ``field`` (R, C) over the chart, hatched where it is NaN; see `chart_map`."""
    return chart_map(
        field,
        axis,
        scale,
        symbol,
        ("u", "v"),
        colour_bar(scale),
        map_layout(280),
        signed=signed,
        error=error,
        hatched=True,
    )


def map_layout(height: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 36, "r": 8, "t": 8, "b": 36},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
    }


def colour_bar(scale: ColourScale) -> dict[str, Any]:
    """The ends of the colours in the quantity's own unit, at shares of the scale."""
    low, high = map(rough, scale.ends)
    ticks = {0.0: low, 1.0: high}
    if scale.collapsed:
        ticks = {0.5: "0"}
    elif scale.low < 0 < scale.high:
        ticks |= {-scale.low / (scale.high - scale.low): "0"}
    return {
        "thickness": 8,
        "len": 0.9,
        "xpad": 2,
        "tickvals": list(ticks),
        "ticktext": list(ticks.values()),
    }


CHANNELS = ("y₁", "y₂", "y₃")
POINT_ROWS = {  # of the table of a point: a name of `curvature_terms_at`
    "g (in use)": "gate", "ρ = 1/g": "rho", "ρ_u": "rho_u", "ρ_v": "rho_v", "ρ_uu": "rho_uu",
    "ρ_uv": "rho_uv", "ρ_vv": "rho_vv", "det Hess ρ": "hessian", "ρ − uρ_u − vρ_v": "foot",
    "ρ_u² + ρ_v² + (…)²": "normal_square", "K": "gaussian",
}  # fmt: skip


@cached()
def sign_shares(request: GateRequest, strength: float) -> theory.SignShares:
    """Prove the sign of K cell by cell: half a second at most."""
    return pool.POOL.call(measure_shares, request, strength)


def draw_why(result: Result, charts: Charts) -> None:
    """Draw what is proved of the sign, the curvature formula at a point, and its derivation."""
    frame, terms = result.frame, result.terms()
    if frame.whole.word not in (FLAT, BENT) and frame.share_lost < 1:
        st.caption(shares_text(frame.strength, sign_shares(result.request, frame.strength)))
    if not result.case.scalar:
        st.markdown(section("gates", "elementwise"))
        return
    gate = result.case.formulas[0]
    st.latex(rf"g(u, v) = {gate.latex()}")
    place = f"({', '.join(map(short, result.coordinates))})"
    where = f"{'the marked point' if result.point else 'the origin'} {place}"
    left, right = st.columns([2, 3], gap="large")
    if terms is None:
        left.caption(no_gate_text(frame, result.at, where, gate.at(*result.coordinates)))
    else:
        numbers = [terms[name] for name in POINT_ROWS.values()]
        charts.draw_table(
            "formula",
            left,
            f"At {where}, λ = {frame.strength:.2f}",
            {
                "Number": [*POINT_ROWS],
                "Value": [ten_digits(each.value) for each in numbers],
                "Error at most": [error_text(each.error) for each in numbers],
            },
        )
    with right:
        st.latex(section("gates", "curvature_formula"))
        if terms is not None:
            st.latex(terms_latex(terms))
            st.caption(terms_sentence(terms))
        st.markdown(section("gates", "derivation"))


def no_gate_text(frame: GateFrame, at: tuple[int, int], where: str, value: float) -> str:
    """Say why there is no K at a grid point called ``where``, where the gate has a ``value``."""
    if frame.breaks[at] and np.isfinite(value) and value > 0:
        return (
            f"At {where} the gate is {short(value)}, but not smooth, or not known to be"
            f" ({causes_text(frame.whole)}): nothing is said of K."
        )
    return f"At {where} the formula is no gate."


def terms_sentence(at: dict[str, theory.WithError]) -> str:
    """Say what the sign of the Hessian's determinant means at a point."""
    hessian = at["hessian"]
    if not abs(hessian.value) > hessian.error:
        off, k_off = (abs(each.value) + each.error for each in (hessian, at["gaussian"]))
        if hessian.value == 0:
            return f"det Hess(1/g) is 0 here to within {error_text(off)}, and so is K."
        return (
            f"det Hess(1/g) is within {error_text(off)} of zero here, K within {error_text(k_off)}:"
            " their signs are inconclusive."
        )
    shape = "a bowl or a dome" if hessian.value > 0 else "a saddle"
    sign = "positive" if hessian.value > 0 else "negative"
    return f"1/g is {shape} here: det Hess(1/g) is {sign}, and so is K."


def terms_latex(at: dict[str, theory.WithError]) -> str:
    """Return the curvature formula with the numbers of one point in it."""
    top = rf"{_bracketed(at['rho'].value)}^4 \cdot {_bracketed(at['hessian'].value)}"
    squares = (at["rho_u"], at["rho_v"], at["foot"])
    below = " + ".join(rf"{_bracketed(each.value)}^2" for each in squares)
    return rf"\small K = \frac{{{top}}}{{\left({below}\right)^2}}"


def _bracketed(number: float) -> str:
    """A number within LaTeX, a power of ten where it would be long; no zero has a sign."""
    digits, mark, power = f"{number:z.4g}".partition("e")
    text = rf"{digits}\cdot 10^{{{int(power)}}}" if mark else digits
    return rf"({text})" if number < 0 or mark else text


def draw_maps(result: Result, charts: Charts) -> None:
    """Draw maps of K and |H|, and of the gate of every channel if there are several."""
    frame, count = result.frame, result.frame.channels.shape[-1]
    gates = [*np.moveaxis(frame.channels, -1, 0)]
    k, bend, gate = (
        scale_of(name, fields)
        for name, fields in (("curvature", [frame.known]), ("mean", [frame.mean]), ("gate", gates))
    )
    figures = [
        map_figure(frame.known, frame.axis, k, "K", frame.signed, frame.error),
        map_figure(frame.mean, frame.axis, bend, "|H|"),
        *(map_figure(channel, frame.axis, gate, "gate") for channel in gates),
    ]
    titles = [f"**K**: {range_text(frame.range)}", f"**|H|** up to {short(frame.largest_bend)}"]
    for index, values in enumerate(gates):
        ends = "none"
        if np.isfinite(values).any():
            ends = f"{short(float(np.nanmin(values)))} to {short(float(np.nanmax(values)))}"
        titles.append(f"{'**gate**' if count == 1 else f'**gate of {CHANNELS[index]}**'}: {ends}")
    with st.container(key="gates_maps"):
        columns = st.columns(len(figures))
    for index, (column, title, figure) in enumerate(zip(columns, titles, figures, strict=True)):
        column.markdown(title)
        charts.draw(
            f"map_{index}", column, figure, f"Map over the chart of {title.replace('*', '')}"
        )
    note = "" if count == 1 else " The map beside the surface shows the mean of the three."
    st.caption(
        f"At λ = {frame.strength:.2f}; dashed: $K = 0$; hatched: not known, or no gate.{note}"
    )


def shares_text(strength: float, shares: theory.SignShares) -> str:
    """Say on how much of the chart the sign of K is proved; what is flat has none."""
    parts = [
        f"K > 0 is proved on {percent(shares.positive)} of the chart",
        f"K < 0 on {percent(shares.negative)}",
    ]
    if shares.lost:
        parts.append(f"there is no smooth gate on {percent(shares.lost)}")
    if shares.open:
        parts.append(f"the sign is undetermined on {percent(shares.open)}")
    return f"At λ = {strength:.2f}, cell by cell: {', '.join(parts)}."
