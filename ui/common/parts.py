"""Parts of sections that several pages share: charts, explanations, tables to save.

``page`` is the name of a page's folder, and of its lesson.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.common.csv_text import csv_text
from ui.common.explain import beats, explain
from ui.common.figures import figures
from ui.common.lessons import section

STYLE = Path(__file__).with_suffix(".css")
BARE = {"displayModeBar": False}


def chart_columns(name: str, widths: int | Sequence[float]) -> list[DeltaGenerator]:
    """Return columns of charts side by side, two in a row where there is no room for more."""
    st.html(STYLE)
    return st.container(key=f"charts-{name}").columns(widths)


def draw_figure(
    page: str, key: tuple[Hashable, ...], make: Callable[[], go.Figure], alt: str,
    cached: bool = True, **more: Any,
) -> None:  # fmt: skip
    """Draw a figure; ``key`` begins with its name on the page, ``more`` goes to Streamlit.

    It is ``cached`` for all visitors, unless it is soon out of date.
    """
    (chart,) = figures((page, *key), lambda: [make()]) if cached else [make()]
    st.plotly_chart(chart, alt=alt, key=f"{page}_{key[0]}", config=BARE, **more)


def draw_explanation(page: str, what: str, lesson: str, **fields: object) -> None:
    """Draw the button that unfolds the four paragraphs of a section of the lesson."""
    explain(what, beats(*section(page, lesson, **fields).split("\n\n")))


def draw_csv(name: str, rows: Callable[[], Iterable[Sequence[object]]]) -> None:
    """Draw the button that saves ``rows``, the first of them names, as a table."""
    st.download_button(
        f"{name} (CSV)", lambda: csv_text(rows()), f"{name.lower().replace(' ', '_')}.csv",
        icon=":material/table:", key=f"take_{name}", on_click="ignore",
    )  # fmt: skip
