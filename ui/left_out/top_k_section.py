"""The tab Top-k: what the k largest weights leave out, and what certifies it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from gating_core.left_out_at_work import BINS, SIZES, RowAt, RowCurves, row_at, row_curves
from ui.common.control_table import read
from ui.common.language_models import TITLES, UNGATED
from ui.common.lessons import section
from ui.common.parts import chart_columns, draw_csv
from ui.language.selection import HEADS
from ui.left_out import measured, top_k_picture, top_k_words
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
def losses(gated: str) -> top_k_words.Losses:
    """Return the losses of models without and with a gate above full attention, by title."""
    seeds = measured.seeds(gated)
    return {TITLES[name]: top_k_words.losses_above(measured.tables(name, seeds))
            for name in (UNGATED, gated)} if seeds else {}  # fmt: skip


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
    nearest = top_k_words.measured_size(k) if selection.kind == HEAD else SIZES[2]
    text = top_k_words.row_text(row, here, k)
    bounds = top_k_words.certificate_text(row, tab.epsilon)
    gate = _gate_text(above, selection.gated, nearest)
    with_break = selection.text_with_break if selection.kind == HEAD else None
    st.markdown(gate)
    first = chart_columns("row", 3)
    with first[0]:
        draw_titled(("top_weights", selection, k),
                    lambda: top_k_picture.weight_chart(row, k, with_break), text)  # fmt: skip
    with first[1]:
        draw_titled(("top_bounds", selection, k, tab.epsilon),
                    lambda: top_k_picture.bound_chart(row, k, tab.epsilon), bounds)  # fmt: skip
    with first[2]:
        if above:
            marked = k if selection.kind == HEAD else None
            draw_titled(("top_losses", selection.gated, marked),
                        lambda: top_k_picture.loss_chart(SIZES, above, marked), gate)  # fmt: skip
        else:
            st.info(section("left_out", "no_measurements"))
    st.markdown(f"{text} {bounds}")
    rules = _rules(selection.gated)
    _draw_below(selection, row, k, rules)
    st.markdown(" ".join(filter(None, [
        top_k_words.rule_text(rules) if rules else "",
        top_k_words.why_text(row, (BINS[1:] + BINS[:-1]) / 2),
        top_k_words.cost_text(row.n, k),
    ])))  # fmt: skip
    with st.container(horizontal=True):
        draw_explanation("top-k", "top_k", epsilon=f"{tab.epsilon:g}", k=k, n=f"{row.n:,}")
        draw_csv("Row", lambda: top_k_words.row_csv(row))
        draw_csv("Heads", lambda: top_k_words.heads_csv(measured.table()))
        draw_csv("Truncation losses", lambda: top_k_words.losses_csv(above))


def _draw_below(
    selection: LeftOutSelection,
    row: RowCurves,
    k: int,
    rules: Mapping[str, tuple[np.ndarray, np.ndarray]],
) -> None:
    columns = chart_columns("below", 4 if row.errors is not None else 3)
    with columns[0]:
        st.markdown(section("left_out", "head_top_table"))
        st.table(_table(row))
    with columns[1]:
        if rules:
            draw_titled(("top_rule", selection.gated),
                        lambda: top_k_picture.rule_chart(rules, HEADS),
                        top_k_words.rule_text(rules))  # fmt: skip
        else:
            st.info(section("left_out", "no_measurements"))
    with columns[2]:
        draw_titled(("top_scores", selection), lambda: top_k_picture.score_chart(row),
                    top_k_words.why_text(row, (BINS[1:] + BINS[:-1]) / 2))  # fmt: skip
    if row.errors is not None:
        with columns[3]:
            draw_titled(("top_errors", selection, k), lambda: top_k_picture.error_chart(row, k),
                        section("left_out", "alt_top_errors"))  # fmt: skip


def _table(row: RowCurves) -> dict[str, list[object]]:
    names, *rows = top_k_words.certificate_rows(row)
    return {str(name): [line[index] for line in rows] for index, name in enumerate(names)}


def _rules(gated: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return k by the rule and as needed (S, L H) of all heads, by the models' title."""
    seeds = measured.seeds(gated)
    if not seeds:
        return {}

    def by_head(name: str, part: str) -> np.ndarray:
        return measured.over_seeds(name, f"truncation.{part}", seeds).reshape(len(seeds), -1)

    return {TITLES[name]: (by_head(name, "rule"), by_head(name, "needed"))
            for name in (UNGATED, gated)}  # fmt: skip


def _gate_text(above: top_k_words.Losses, gated: str, size: int) -> str:
    if not above:
        return section("left_out", "no_measurements")
    seeds = measured.seeds(gated)
    with_gate, without = (measured.tables(name, seeds) for name in (gated, UNGATED))
    saves = top_k_words.gate_saves(with_gate, without, size)
    return top_k_words.loss_text(above, saves, size)
