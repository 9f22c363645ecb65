"""Shipped language models, loaded once for all visitors."""

from __future__ import annotations

import streamlit as st

from gating_core.language import LanguageModel, load_model
from ui.language.selection import Model
from ui.limits import LOADED_MODELS


@st.cache_resource(max_entries=LOADED_MODELS, show_spinner=False)
def loaded(model: Model) -> LanguageModel:
    """Load a shipped model."""
    return load_model(*model)[0]
