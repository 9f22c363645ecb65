"""The first section: one entry of the output, decomposed into a tree."""

from __future__ import annotations

from functools import partial

import streamlit as st

from ui.common.lessons import section
from ui.common.parts import draw_explanation
from ui.components.pad import Handle, pad
from ui.components.tree import tree
from ui.drawing import palette
from ui.experts import measured, words
from ui.experts.controls import EXPERTS, EXTENT, PAD_KEY, TREE_KEY, on_point, put_linked
from ui.experts.parts import with_model
from ui.experts.request import ExpertsSelection

SPARE = 450  # pixels of the window's height that all but the tree takes


def draw_tree(selection: ExpertsSelection) -> None:
    """Draw the tree of one entry, the input that can be dragged, and the formula."""
    selection = with_model(selection)
    entry = measured.decomposed(selection)
    left, right = st.columns([3, 10])
    with left:
        pad(
            key=PAD_KEY, handles=[Handle("x", *selection.point, palette.ACCENT)], extent=EXTENT,
            label="The input x", x_name="x₁", y_name="x₂", on_move=on_point,
        )  # fmt: skip
        formula, place = (section("experts", name) for name in words.position_sections(selection))
        st.container(key="entry_formula").markdown(f"${formula}$")
        st.caption(place)
    with right:
        tree(
            key=TREE_KEY,
            label=words.alt_text(selection, entry),
            hint=section("experts", "hint"),
            name=f"Y[{selection.channel}]",
            numbers=measured.numbers(selection),
            strength=selection.strength,
            point=selection.point,
            pad=PAD_KEY,
            expert=selection.expert,
            spare=SPARE,
            on_strength=partial(put_linked, "open"),
            on_expert=partial(put_linked, "expert"),
        )  # fmt: skip
        st.markdown(words.summary(selection, entry))
    with st.container(horizontal=True):
        draw_explanation("experts", "the tree", "tree", **words.tree_fields(selection, entry))
        st.download_button(
            "Terms (CSV)", lambda: words.terms_csv(entry), "terms.csv",
            icon=":material/table:", key="take_terms", on_click="ignore",
        )  # fmt: skip
    with EXPERTS["code"].draw(st) as code:
        if code.open:
            st.code(words.code(selection), language="python")
