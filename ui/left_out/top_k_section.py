"""The tab Top-k: what the k largest weights leave out, and what certifies it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from gating_core.left_out_at_work import SIZES, RowAt, RowCurves, row_at, row_curves
from ui.common.control_table import read
from ui.common.lessons import section
from ui.common.parts import chart_columns, draw_csv
from ui.language.selection import HEADS
from ui.left_out import measured, words
from ui.left_out import top_k_results as results
from ui.left_out.controls import TOP_K_CONTROLS, draw_specimen
from ui.left_out.parts import draw_explanation, draw_titled
from ui.left_out.request import HEAD, LeftOutSelection, TopKSelection
from ui.work.cache import NUMBERS_CACHE, cached


@cached("Bounding every k; of long rows this takes a second or two …")
def curves(selection: LeftOutSelection, epsilon: float) -> RowCurves:
    """Return the last row over all k: a hundredth of a second for a head."""
    return row_curves(measured.row_source(selection), epsilon)


@cached()
def at(selection: LeftOutSelection, k: int) -> RowAt:
    """Return the last row with ``k`` kept."""
    return row_at(measured.row_source(selection), k)


@cached(on=NUMBERS_CACHE)
def losses(gated: str) -> results.Differences:
    """Return the losses of models without and with a gate above full attention, by title."""
    return {title: results.losses_of(tables).above(SIZES)
            for title, tables in measured.tables(gated).items()}  # fmt: skip


def draw_top_k() -> None:
    """Draw weights, certificates and losses; below them errors, the rule, and why it fails."""
    selection, columns = draw_specimen([3, 3, 4])
    size, share, epsilon = TOP_K_CONTROLS.values()
    (size if selection.kind == HEAD else share).draw(columns[1])
    epsilon.draw(columns[2])
    tab = read(TOP_K_CONTROLS, TopKSelection)
    row = curves(selection, tab.epsilon)
    k = tab.size(row.n, selection.kind)
    here, above = at(selection, k), losses(selection.gated)
    text = results.row_text(row, here, k)
    bounds = results.certificate_text(row, tab.epsilon)
    gate = _gate_text(selection.gated, k if selection.kind == HEAD else SIZES[2])
    with_break = selection.text_with_break if selection.kind == HEAD else None
    st.markdown(gate)
    first = chart_columns("row", 3)
    draw_titled(first[0], ("top_weights", selection, k),
                lambda: results.weight_chart(row, k, with_break), text)  # fmt: skip
    draw_titled(first[1], ("top_bounds", selection, k, tab.epsilon),
                lambda: results.bound_chart(row, k, tab.epsilon), bounds)  # fmt: skip
    if above:
        marked = k if selection.kind == HEAD else None
        draw_titled(first[2], ("top_losses", selection.gated, marked),
                    lambda: results.loss_chart(above, marked), gate)  # fmt: skip
    else:
        first[2].info(section("left_out", "no_measurements"))
    st.markdown(f"{text} {bounds}")
    rule = _draw_below(selection, row, k)
    st.markdown(" ".join(filter(None, [rule, results.why_text(row),
                                       results.cost_text(row.n, k)])))  # fmt: skip
    with st.container(horizontal=True):
        draw_explanation("top-k", "top_k", epsilon=f"{tab.epsilon:g}", k=k, n=f"{row.n:,}")
        draw_csv("Row", lambda: results.row_csv(row))
        draw_csv("Heads", lambda: results.heads_csv(measured.table()))
        draw_csv("Truncation losses", lambda: results.losses_csv(above))


def _draw_below(selection: LeftOutSelection, row: RowCurves, k: int) -> str:
    """Draw the table of certificates, the rule, scores and errors; return the rule's sentence."""
    columns = chart_columns("below", 4 if row.errors is not None else 3)
    with columns[0]:
        st.markdown(section("left_out", "head_top_table"))
        names, *lines = results.certificate_rows(row)
        st.table(dict(zip(names, zip(*lines, strict=True), strict=True)))
    # (S, L H) each: k by the rule and as needed, of all heads.
    rules = {title: [np.stack([of[f"truncation.{name}"].ravel() for of in tables])
                     for name in ("rule", "needed")]
             for title, tables in measured.tables(selection.gated).items()}  # fmt: skip
    rule = results.rule_text(rules) if rules else ""
    if rules:
        draw_titled(columns[1], ("top_rule", selection.gated),
                    lambda: results.rule_chart(rules, HEADS), rule)  # fmt: skip
    else:
        columns[1].info(section("left_out", "no_measurements"))
    draw_titled(columns[2], ("top_scores", selection), lambda: results.score_chart(row),
                results.why_text(row))  # fmt: skip
    if row.errors is not None:
        draw_titled(columns[3], ("top_errors", selection, k),
                    lambda: results.error_chart(row, k),
                    section("left_out", "alt_top_errors"))  # fmt: skip
    return rule


def _gate_text(gated: str, k: int) -> str:
    """Say whether truncation is cheaper with a gate, at the measured size nearest to ``k``."""
    if not losses(gated):
        return section("left_out", "no_measurements")
    size = words.nearest(SIZES, k)
    ungated, with_gate = map(results.losses_of, measured.tables(gated).values())
    saves = words.gate_saves(with_gate, ungated, SIZES.index(size))
    return results.loss_text(losses(gated), saves, size)
