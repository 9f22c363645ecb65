"""The tab Rank: what a head can do at most, how much of it is used, and what a gate changes."""

from __future__ import annotations

import streamlit as st

from gating_core.language import MODELS
from ui.at_work import measured, rank_picture, rank_words
from ui.at_work.controls import MODEL, RANK_CONTROLS, draw_front, resolved
from ui.at_work.parts import draw_csv, draw_explanation, draw_figure
from ui.common.control_table import read
from ui.common.lessons import section
from ui.drawing.titled import titled
from ui.language.selection import TextSelection


def draw_rank() -> None:
    """Draw effective ranks by head, singular values, and why no rank lies above d."""
    draw_front([*MODEL.values(), *RANK_CONTROLS.values()])
    selection = resolved(read(MODEL, TextSelection), gated=True)
    model, config = selection.model, MODELS[selection.name]
    arrays = measured.table()[model]
    outputs, maps = arrays["ranks.outputs"], arrays["ranks.maps"]
    head = rank_words.chosen(RANK_CONTROLS["ranked_head"].value, outputs)
    texts = len(arrays["strengths.counts"])
    seeds = measured.seeds(selection.name)
    summary = rank_words.summary(
        arrays, measured.over_seeds(selection.name, "ranks.outputs", seeds), texts
    )
    reason = rank_words.reason(
        arrays, head, config.width, config.gate is not None and config.gate.position == "G1"
    )
    above = section("at_work", "head_ranks")
    draw_figure(("ranks", model, head),
                lambda: titled(rank_picture.rank_chart(outputs, arrays["ranks.range"],
                                                       maps.shape[-1], head), above),
                summary)  # fmt: skip
    left, right = st.columns([7, 6])
    with left:
        draw_figure(("singular", model, head),
                    lambda: titled(rank_picture.values_chart(maps, head),
                                   section("at_work", "head_singular")), reason)  # fmt: skip
    right.markdown(reason)
    st.markdown(summary)
    with st.container(horizontal=True):
        draw_explanation("ranks", "ranks", d=maps.shape[-1], texts=texts)
        draw_csv("Ranks", lambda: rank_words.ranks_csv(measured.table()))
