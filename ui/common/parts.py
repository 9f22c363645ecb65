"""Parts of sections that several pages share: charts, explanations, tables to save.

``page`` is the name of a page's folder and of its lesson; of a chart also of one of its sections.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from ui.common.charts import chart_columns as chart_columns
from ui.common.charts import csv_text as csv_text
from ui.common.lessons import section
from ui.limits import CACHED_FIGURES

BARE = {"displayModeBar": False}


@st.cache_resource(max_entries=CACHED_FIGURES, show_spinner=False)
def figures(key: Hashable, _make: Callable[[], list[go.Figure]]) -> list[go.Figure]:
    """Return what ``_make`` draws; ``key`` names the figure and all that it depends on."""
    # Plotly imports pandas when it first draws; two threads at once would see half of it. Imported
    # here and not above: it takes a third of a second, and no first picture needs it.
    import pandas  # noqa: F401

    return _make()


def draw_figure(
    page: str, key: tuple[Hashable, ...], make: Callable[[], go.Figure], alt: str,
    cached: bool = True, **more: Any,
) -> None:  # fmt: skip
    """Draw a figure; ``key`` begins with its name on the page, ``more`` goes to Streamlit.

    It is ``cached`` for all visitors, unless it is soon out of date.
    """
    (chart,) = figures((page, *key), lambda: [make()]) if cached else [make()]
    st.plotly_chart(chart, alt=alt, key=f"{page}_{key[0]}", config=BARE, **more)


def explain(what: str, text: str, below: Callable[[], None] | None = None) -> None:
    """Draw the button under a figure that unfolds ``text``, and what is to be drawn ``below``."""
    key = f"explain_{what.replace(' ', '_')}"
    with st.popover(f"Explain this plot: {what}", icon=":material/help:", key=key):
        st.markdown(text)
        if below is not None:
            below()


def beats(drawn: str, formula: str, look_for: str, misread: str) -> str:
    """Join the four paragraphs of an explanation."""
    return (
        f"**What is drawn.** {drawn}\n\n**The formula, with the numbers on the screen.** {formula}"
        f"\n\n**What to look for.** {look_for}\n\n**How one could misread it.** {misread}"
    )


def draw_explanation(page: str, what: str, lesson: str, **fields: object) -> None:
    """Draw the button that unfolds the four paragraphs of a section of the lesson."""
    explain(what, beats(*section(page, lesson, **fields).split("\n\n")))


def draw_csv(name: str, rows: Callable[[], Iterable[Sequence[object]]]) -> None:
    """Draw the button that saves ``rows``, the first of them names, as a table."""
    st.download_button(
        f"{name} (CSV)", lambda: csv_text(rows()), f"{name.lower().replace(' ', '_')}.csv",
        icon=":material/table:", key=f"take_{name}", on_click="ignore",
    )  # fmt: skip
