"""The controls of the page At work, all of them in its link, and what they select."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.at_work import ToyRequest, WriteRequest
from gating_core.language import read_typed
from ui.at_work import measured
from ui.common.control_table import Controls, read, table
from ui.common.controls import Choice, Control, Number, Tabs
from ui.common.language_models import UNGATED
from ui.common.lessons import section
from ui.language.controls import model_controls, nearest_shipped, text_controls, text_front
from ui.language.selection import HEADS, TextSelection
from ui.limits import TOY_SEEDS, WRITE_TEMPERATURE

STYLE = Path(__file__).with_name("at_work.css")
TABS = SINKS, RANK, SPARSE, CONFIDENCE, WIRING, WRITE = (
    "Sinks", "Rank", "Sparse gates", "Confidence", "Wiring", "Write")  # fmt: skip
LANGUAGE_MODEL, TOY = "language models", "a toy"
ALL_HEADS = "all"
MOST, LEAST = "most lifted", "least lifted"  # the heads that a rule chooses
BEGINNINGS = {"english": "In the beginning ", "spanish": "En el principio "}
TOY_SEED_COUNT = 8


@dataclass(frozen=True)
class WriteSelection:
    """The controls of the tab Write, beside those that tabs share."""

    temperature: float = 0.7
    strength: float = 1.0  # λ of the gates
    draw: int = 0  # the seed of the text

    def request(self, selection: TextSelection) -> WriteRequest:
        """The request to continue the text of ``selection``."""
        text = read_typed(selection.typed)[0] or BEGINNINGS[selection.language]
        strength = self.strength if selection.name != UNGATED else 1.0
        return WriteRequest(*selection.model, text, self.temperature, strength, self.draw)


def toy_request(first: int) -> ToyRequest:
    """The toys that are trained: ``first`` is the first of their seeds."""
    return ToyRequest(seeds=tuple(range(first, first + TOY_SEED_COUNT)))


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
RANKED_HEAD = Choice("ranked_head", "Head", words=(MOST, LEAST, *HEADS), default=MOST,
                     shape="selectbox", help=section("at_work", "ranked_head"))  # fmt: skip
DRAW = Number("draw", "Seed of the text", default=WriteSelection.draw, within=(0, 9999), step=1,
              shape="box", help=section("at_work", "draw"))  # fmt: skip
WRITE_CONTROLS = table(
    Number("heat", "Temperature", field="temperature", within=WRITE_TEMPERATURE, step=0.1,
        shape="box", help=section("at_work", "heat")),
    Number("dial", "Gate strength λ", field="strength", within=(0.0, 1.0), step=0.1,
        help=section("at_work", "dial")),
    DRAW,
    of=WriteSelection(),
)  # fmt: skip
COMMON = MODEL | TEXT
PAGE = table(Tabs("tab_at_work", words=TABS, default=SINKS), RANKED_HEAD)
AT_WORK: Controls = PAGE | COMMON | SINK_CONTROLS | WRITE_CONTROLS
WIDTHS = {
    "gated_at": 2.6, "trained_as": 1.2, "typed": 5.4, "verse": 2.6, "tongue": 3.1,
    "specimen": 3.6, "seen_head": 1.4, "toy_seed": 2, "ranked_head": 2, "heat": 2, "dial": 3,
    "draw": 2,
}  # fmt: skip


def front(controls: Sequence[Control]) -> list[DeltaGenerator]:
    """Return the columns of ``controls`` in the row above the picture."""
    st.html(STYLE)
    return text_front(controls, WIDTHS)[0]


def read_selection(shared: Controls = COMMON, *more: Control, gated: bool = True) -> TextSelection:
    """Draw the ``shared`` controls and ``more`` above the picture; return what they select.

    That is the nearest that can be shown: of models with a gate, where the tab is about ``gated``
    ones. A sentence is drawn for each change.
    """
    controls = [*shared.values(), *more]
    for control, column in zip(controls, front(controls), strict=True):
        control.draw(column)
    return resolved(shared, gated=gated)


def resolved(shared: Controls, *, gated: bool = True) -> TextSelection:
    """Return the nearest selection that can be shown, and draw a sentence for each change."""
    return nearest_shipped(read(shared, TextSelection), measured.models(), gated=gated)
