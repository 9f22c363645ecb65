"""The controls of the page At work, all of them in its link."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.at_work import measured
from ui.at_work.rank_words import LEAST, MOST
from ui.at_work.request import (
    ALL_HEADS,
    CONFIDENCE,
    LANGUAGE_MODEL,
    RANK,
    SINKS,
    SPARSE,
    TOY,
    WIRING,
    WRITE,
    WriteSelection,
)
from ui.common.control_table import Controls, read, table
from ui.common.controls import Choice, Control, Number, Tabs
from ui.common.lessons import section
from ui.language.controls import model_controls, nearest_shipped, text_controls, text_front
from ui.language.selection import HEADS, TextSelection
from ui.limits import TOY_SEEDS, WRITE_TEMPERATURE

STYLE = Path(__file__).with_name("at_work.css")
TABS = (SINKS, RANK, SPARSE, CONFIDENCE, WIRING, WRITE)  # as in ui/at_work/sections.py
DRAWS = (0, 9999)
MODEL = model_controls("gated_at", "trained_as", TextSelection())
TEXT = text_controls("typed", "verse", "tongue", TextSelection())
SINK_CONTROLS = table(
    Choice("specimen", "Look at", words=(LANGUAGE_MODEL, TOY), default=LANGUAGE_MODEL,
        help=section("at_work", "specimen")),
    Choice("seen_head", "Head", default=ALL_HEADS, shape="selectbox",
        words=(ALL_HEADS, *HEADS)),
    Number("toy_seed", "First seed", default=0, within=TOY_SEEDS, step=1, shape="box",
        help=section("at_work", "toy_seed")),
)  # fmt: skip
RANK_CONTROLS = table(
    Choice("ranked_head", "Head", words=(MOST, LEAST, *HEADS), default=MOST, shape="selectbox",
        help=section("at_work", "ranked_head")),
)  # fmt: skip
DRAW = Number("draw", "Seed of the text", default=WriteSelection.draw, within=DRAWS, step=1,
              shape="box", help=section("at_work", "draw"))  # fmt: skip
WRITE_CONTROLS = table(
    Number("heat", "Temperature", field="temperature", within=WRITE_TEMPERATURE, step=0.1,
        shape="box", help=section("at_work", "heat")),
    Number("dial", "Gate strength λ", field="strength", within=(0.0, 1.0), step=0.1,
        help=section("at_work", "dial")),
    DRAW,
    of=WriteSelection(),
)  # fmt: skip
PAGE = table(Tabs("tab_at_work", words=TABS, default=TABS[0]))
COMMON: Controls = MODEL | TEXT
AT_WORK: Controls = PAGE | COMMON | SINK_CONTROLS | RANK_CONTROLS | WRITE_CONTROLS
WIDTHS = {
    "gated_at": 2.6, "trained_as": 1.2, "typed": 5.4, "verse": 2.6, "tongue": 3.1,
    "specimen": 3.6, "seen_head": 1.4, "toy_seed": 2, "ranked_head": 2, "heat": 2, "dial": 3,
    "draw": 2,
}  # fmt: skip


def front(controls: Sequence[Control]) -> list[DeltaGenerator]:
    """Return the columns of ``controls`` in the row above the picture."""
    st.html(STYLE)
    return text_front(controls, WIDTHS)[0]


def draw_front(controls: Sequence[Control]) -> None:
    """Draw ``controls`` in the row above the picture."""
    for control, column in zip(controls, front(controls), strict=True):
        control.draw(column)


def read_selection() -> TextSelection:
    """Draw the shared controls and read them, for a tab that shows models with a gate."""
    draw_front([*COMMON.values()])
    return resolved(read(COMMON, TextSelection), gated=True)


def resolved(selection: TextSelection, *, gated: bool = False) -> TextSelection:
    """Return the nearest selection that can be shown, and draw a sentence for each change."""
    return nearest_shipped(selection, measured.models(), gated=gated)
