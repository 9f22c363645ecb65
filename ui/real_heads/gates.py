"""The tab Gate: a gate that is drawn, dialled up on a head of the bundled model, on two charts."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.checkpoints import DrawnGate
from gating_core.real_heads import (
    FIRST_THREE,
    SPREADS,
    TEXTS,
    Dial,
    dial_head,
    keys_of,
    shipped_layers,
    shipped_measures,
    shipped_record,
    shipped_text,
)
from ui.common import charts as c
from ui.common.formatting import by_interval, plus_minus, short
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.limits import DRAWN_GATE_SEEDS, DRAWN_GATE_SPREAD
from ui.real_heads.shared import choose_head, drawn_words
from ui.work import pool
from ui.work.cache import NUMBERS_CACHE, cached

PER = ("channel", "head")


@cached("Measuring curvature …", on=NUMBERS_CACHE)
def dial_of(
    title: str, layer: int, head: int, three: tuple[int, int, int], gate: DrawnGate
) -> Dial:
    """Return the totals of a head by λ: one to two seconds."""
    return pool.POOL.call(dial_here, title, layer, head, three, gate)


def dial_here(
    title: str, layer: int, head: int, three: tuple[int, int, int], gate: DrawnGate
) -> Dial:
    """Measure it in this process."""
    text = shipped_text(title)
    return dial_head(
        shipped_layers()[layer], text.states[layer], head, keys_of(text.tokens, False), three, gate
    )


def draw() -> None:
    """Draw the tab."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    title = row.selectbox("Text", [*TEXTS], key="heads_text", width=210, **LINK)
    size = shipped_measures(title, False)["total"].shape
    opened = choose_head((row, row), size, "gate")
    per = row.radio("Gate per", PER, key="drawn_per", horizontal=True, **LINK)
    seed = row.number_input(
        "Seed of the gate", *DRAWN_GATE_SEEDS, 0, key="drawn_seed", width=140, **LINK
    )
    spread = row.slider(
        "Spread of its logits", *DRAWN_GATE_SPREAD, 1.0, 0.5, key="drawn_spread", width=200, **LINK
    )
    dial = dial_of(title, *opened, FIRST_THREE, DrawnGate(per, seed, spread))
    words = drawn_words(shipped_text(title).tokens.words)[0]
    charts = c.Charts("heads_gate")
    draw_dial(charts, dial, [words[i] for i in FIRST_THREE], "this drawn gate")
    gates = shipped_record("gates")
    draw_finding(flat_sentence(gates["flat"]), lead=section("real_heads", "drawn_gate"))
    st.markdown(medians_sentence(gates["query"]))
    charts.draw_footer(section("real_heads", "gate_charts"))


def draw_dial(charts: c.Charts, dial: Dial, three: list[str], gate: str) -> None:
    """Draw totals by λ on both charts; ``three`` words span the first, ``gate`` is its name."""
    left, right = c.chart_columns("heads_gate", 2)
    weight, query = weight_sentence(dial, three, gate), query_sentence(dial, gate)
    charts.draw(
        "weight",
        left,
        dial_chart("Attention-weight chart", dial.strengths, dial.weight, dial.weight_errors),
        weight,
    )
    left.markdown(weight)
    charts.draw(
        "query",
        right,
        dial_chart("Query plane", dial.strengths, dial.query, dial.query_errors),
        query,
    )
    right.markdown(query)


def dial_chart(
    name: str, strengths: tuple[float, ...], totals: tuple[float, ...], errors: tuple[float, ...]
) -> go.Figure:
    """Draw totals over λ, with their errors."""
    lines = [c.line("∫|K| dA", strengths, totals, errors, colour=c.MAGENTA, legend=False)]
    return c.chart(name, lines, "gate interpolation λ", "∫|K| dA", y_axis={"rangemode": "tozero"})


def weight_sentence(dial: Dial, words: list[str], gate: str) -> str:
    """Say what the gate does where the weights of three tokens are the chart."""
    named = ", ".join(f"“{word}”" for word in words)
    proved = "flat (proved: its outputs are averages of three values)"
    flat = proved if dial.flat else "curved"
    return (
        f"**Weights of {named} as the chart: without a gate {flat}; with {gate} ∫|K| dA ="
        f" {plus_minus(dial.weight[-1], dial.weight_errors[-1])}.**"
    )


def query_sentence(dial: Dial, gate: str) -> str:
    """Say what the gate does where the query moves on its plane."""
    (before, *_, after), (error, *_, last) = dial.query, dial.query_errors
    curves = "curves" if before > error else "is not known to curve"
    does = by_interval(
        after - before - (error + last),
        after - before + (error + last),
        "lowers it to",
        "changes it by less than both errors, to",
        "raises it to",
    )
    return (
        f"**On the query plane the head {curves} without a gate, ∫|K| dA ="
        f" {plus_minus(before, error)}; {gate} {does} {plus_minus(after, last)}.**"
    )


def flat_sentence(flat: np.ndarray) -> str:
    """Compare heads without and with a gate on weight charts: whether flat, (3, N), by λ."""
    without, curved, count = int((flat[0] == 1).sum()), int((flat[-1] == 0).sum()), flat.shape[1]
    if without == curved == count:
        return f"On the weights of three tokens a gate curves all {count} heads, flat without it."
    return (
        f"On the weights of three tokens {without} of {count} heads are flat without a gate, and"
        f" {curved} are curved with one."
    )


def medians_sentence(totals: np.ndarray) -> str:
    """Say how drawn gates change totals on query planes (2, P, 3, N)."""
    parts = []
    for per, rows in zip(PER, np.median(totals, -1), strict=True):
        changes = ", ".join(
            f"{short(round(float(row[0]), 2))} → {short(round(float(row[-1]), 2))}"
            f" (spread {spread:g})"
            for spread, row in zip(SPREADS, rows, strict=True)
        )
        parts.append(f"a gate per {per} {changes}")
    return (
        f"On query planes a gate may raise or lower the total, in the median of"
        f" {totals.shape[-1]} heads: {'; '.join(parts)}."
    )
