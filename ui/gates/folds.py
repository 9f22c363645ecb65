"""Below the gallery: the curvature formula at a point with its derivation, and maps of a gate."""

from __future__ import annotations

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import gating_core.theory as theory
from gating_core.theory import BENT, FLAT
from ui.common.charts import Charts
from ui.common.formatting import error_text, percent, short
from ui.common.lessons import section
from ui.drawing.colours import scale_of
from ui.gates.frames import GateRequest, measure_shares
from ui.gates.gallery import Result, ten_digits, terms_latex
from ui.gates.maps import map_figure
from ui.gates.shared import range_text
from ui.work import pool
from ui.work.cache import cached

CHANNELS = ("y₁", "y₂", "y₃")
POINT_ROWS = {  # of the table of a point: a field of `TermsAtPoint`
    "g (in use)": "gate", "ρ = 1/g": "rho", "ρ_u": "rho_u", "ρ_v": "rho_v", "ρ_uu": "rho_uu",
    "ρ_uv": "rho_uv", "ρ_vv": "rho_vv", "det Hess ρ": "hessian", "ρ − uρ_u − vρ_v": "foot",
    "ρ_u² + ρ_v² + (…)²": "normal_square", "K": "gaussian",
}  # fmt: skip


def draw(result: Result, why: DeltaGenerator | None, maps: DeltaGenerator | None) -> None:
    """Draw what is unfolded, and offer its numbers."""
    charts = Charts("gates")
    if why:
        with why:
            draw_why(result, charts)
    if maps:
        with maps:
            draw_maps(result, charts)
    charts.offer()


@cached()
def sign_shares(request: GateRequest, strength: float) -> theory.SignShares:
    """Prove the sign of K cell by cell: half a second at most."""
    return pool.POOL.call(measure_shares, request, strength)


def draw_why(result: Result, charts: Charts) -> None:
    """Draw two lines, what is proved of the sign, the numbers of a point, and the derivation."""
    st.markdown("  \n".join(result.case.why))
    frame, terms = result.frame, result.terms()
    if frame.whole.word not in (FLAT, BENT) and frame.share_lost < 1:
        st.caption(shares_text(frame.strength, sign_shares(result.request, frame.strength)))
    if terms is None:
        st.markdown(section("gates", "derivation" if result.case.scalar else "elementwise"))
        return
    st.latex(rf"g(u, v) = {result.case.formulas[0].latex()}")
    left, right = st.columns([2, 3], gap="large")
    numbers = [getattr(terms, name) for name in POINT_ROWS.values()]
    title = f"At (u, v) = ({', '.join(map(short, result.coordinates))})"
    charts.draw_table(
        "formula",
        left,
        title,
        {
            "Number": [*POINT_ROWS],
            "Value": [ten_digits(each.value) for each in numbers],
            "Error at most": [error_text(each.error) for each in numbers],
        },
    )
    with right:
        st.latex(terms_latex(terms))
        st.markdown(section("gates", "derivation"))


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
        alt = f"Map over the chart of {title.replace('*', '')}"
        charts.draw(f"map_{index}", column, figure, alt)
    note = "" if count == 1 else " The map beside the surface shows the mean of the three."
    st.caption(f"At λ = {frame.strength:.2f}; dashed: K = 0; hatched: not known, or no gate.{note}")


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
