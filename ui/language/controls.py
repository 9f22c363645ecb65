"""The controls that choose a language model and a text, and the row in which they stand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.language import SEEDS
from ui.common.control_table import Controls, table
from ui.common.controls import Choice, Control
from ui.common.front import front_rows
from ui.common.language_models import GATES, TONGUES
from ui.common.lessons import section
from ui.common.link_controls import Typed
from ui.language.selection import (
    Model,
    Selection,
    TextSelection,
    resolve,
    verses,
)
from ui.limits import READ_CHARACTERS


def model_controls(gate: str, seed: str, selection: TextSelection) -> Controls:
    """Return the controls of a model, called ``gate`` and ``seed`` in the link."""
    return table(
        Choice(gate, "Gate", field="name", words=GATES, shape="selectbox",
            help=section("language", "gate")),
        Choice(seed, "Seed", field="seed", words={str(seed): seed for seed in SEEDS},
            shape="selectbox", help=section("language", "seed")),
        of=selection,
    )  # fmt: skip


def text_controls(typed: str, verse: str, tongue: str, selection: TextSelection) -> Controls:
    """Return the controls of a text, called ``typed``, ``verse`` and ``tongue`` in the link."""
    return table(
        Typed(typed, "Text", field="typed", most=READ_CHARACTERS,
            placeholder=section("language", "placeholder"), shown_instead="the verse",
            help=section("language", "typed")),
        Choice(verse, "Or a verse", field="verse", words=tuple(verses()), shape="selectbox"),
        Choice(tongue, "Language", field="language", words=TONGUES),
        of=selection,
    )  # fmt: skip


def text_front(
    controls: Sequence[Control],
    widths: Mapping[str, float],
    room: float = 0,
    below: Sequence[Sequence[float]] = (),
) -> list[list[DeltaGenerator]]:
    """Return the columns of ``controls`` in a row above the picture, of ``widths`` by key.

    With ``room`` beside them there is one column more. Then the columns of the rows ``below``.
    """
    columns = [widths[control.key] for control in controls]
    return front_rows([[*columns, room] if room else columns, *below])


def nearest_shipped(
    selection: Selection, models: Collection[Model], *, gated: bool = False
) -> Selection:
    """Return the nearest selection that can be shown, and draw a sentence for each change."""
    selection, notes = resolve(selection, models, gated=gated)
    for note in notes:
        st.caption(f":material/info: {note}")
    return selection
