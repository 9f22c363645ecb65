"""The controls of the page At work that its tabs share, all of them in its link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from gating_core.language import SEEDS
from ui.at_work import measured
from ui.at_work.request import (
    GATES,
    SINKS,
    TONGUES,
    AtWorkSelection,
    resolve,
    verses,
)
from ui.common.control_table import Controls, read, table
from ui.common.controls import Choice, Control, Tabs, Where
from ui.common.front import front_columns
from ui.common.lessons import section
from ui.limits import READ_CHARACTERS

TABS = (SINKS,)  # as in ui/at_work/sections.py


@dataclass(frozen=True, kw_only=True)
class Typed(Control):
    """A text of at most ``most`` characters; empty by default."""

    most: int
    placeholder: str

    @property
    def wanted(self) -> str:
        return f"a text of at most {self.most} characters"

    def parse(self, text: str) -> str | None:
        return text if len(text) <= self.most else None

    def widget(self, where: Where, **more: Any) -> Any:
        return where.text_input(
            self.label, max_chars=self.most, placeholder=self.placeholder, **more
        )


COMMON = table(
    Choice("gated_at", "Gate", field="name", words=GATES, shape="selectbox",
        help=section("at_work", "gated_at")),
    Choice("trained_as", "Seed", field="seed", words={str(seed): seed for seed in SEEDS},
        shape="selectbox", help=section("at_work", "trained_as")),
    Typed("typed", "Text", most=READ_CHARACTERS, placeholder=section("at_work", "placeholder"),
        shown_instead="the verse", help=section("at_work", "typed")),
    Choice("verse", "or a verse", words=tuple(verses()), shape="selectbox"),
    Choice("tongue", "in", field="language", words=TONGUES),
    of=AtWorkSelection(),
)  # fmt: skip
PAGE = table(Tabs("tab_at_work", words=TABS, default=TABS[0]))
AT_WORK: Controls = PAGE | COMMON


def read_selection(*, gated: bool = False) -> AtWorkSelection:
    """Draw the shared controls and read them; say what is shown for what cannot be."""
    columns = front_columns([2.4, 1.2, 6, 2.6, 2.4])
    for control, column in zip(COMMON.values(), columns, strict=True):
        control.draw(column)
    selection, notes = resolve(read(COMMON, AtWorkSelection), measured.models(), gated=gated)
    for note in notes:
        st.caption(f":material/info: {note}")
    return selection
