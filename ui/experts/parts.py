"""The first rows of both sections on a model."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from ui.common.lessons import section
from ui.experts import measured
from ui.experts.request import RANDOM, ExpertsSelection


def with_model(selection: ExpertsSelection, *, moved: bool = False) -> ExpertsSelection:
    """Return the selection, with random weights if a training that it asks for diverges.

    Where weights are ``moved``, the models that are moved must exist, too.
    """
    needed = (selection, *(measured.moved_models(selection).values() if moved else ()))
    if all(map(measured.trained, needed)):
        return selection
    st.warning(section("experts", "diverged"), icon=":material/warning:")
    return replace(selection, task=RANDOM)
