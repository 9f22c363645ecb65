"""The tab Correction: a window repaired by what it missed at every γ-th query."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

import gating_core.left_out_at_work as core
from ui.common.control_table import read
from ui.common.language_models import TITLES
from ui.common.lessons import section
from ui.common.parts import chart_columns, draw_csv
from ui.left_out import correction_results as results
from ui.left_out import measured
from ui.left_out.controls import CORRECTION_CONTROLS, draw_specimen, read_specimen
from ui.left_out.parts import draw_explanation, draw_titled
from ui.left_out.request import HEAD, SLOW, LeftOutSelection
from ui.left_out.words import gate_saves, nearest
from ui.work.cache import NUMBERS_CACHE, cached

WIDTHS = (3, 3, 2, 4)
MOST_TOKENS = 1024  # slow ones, of which five draws take a second or two


@cached("Correcting five draws of slow tokens …")
def slow(selection: LeftOutSelection, request: core.CorrectionRequest) -> list[core.Correction]:
    """Correct slowly varying tokens, by draw: tenths of a second, for the longest two seconds."""
    return core.correct_slow(
        request, min(selection.tokens, MOST_TOKENS), selection.memory, selection.draw
    )


@cached()
def of_head(selection: LeftOutSelection, request: core.CorrectionRequest) -> core.Correction:
    """Correct the selected head over its text, or tokens: some hundredths of a second."""
    return core.correct_head(measured.specimen(selection), request)


@cached(on=NUMBERS_CACHE)
def retrieved(request: core.CorrectionRequest) -> np.ndarray:
    """Accuracies in the retrieval task: some tenths of a second."""
    return core.retrieve(request)


@cached(on=NUMBERS_CACHE)
def losses(gated: str, window: int) -> results.Differences:
    """Losses above full attention of models without and with a gate, by title."""
    return {title: results.losses_of(tables, window).above(results.COLUMNS)
            for title, tables in measured.tables(gated).items()}  # fmt: skip


@cached(on=NUMBERS_CACHE)
def loss_texts(gated: str, window: int, gamma: int) -> tuple[str, str]:
    """Say what whole models lose, and whether less with a gate, if that is measured."""
    tables = measured.tables(gated)
    if not tables:
        return "", ""
    of = {title: results.losses_of(rows, window) for title, rows in tables.items()}
    worths = {title: results.worth(one, gamma) for title, one in of.items()}
    ungated, with_gate = of.values()
    heads = results.heads_text(tables[TITLES[gated]], TITLES[gated], window, gamma)
    loss = results.loss_text(losses(gated, window), worths, window, gamma)
    return f"{heads} {loss}", results.gate_text(gate_saves(with_gate, ungated, -1))


def draw_correction() -> None:
    """Draw both specimens, the curves, the losses and the toy."""
    shown, columns = draw_specimen(WIDTHS, MOST_TOKENS)
    for control, column in zip(CORRECTION_CONTROLS.values(), columns[1:], strict=True):
        control.draw(column)
    slow_ones = shown if shown.kind == SLOW else LeftOutSelection(kind=SLOW)
    selection = shown if shown.kind != SLOW else read_specimen(HEAD)
    is_head = selection.kind == HEAD
    if is_head and len(selection.text_with_break) < core.SHORTEST:
        st.info(section("left_out", "correct_short", least=core.SHORTEST - 1))
        return
    request = read(CORRECTION_CONTROLS, core.CorrectionRequest)
    slowly, head = slow(slow_ones, request), of_head(selection, request)
    accuracy = retrieved(request)
    window, gamma = nearest(core.WINDOWS, request.window), nearest(core.GAMMAS, request.gamma)
    above = losses(selection.gated, window)
    key = request, selection, slow_ones
    short, long = results.beside_names(selection.head if is_head else "")
    loss, gate = loss_texts(selection.gated, window, gamma)
    of_slow = results.slow_text(slowly)
    of_one = results.head_text(long, head, slowly, request.gamma)
    of_both = f"{of_slow} {of_one}"
    retrieval = results.retrieval_text(accuracy)
    st.markdown(gate)
    first = chart_columns("outputs", 3)
    draw_titled(first[0], ("correct_slow", request, slow_ones),
                partial(results.plane_chart, slowly[0]),
                results.shift_text("Slow tokens", slowly[0]))  # fmt: skip
    draw_titled(first[1], ("correct_head", *key), partial(results.plane_chart, head),
                results.shift_text(f"On {long}", head), what=short)  # fmt: skip
    draw_titled(first[2], ("correct_change", *key),
                partial(results.change_chart, slowly, head, request.gamma, short),
                of_one)  # fmt: skip
    st.markdown(of_both)
    second = chart_columns("curves", 4)
    draw_titled(second[0], ("correct_gamma", *key),
                partial(results.gamma_chart, slowly, head, short), of_both)  # fmt: skip
    draw_titled(second[1], ("correct_windows", *key),
                partial(results.window_chart, slowly, head, short), of_both)  # fmt: skip
    if above:
        draw_titled(second[2], ("correct_loss", selection.gated, window),
                    partial(results.loss_chart, above), loss,
                    window=window, sinks=core.SINKS)  # fmt: skip
    else:
        second[2].info(section("left_out", "no_measurements"))
    draw_titled(second[3], ("correct_retrieval", request),
                partial(results.retrieval_chart, accuracy), retrieval)  # fmt: skip
    st.markdown(" ".join(filter(None, [loss, retrieval])))
    with st.container(horizontal=True):
        draw_explanation("correction", "correction", window=request.window, sinks=request.sinks,
                         gamma=request.gamma, n=min(slow_ones.tokens, MOST_TOKENS),
                         memory=slow_ones.memory, beside=long)  # fmt: skip
        draw_csv("Correction", lambda: results.correction_csv(request, slowly, head,
                                                                      above, short))  # fmt: skip
