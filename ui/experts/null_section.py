"""The second section: directions of the weights in which no output changes."""

from __future__ import annotations

import streamlit as st

from ui.experts.request import ExpertsSelection


def draw_null_directions(selection: ExpertsSelection) -> None:
    """Draw how many directions data cannot decide, and a move along one of them."""
    st.caption(f"{selection}")
