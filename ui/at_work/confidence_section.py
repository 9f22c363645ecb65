"""The tab Confidence: how often a model is right where it is sure, without and with a gate."""

from __future__ import annotations

import numpy as np
import streamlit as st

from ui.at_work import confidence_picture, confidence_words, measured
from ui.at_work.controls import MODEL, draw_front, resolved
from ui.at_work.parts import draw_csv, draw_explanation, draw_figure
from ui.at_work.request import TITLES, UNGATED, AtWorkSelection
from ui.common.control_table import read
from ui.common.lessons import section
from ui.drawing.reliability import reliability_chart


def draw_confidence() -> None:
    """Draw reliability of the selected model beside the ungated one, and paired differences."""
    draw_front([*MODEL.values()])
    selection = resolved(read(MODEL, AtWorkSelection), gated=True)
    names = [UNGATED, selection.name]
    diagrams = []
    for name in names:
        arrays = measured.table()[name, selection.seed]
        diagrams.append((TITLES[name], arrays["confidence.bins"], arrays["confidence.range"]))
    alt = "; ".join(f"{title}: {confidence_words.diagram_text(bins, ends)}"
                    for title, bins, ends in diagrams)  # fmt: skip
    ungated, gated = (_paired(name, selection.name) for name in names)
    found = confidence_words.differences(gated, ungated)
    summary = confidence_words.summary(found, gated[0], ungated[0])
    left, right = st.columns([6, 7])
    with left:
        st.markdown(section("at_work", "head_reliability"))
        draw_figure(("reliability", selection.model),
                    lambda: reliability_chart(diagrams, confidence_picture.DIAGRAM_PIXELS),
                    alt)  # fmt: skip
    with right:
        st.markdown(section("at_work", "head_differences"))
        draw_figure(("differences", selection.name),
                    lambda: confidence_picture.difference_chart(found), summary)  # fmt: skip
        st.markdown(section("at_work", "head_entropy"))
        entropies = {TITLES[name]: measured.over_seeds(name, "confidence.entropy")
                     for name in names}  # fmt: skip
        draw_figure(("entropy", selection.name),
                    lambda: confidence_picture.entropy_chart(entropies), summary)  # fmt: skip
    st.markdown(f"{summary} Seed {selection.seed}, {alt}.")
    with st.container(horizontal=True):
        draw_explanation("confidence", "confidence", margins=confidence_words.margins_text(),
                         least=confidence_words.LEAST_SEEDS)  # fmt: skip
        draw_csv("Confidence", lambda: confidence_words.confidence_csv(measured.table()))


def _paired(name: str, other: str) -> tuple[np.ndarray, np.ndarray]:
    """Values (S, Q) and resamples (S, Q, R) of the seeds that ``name`` and ``other`` both have."""
    both = [seed for seed in measured.seeds(other) if (UNGATED, seed) in measured.table()]
    of = [measured.table()[name, seed] for seed in both]
    values, resamples = (np.stack([arrays[f"confidence.{part}"] for arrays in of])
                         for part in ("values", "resamples"))  # fmt: skip
    return values, resamples
