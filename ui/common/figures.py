"""How is a Plotly figure made once for all visitors? It takes long, and many look at the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import plotly.graph_objects as go
import streamlit as st

from ui.limits import CACHED_FIGURES


@st.cache_resource(max_entries=CACHED_FIGURES, show_spinner=False)
def figures(key: Hashable, _make: Callable[[], list[go.Figure]]) -> list[go.Figure]:
    """What ``_make`` draws, of what ``key`` says, its name included; never changed."""
    # Plotly looks for pandas when it first draws: two visitors at once would find half of it. Not
    # above: it takes a third of a second, and what is seen first has no such figure.
    import pandas  # noqa: F401

    return _make()
