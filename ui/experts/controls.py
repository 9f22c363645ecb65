"""The controls of the Experts page, all of them in its link."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from gating_core.attention import GATE_NAMES
from ui.common.control_table import Controls, read, table
from ui.common.controls import Choice, Number, Tabs
from ui.common.front import front_columns
from ui.common.lessons import section
from ui.common.possible import fitting_heads
from ui.experts.request import POSITIONS, TABS, ExpertsSelection
from ui.limits import EXPERTS_CHANNELS, EXPERTS_HEADS, EXPERTS_TOKENS

SEEDS = (0, 9999)

MODEL = table(
    Choice("gate_at", "Gate", field="position", words=POSITIONS,
        help=section("experts", "gate_at")),
    Choice("gate_per", "One gate for each", field="granularity",
        words={"channel": "elementwise", "head": "headwise"}),
    Choice("gate_kind", "Its kind", field="kind", words=GATE_NAMES, shape="selectbox"),
    Number("channels", "Channels D", field="model_dim", within=EXPERTS_CHANNELS, step=1,
        shape="box"),
    Number("head_count", "Heads H", field="heads", within=EXPERTS_HEADS, step=1, shape="box"),
    Number("tokens", "Tokens n", field="value_count", within=EXPERTS_TOKENS, step=1,
        shape="box"),
    Number("model_seed", "Seed", field="seed", within=SEEDS, step=1, shape="box"),
    of=ExpertsSelection(),
)  # fmt: skip
EXPERTS: Controls = MODEL | table(Tabs("picture", words=TABS, default=TABS[0]))


def read_selection() -> ExpertsSelection:
    """Draw the model's controls and read them; say what is shown for what cannot be."""
    columns = front_columns([5, 3, 2, 2, 2, 2, 2])
    for control, column in zip(MODEL.values(), columns, strict=True):
        control.draw(column)
    selection = read(EXPERTS, ExpertsSelection)
    heads, note = fitting_heads(selection.heads, selection.model_dim)
    if note:
        st.caption(f":material/info: {note}")
    return replace(selection, heads=heads)
