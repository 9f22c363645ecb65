"""The second section: directions of the weights in which no output changes."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from ui.common.lessons import section
from ui.common.parts import draw_explanation, draw_figure
from ui.experts import measured, null_words, picture
from ui.experts.controls import MOVE
from ui.experts.parts import with_model
from ui.experts.request import MIXING, RANDOM, ExpertsSelection


def draw_null_directions(selection: ExpertsSelection) -> None:
    """Draw how many directions data cannot decide, and a move along one of them."""
    selection = with_model(selection, moved=True)
    counts = measured.counts(selection)
    shown = counts[selection.gate_setting]
    model = selection.compared.config, selection.seed, selection.task
    bars, gap, move = st.columns([4, 4, 5])
    with bars:
        st.markdown(section("experts", "head_counts"))
        draw_figure("experts", ("counts", *model, selection.gate_setting),
                    lambda: picture.count_chart(counts, selection.gate_setting),
                    null_words.counts_alt(counts))  # fmt: skip
    with gap:
        st.markdown(
            section("experts", "head_gap", place=picture.setting_text(selection.gate_setting))
        )
        draw_figure("experts", ("gap", *model, selection.gate_setting),
                    lambda: picture.gap_chart(shown), null_words.gap_alt(shown))  # fmt: skip
    with move:
        left, right = st.columns([3, 2])
        selection = replace(
            selection, direction=MOVE["along"].draw(left), distance=MOVE["far"].draw(right)
        )
        if selection.direction == MIXING and not selection.mixes:
            st.caption(f":material/info: {section('experts', 'nothing_to_mix')}")
        moves = measured.moves(selection)
        sentence = null_words.move_text(selection, moves)
        draw_figure("experts", ("moves", selection),
                    lambda: picture.move_chart(moves, selection.distance), sentence)  # fmt: skip
    st.markdown(f"{null_words.summary(selection, counts)} {sentence}")
    own = f"{section('experts', 'trained_row')} " if selection.task != RANDOM else ""
    st.caption(f"{own}{section('experts', 'not_said')}")
    with st.container(horizontal=True):
        draw_explanation("experts", "undecidable directions", "counts",
                         **null_words.fields(selection, shown))  # fmt: skip
        draw_explanation("experts", "the move", "moves",
                         **null_words.move_fields(selection, moves))  # fmt: skip
        for name, make in (("Counts", lambda: null_words.counts_csv(counts)),
                           ("Moves", lambda: null_words.moves_csv(moves))):  # fmt: skip
            st.download_button(
                f"{name} (CSV)", make, f"{name.lower()}.csv", icon=":material/table:",
                key=f"take_{name.lower()}", on_click="ignore",
            )  # fmt: skip
