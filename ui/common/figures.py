"""Plotly figures, made once for all visitors who look at the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import plotly.graph_objects as go
import streamlit as st

from ui.limits import CACHED_FIGURES


@st.cache_resource(max_entries=CACHED_FIGURES, show_spinner=False)
def figures(key: Hashable, _make: Callable[[], list[go.Figure]]) -> list[go.Figure]:
    """Return what ``_make`` draws; ``key`` names the figure and all that it depends on."""
    # Plotly imports pandas when it first draws; two threads at once would see half of it. Imported
    # here and not above: it takes a third of a second, and no first picture needs it.
    import pandas  # noqa: F401

    return _make()
