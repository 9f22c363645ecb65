"""What the sections of a page share: charts, explanations, and tables as CSV."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from ui.common.csv_text import csv_text
from ui.common.explain import beats, explain
from ui.common.figures import figures
from ui.common.lessons import section

BARE = {"displayModeBar": False}


@dataclass(frozen=True)
class SectionParts:
    """Parts of the sections of the page whose lesson is called ``page``."""

    page: str

    def draw_figure(
        self, key: tuple[Hashable, ...], make: Callable[[], go.Figure], alt: str, kept: bool = True
    ) -> None:
        """Draw a figure; ``key`` begins with its name on the page.

        It is ``kept`` for all visitors, unless it is soon out of date.
        """
        (chart,) = figures((self.page, *key), lambda: [make()]) if kept else [make()]
        st.plotly_chart(chart, alt=alt, key=f"{self.page}_{key[0]}", config=BARE)

    def draw_explanation(self, what: str, lesson: str, **fields: object) -> None:
        """Draw the button that unfolds the four paragraphs of a section of the lesson."""
        explain(what, beats(*section(self.page, lesson, **fields).split("\n\n")))


def draw_csv(name: str, rows: Callable[[], Iterable[Sequence[object]]]) -> None:
    """Draw the button that saves ``rows``, the first of them names, as a table."""
    st.download_button(
        f"{name} (CSV)", lambda: csv_text(rows()), f"{name.lower().replace(' ', '_')}.csv",
        icon=":material/table:", key=f"take_{name}", on_click="ignore",
    )  # fmt: skip
