"""The first section: one entry of the output, taken apart."""

from __future__ import annotations

import streamlit as st

from ui.experts.request import ExpertsSelection


def draw_tree(selection: ExpertsSelection) -> None:
    """Draw the tree of one entry."""
    st.caption(f"{selection}")
