"""The tab Sparse gates: how far gates are open, at every character and over all verses."""

from __future__ import annotations

import streamlit as st

from ui.at_work import gates_picture, gates_words, measured
from ui.at_work.controls import read_selection
from ui.at_work.parts import draw_csv, draw_explanation, draw_figure
from ui.common.lessons import section
from ui.common.words import percent


def draw_gates() -> None:
    """Draw the gates above a text, their values over all verses, and what opens them."""
    selection = read_selection()
    model, text = selection.model, selection.text_with_break
    arrays = measured.table()[model]
    opened = measured.reading(model, selection.text, 1.0).opened
    assert opened is not None  # the model has a gate
    here = gates_words.in_text(opened, text)
    seeds = measured.seeds(selection.name)
    shut = measured.over_seeds(selection.name, "gates.shut", seeds)
    summary = gates_words.summary(shut, seeds.index(selection.seed), selection.name)
    strip, histogram, openers = (
        section("at_work", f"head_{name}") for name in ("strip", "histogram", "openers")
    )
    draw_figure(
        ("strip", model, text), lambda: gates_picture.strip_chart(opened, text, strip), here
    )
    left, right = st.columns([5, 8])
    with left:
        counts = arrays["gates.histogram"]
        draw_figure(("histogram", model),
                    lambda: gates_picture.histogram_chart(counts, histogram), summary)  # fmt: skip
    with right:
        above = gates_picture.openers(arrays)
        draw_figure(("openers", model), lambda: gates_picture.opener_chart(above, openers),
                    gates_words.opener_text(arrays))  # fmt: skip
    st.markdown(f"{summary} {here} {gates_words.opener_text(arrays)}")
    with st.container(horizontal=True):
        draw_explanation("gates", "gates", seen=gates_picture.LEAST_COUNT,
                         many=percent(gates_words.MANY), few=percent(gates_words.FEW))  # fmt: skip
        draw_csv("Gates", lambda: gates_words.gates_csv(measured.table()))
        draw_csv("Gates of the text", lambda: gates_words.text_csv(opened, text))
