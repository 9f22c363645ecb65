"""What both sections of a model begin with."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from ui.common.lessons import section
from ui.experts import measured
from ui.experts.request import RANDOM, ExpertsSelection


def with_model(selection: ExpertsSelection) -> ExpertsSelection:
    """Return the selection, with random weights if the training that it asks for diverges."""
    if measured.trained(selection):
        return selection
    st.warning(section("experts", "diverged"), icon=":material/warning:")
    return replace(selection, task=RANDOM)
