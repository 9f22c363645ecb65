"""The tab Correction: a window repaired by what it missed at every γ-th query."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from gating_core.at_work import PairedDifference
from gating_core.left_out_at_work import (
    SHORTEST,
    SINKS,
    Correction,
    CorrectionRequest,
    correct_head,
    correct_slow,
    retrieve,
)
from ui.common.control_table import read
from ui.common.language_models import TITLES, UNGATED
from ui.common.lessons import section
from ui.common.parts import chart_columns, draw_csv
from ui.left_out import correction_picture, correction_words, measured
from ui.left_out.controls import draw_specimen, read_specimen
from ui.left_out.correction_controls import CORRECTION_CONTROLS
from ui.left_out.parts import draw_explanation, draw_titled
from ui.left_out.request import HEAD, SLOW, LeftOutSelection
from ui.work.cache import NUMBERS_CACHE, cached

WIDTHS = (3, 3, 2, 4)
MOST_TOKENS = 1024  # slow ones, of which five draws take a second or two
Losses = dict[str, dict[str, PairedDifference]]


@cached("Correcting five draws of slow tokens …")
def slow(selection: LeftOutSelection, request: CorrectionRequest) -> list[Correction]:
    """Correct slowly varying tokens, by draw: tenths of a second, for the longest two seconds."""
    return correct_slow(
        request, min(selection.tokens, MOST_TOKENS), selection.memory, selection.draw
    )


@cached()
def of_head(selection: LeftOutSelection, request: CorrectionRequest) -> Correction:
    """Correct the selected head over its text, or tokens: some hundredths of a second."""
    return correct_head(measured.specimen(selection), request)


@cached(on=NUMBERS_CACHE)
def retrieved(request: CorrectionRequest) -> np.ndarray:
    """Accuracies in the retrieval task: some tenths of a second."""
    return retrieve(request)


@cached(on=NUMBERS_CACHE)
def losses(gated: str, window: int) -> Losses:
    """Losses above full attention of models without and with a gate, by title."""
    seeds = measured.seeds(gated)
    return {TITLES[name]: correction_words.losses_above(measured.tables(name, seeds), window)
            for name in (UNGATED, gated)} if seeds else {}  # fmt: skip


@cached(on=NUMBERS_CACHE)
def loss_texts(gated: str, window: int, gamma: int) -> tuple[str, str]:
    """Say what whole models lose, and whether less with a gate, if that is measured."""
    above = losses(gated, window)
    if not above:
        return "", ""
    seeds = measured.seeds(gated)
    plain, with_gate = measured.tables(UNGATED, seeds), measured.tables(gated, seeds)
    worths = {TITLES[name]: correction_words.worth(tables, window, gamma)
              for name, tables in ((UNGATED, plain), (gated, with_gate))}  # fmt: skip
    saves = correction_words.gate_saves(with_gate, plain, window)
    heads = correction_words.heads_text(with_gate, TITLES[gated], window, gamma)
    loss = correction_words.loss_text(above, worths, window, gamma)
    return f"{heads} {loss}", correction_words.gate_text(saves)


def draw_correction() -> None:
    """Draw both specimens, the curves, the losses and the toy."""
    shown, columns = draw_specimen(WIDTHS, MOST_TOKENS)
    for control, column in zip(CORRECTION_CONTROLS.values(), columns[1:], strict=True):
        control.draw(column)
    slow_ones = shown if shown.kind == SLOW else LeftOutSelection(kind=SLOW)
    selection = shown if shown.kind != SLOW else read_specimen(HEAD)
    is_head = selection.kind == HEAD
    if is_head and len(selection.text_with_break) < SHORTEST:
        st.info(section("left_out", "correct_short", least=SHORTEST - 1))
        return
    request = read(CORRECTION_CONTROLS, CorrectionRequest)
    slowly, head, accuracy = (
        slow(slow_ones, request),
        of_head(selection, request),
        retrieved(request),
    )
    window = correction_words.measured_window(request.window)
    gamma = correction_words.measured_gamma(request.gamma)
    above = losses(selection.gated, window)
    key = request, selection, slow_ones
    short, long = correction_words.beside_names(selection.head if is_head else "")
    loss, gate = loss_texts(selection.gated, window, gamma)
    texts = {
        "slow": correction_words.slow_text(slowly),
        "head": correction_words.head_text(long, head, slowly, request.gamma),
        "loss": loss,
        "retrieval": correction_words.retrieval_text(accuracy),
    }
    st.markdown(gate)
    first = chart_columns("outputs", 3)
    with first[0]:
        draw_titled(("correct_slow", request, slow_ones),
                    partial(correction_picture.plane_chart, slowly[0]),
                    correction_words.shift_text("Slow tokens", slowly[0]))  # fmt: skip
    with first[1]:
        draw_titled(("correct_head", *key), partial(correction_picture.plane_chart, head),
                    correction_words.shift_text(f"On {long}", head), what=short)  # fmt: skip
    with first[2]:
        draw_titled(
            ("correct_change", *key),
            partial(correction_picture.change_chart, slowly, head, request.gamma, short),
            texts["head"],
        )
    st.markdown(f"{texts['slow']} {texts['head']}")
    second = chart_columns("curves", 4)
    with second[0]:
        draw_titled(("correct_gamma", *key),
                    partial(correction_picture.gamma_chart, slowly, head, short),
                    f"{texts['slow']} {texts['head']}")  # fmt: skip
    with second[1]:
        draw_titled(("correct_windows", *key),
                    partial(correction_picture.window_chart, slowly, head, short),
                    f"{texts['slow']} {texts['head']}")  # fmt: skip
    with second[2]:
        if above:
            draw_titled(("correct_loss", selection.gated, window),
                        partial(correction_picture.loss_chart, above), texts["loss"],
                        window=window, sinks=SINKS)  # fmt: skip
        else:
            st.info(section("left_out", "no_measurements"))
    with second[3]:
        draw_titled(
            ("correct_retrieval", request),
            partial(correction_picture.retrieval_chart, accuracy),
            texts["retrieval"],
        )
    st.markdown(" ".join(filter(None, [texts["loss"], texts["retrieval"]])))
    with st.container(horizontal=True):
        draw_explanation("correction", "correction", window=request.window, sinks=request.sinks,
                         gamma=request.gamma, n=min(slow_ones.tokens, MOST_TOKENS),
                         memory=slow_ones.memory, beside=long)  # fmt: skip
        draw_csv("Correction", lambda: correction_words.correction_csv(request, slowly, head,
                                                                      above, short))  # fmt: skip
