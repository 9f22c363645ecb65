"""The tab Confidence: how often a model is right where it is sure, without and with a gate."""

from __future__ import annotations

import streamlit as st

from ui.at_work import confidence_picture, confidence_words, measured
from ui.at_work.controls import MODEL, draw_front, resolved
from ui.at_work.parts import draw_csv, draw_explanation, draw_figure
from ui.common.control_table import read
from ui.common.language_models import TITLES, UNGATED
from ui.common.lessons import section
from ui.drawing.reliability import reliability_chart
from ui.drawing.titled import titled
from ui.language.selection import TextSelection


def draw_confidence() -> None:
    """Draw reliability of the selected model beside the ungated one, and paired differences."""
    draw_front([*MODEL.values()])
    selection = resolved(read(MODEL, TextSelection), gated=True)
    names = [UNGATED, selection.name]
    diagrams = []
    for name in names:
        arrays = measured.table()[name, selection.seed]
        diagrams.append((TITLES[name], arrays["confidence.bins"], arrays["confidence.range"]))
    alt = "; ".join(f"{title}: {confidence_words.diagram_text(bins, ends)}"
                    for title, bins, ends in diagrams)  # fmt: skip
    seeds = measured.seeds(selection.name)
    values, resamples, entropies = (
        [measured.over_seeds(name, f"confidence.{part}", seeds) for name in names]
        for part in ("values", "resamples", "entropy")
    )
    differences = confidence_words.differences(values, resamples)
    summary = confidence_words.summary(differences, values[1], values[0])
    left, right = st.columns([6, 7])
    with left:
        draw_figure(("reliability", selection.model), lambda: titled(
            reliability_chart(diagrams, confidence_picture.DIAGRAM_PIXELS),
            section("at_work", "head_reliability")), alt)  # fmt: skip
    with right:
        draw_figure(("differences", selection.name), lambda: titled(
            confidence_picture.difference_chart(differences),
            section("at_work", "head_differences")), summary)  # fmt: skip
        by_title = {TITLES[name]: of for name, of in zip(names, entropies, strict=True)}
        draw_figure(("entropy", selection.name), lambda: titled(
            confidence_picture.entropy_chart(by_title),
            section("at_work", "head_entropy")), summary)  # fmt: skip
    st.markdown(f"{summary} Seed {selection.seed}, {alt}.")
    with st.container(horizontal=True):
        draw_explanation("confidence", "confidence", margins=confidence_words.margins_text(),
                         least=confidence_words.LEAST_SEEDS)  # fmt: skip
        draw_csv("Confidence", lambda: confidence_words.confidence_csv(measured.table()))
