"""The controls of the Experts page, all of them in its link."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from gating_core.attention import GATE_NAMES
from gating_core.tasks import TASKS
from ui.common.control_table import Controls, read, table
from ui.common.controls import Choice, Control, Fold, Number, Tabs, Where
from ui.common.front import front_columns
from ui.common.lessons import section
from ui.common.link_check import forget
from ui.common.links import parse_numbers
from ui.experts.data_controls import CURVES_CONTROLS, DATA_CONTROLS
from ui.experts.request import (
    EXPERT,
    FARTHEST,
    GRANULARITIES,
    MIXING,
    POSITIONS,
    RANDOM,
    SCALING,
    TABS,
    ExpertsSelection,
    resolve,
)
from ui.limits import EXPERTS_CHANNELS, EXPERTS_HEADS, EXPERTS_TOKENS

STYLE = Path(__file__).with_name("experts.css")
SEEDS = (0, 9999)
EXTENT = 1.0  # of the input's square
PAD_KEY, TREE_KEY = "experts_point", "experts_tree"


@dataclass(frozen=True, kw_only=True)
class LinkedOnly(Control):
    """What is dragged or clicked in a picture stands in the link alone."""

    @property
    def value(self) -> Any:
        return self.clean(self.linked)

    def widget(self, where: Where, **more: Any) -> Any:
        raise NotImplementedError(f"{self.key} is chosen in a picture")

    def put(self, value: Any) -> None:
        """Write it into the link; for callbacks only."""
        st.query_params.pop(self.key, None)
        if value != self.default:
            st.query_params[self.key] = self.raw(value)
        forget()


@dataclass(frozen=True, kw_only=True)
class Input(LinkedOnly):
    """A point of the square on which inputs are dragged, as "0.5,-0.3"."""

    @property
    def expected(self) -> str:
        return f"two numbers from {-EXTENT:g} to {EXTENT:g} with a comma between them"

    def parse(self, text: str) -> Any:
        numbers = parse_numbers(text)
        fits = numbers is not None and len(numbers) == 2 and max(map(abs, numbers)) <= EXTENT
        return numbers if fits else None

    def raw(self, value: Any) -> str:
        return ",".join(f"{x:.4g}" for x in value)


@dataclass(frozen=True, kw_only=True)
class Share(LinkedOnly):
    """A number from 0 to 1, in thousandths: a weaker gate would be lost in rounding."""

    @property
    def expected(self) -> str:
        return "a number from 0 to 1"

    def parse(self, text: str) -> Any:
        numbers = parse_numbers(text)
        fits = numbers is not None and len(numbers) == 1 and 0 <= numbers[0] <= 1
        return round(numbers[0], 3) if numbers and fits else None

    def raw(self, value: Any) -> str:
        return f"{value:g}"


@dataclass(frozen=True, kw_only=True)
class Followed(LinkedOnly):
    """An expert as "head.channel", both counted from 1."""

    shown_instead: str = "none"

    @property
    def expected(self) -> str:
        return "head.channel of an expert, each from 1 to 9"

    def parse(self, text: str) -> Any:
        return text if EXPERT.fullmatch(text) else None


MODEL = table(
    Choice("gate_at", "Gate", field="position", words=POSITIONS,
        help=section("experts", "gate_at")),
    Choice("gate_per", "One gate for each", field="granularity", words=GRANULARITIES,
        help=section("experts", "gate_per")),
    Choice("gate_kind", "Gate kind", field="kind", words=GATE_NAMES, shape="selectbox"),
    Choice("taught", "Weights", field="task", words=(RANDOM, *TASKS), shape="selectbox",
        help=section("experts", "taught")),
    Number("channels", "Channels D", field="model_dim", within=EXPERTS_CHANNELS, step=1,
        shape="box"),
    Number("head_count", "Heads H", field="heads", within=EXPERTS_HEADS, step=1, shape="box"),
    Number("tokens", "Tokens n", field="value_count", within=EXPERTS_TOKENS, step=1,
        shape="box"),
    Number("model_seed", "Seed", field="seed", within=SEEDS, step=1, shape="box",
        help=section("experts", "model_seed")),
    of=ExpertsSelection(),
)  # fmt: skip
ENTRY = table(
    Number("output", "Output j", field="channel", within=(1, EXPERTS_CHANNELS[1]), step=1,
        shape="box", help=section("experts", "output")),
    Input("input", field="point"),
    Share("open", field="strength"),
    Followed("expert"),
    of=ExpertsSelection(),
)  # fmt: skip
MOVE = table(
    Choice("along", "Move weights", field="direction", words=(MIXING, SCALING),
        help=section("experts", "along")),
    Number("far", "How far, t", field="distance", within=(-FARTHEST, FARTHEST), step=0.1,
        help=section("experts", "far")),
    of=ExpertsSelection(),
)  # fmt: skip
PAGE = table(
    Tabs("picture", words=TABS, default=TABS[0]),
    Fold("code", "The same from the library"),
)
EXPERTS: Controls = MODEL | ENTRY | MOVE | PAGE | DATA_CONTROLS | CURVES_CONTROLS


def read_selection() -> ExpertsSelection:
    """Draw the model's controls and read them; say what is shown for what cannot be."""
    st.html(STYLE)
    columns = front_columns([7.6, 3.4, 2.6, 2.6, 1.9, 1.9, 1.9, 1.9, 1.9])
    for control, column in zip((*MODEL.values(), ENTRY["output"]), columns, strict=True):
        control.draw(column)
    selection, notes = resolve(read(EXPERTS, ExpertsSelection))
    for note in notes:
        st.caption(f":material/info: {note}")
    return selection


def put_linked(key: str, value: Any) -> None:
    """Write what was dragged or clicked into the link; for callbacks only."""
    control = EXPERTS[key]
    assert isinstance(control, LinkedOnly)
    control.put(value)


def on_point() -> None:
    """Write the input into the link once the visitor lets go of it."""
    moved = st.session_state[PAD_KEY]["moved"]
    if moved["done"]:
        put_linked("input", (moved["x"], moved["y"]))
