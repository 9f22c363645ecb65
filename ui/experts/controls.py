"""The controls of the Experts page, all of them in its link."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.attention import GATE_NAMES
from gating_core.tasks import TASKS
from ui import limits
from ui.common.control_table import Controls, read, table
from ui.common.controls import Choice, Choices, Control, Flag, Fold, Number, Tabs, Where
from ui.common.front import front_columns
from ui.common.lessons import section
from ui.common.link_check import forget
from ui.common.links import parse_numbers
from ui.experts import request
from ui.experts.request import CurvesSelection, DataSelection, ExpertsSelection

STYLE = Path(__file__).with_name("experts.css")
SEEDS, FIRST_SEEDS = (0, 9999), (0, 9000)  # of one model; the first of several
EXTENT = 1.0  # of the input's square
PAD_KEY, TREE_KEY = "experts_point", "experts_tree"
Selection = TypeVar("Selection")


@dataclass(frozen=True, kw_only=True)
class LinkedOnly(Control):
    """What is dragged or clicked in a picture stands in the link alone, ``written`` as text.

    ``decode`` reads that, ``None`` if it cannot be read; ``encode`` writes it.
    """

    written: str
    decode: Callable[[str], Any]
    encode: Callable[[Any], str] = str

    @property
    def expected(self) -> str:
        return self.written

    def parse(self, text: str) -> Any:
        return self.decode(text)

    def raw(self, value: Any) -> str:
        return self.encode(value)

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


def _point(text: str) -> tuple[float, ...] | None:
    numbers = parse_numbers(text)
    fits = numbers is not None and len(numbers) == 2 and max(map(abs, numbers)) <= EXTENT
    return numbers if fits else None


def _share(text: str) -> float | None:
    """In thousandths: a weaker gate would be lost in rounding."""
    numbers = parse_numbers(text)
    fits = numbers is not None and len(numbers) == 1 and 0 <= numbers[0] <= 1
    return round(numbers[0], 3) if numbers and fits else None


MODEL = table(
    Choice("gate_at", "Gate", field="position", words=request.POSITIONS, help=section("experts",
        "gate_at")),
    Choice("gate_per", "One gate for each", field="granularity", words=request.GRANULARITIES,
        help=section("experts", "gate_per")),
    Choice("gate_kind", "Gate kind", field="kind", words=GATE_NAMES, shape="selectbox"),
    Choice("taught", "Weights", field="task", words=(request.RANDOM, *TASKS), shape="selectbox",
        help=section("experts", "taught")),
    Number("channels", "Channels D", field="model_dim", within=limits.EXPERTS_CHANNELS, step=1,
        shape="box"),
    Number("head_count", "Heads H", field="heads", within=limits.EXPERTS_HEADS, step=1,
        shape="box"),
    Number("tokens", "Tokens n", field="value_count", within=limits.EXPERTS_TOKENS, step=1,
        shape="box"),
    Number("model_seed", "Seed", field="seed", within=SEEDS, step=1, shape="box",
        help=section("experts", "model_seed")),
    of=ExpertsSelection(),
)  # fmt: skip
ENTRY = table(
    Number("output", "Output j", field="channel", within=(1, limits.EXPERTS_CHANNELS[1]), step=1,
        shape="box", help=section("experts", "output")),
    LinkedOnly("input", field="point", decode=_point,
        written=f"two numbers from {-EXTENT:g} to {EXTENT:g} with a comma between them",
        encode=lambda point: ",".join(f"{x:.4g}" for x in point)),
    LinkedOnly("open", field="strength", written="a number from 0 to 1", decode=_share,
        encode="{:g}".format),
    LinkedOnly("expert", written="head.channel of an expert, each from 1 to 9",
        shown_instead="none", decode=lambda text: text if request.EXPERT.fullmatch(text) else None),
    of=ExpertsSelection(),
)  # fmt: skip
MOVE = table(
    Choice("along", "Move weights", field="direction", words=(request.MIXING, request.SCALING),
        help=section("experts", "along")),
    Number("far", "How far, t", field="distance", within=(-request.FARTHEST, request.FARTHEST),
        step=0.1,
        help=section("experts", "far")),
    of=ExpertsSelection(),
)  # fmt: skip
PAGE = table(
    Tabs("picture", words=request.TABS, default=request.TABS[0]),
    Fold("code", "The same from the library"),
)
FRONT = table(
    Choices("students", "Gates", words=tuple(request.STUDENTS), most=limits.STUDENTS_DRAWN,
        default=DataSelection.students, help=section("experts", "students")),
    Choice("routing", "Routing", field="learned_routing",
        words={"known": False, "learned": True}, help=section("experts", "routing")),
    Flag("spare", "One expert too many", field="one_too_many", help=section("experts", "spare")),
    Number("repeats", "Repeats", within=limits.TEACHER_REPEATS, step=1, shape="box",
        help=section("experts", "repeats")),
    Number("measured", "Noise", field="noise", within=limits.TEACHER_NOISE, step=0.1, shape="box",
        help=section("experts", "noise")),
    of=DataSelection(),
)  # fmt: skip
SIZES = table(
    Number("teacher_dim", "Channels D", within=limits.TEACHER_DIM, step=1, shape="box"),
    Number("teacher_heads", "Heads H", within=limits.TEACHER_HEADS, step=1, shape="box"),
    Number("teacher_experts", "Experts of a head", within=limits.TEACHER_EXPERTS, step=1,
        shape="box"),
    Number("teacher_tokens", "Tokens n", within=limits.TEACHER_TOKENS, step=1, shape="box"),
    Number("teacher", "First seed", field="teacher_seed", within=FIRST_SEEDS, step=1, shape="box"),
    of=DataSelection(),
)  # fmt: skip
FOLDS = table(
    Fold("teachers", "Sizes and seed of the teachers"),
    Fold("every_place", "All gate positions, as a table"),
    Fold("data_code", "The same from the library"),
)
DATA_CONTROLS = FRONT | SIZES | FOLDS
CURVES_CONTROLS = table(
    Choice("learn_task", "Task", words=tuple(TASKS), shape="selectbox"),
    Choice("mixes", "Attention over", words=request.CURVES_SOURCES, help=section("experts",
        "mixes")),
    Choice("against", "Gate", words=request.CURVES_GATES, shape="selectbox",
        help=section("experts", "against")),
    Number("learn_dim", "Channels D", within=limits.CURVES_CHANNELS, step=1, shape="box"),
    Number("learn_values", "Tokens or slots n", within=limits.CURVES_VALUES, step=1, shape="box"),
    Number("wrong_labels", "Wrong labels", within=(0.0, 0.4), step=0.05, shape="box",
        help=section("experts", "wrong_labels")),
    Number("learn_seed", "First seed", within=FIRST_SEEDS, step=1, shape="box"),
    Number("reach", "Accuracy to reach", field="level", within=(0.6, 0.99), step=0.01,
        help=section("experts", "reach")),
    of=CurvesSelection(),
)  # fmt: skip
EXPERTS: Controls = MODEL | ENTRY | MOVE | PAGE | DATA_CONTROLS | CURVES_CONTROLS


def read_selection() -> ExpertsSelection:
    """Draw the model's controls and read them; say what is shown for what cannot be."""
    st.html(STYLE)
    columns = front_columns([7.6, 3.4, 2.6, 2.6, 1.9, 1.9, 1.9, 1.9, 1.9])
    _draw((*MODEL.values(), ENTRY["output"]), columns)
    return _noted(*request.resolve(read(EXPERTS, ExpertsSelection)))


def read_data(below: DeltaGenerator) -> DataSelection:
    """Draw the controls of *How many data does it take?* and read them; sizes are ``below``."""
    _draw(FRONT.values(), front_columns([10, 3.4, 4, 2.4, 2.4], align="bottom"))
    with FOLDS["teachers"].draw(below):
        _draw(SIZES.values(), st.columns(len(SIZES)))
    return _noted(*request.resolve_data(read(DATA_CONTROLS, DataSelection)))


def read_curves() -> CurvesSelection:
    """Draw the controls of *And in training?* and read them."""
    _draw(CURVES_CONTROLS.values(), front_columns([3, 3.4, 3, 2.2, 2.6, 2.6, 2.2, 4]))
    return _noted(*request.resolve_curves(read(CURVES_CONTROLS, CurvesSelection)))


def _draw(controls: Iterable[Control], columns: Sequence[DeltaGenerator]) -> None:
    for control, column in zip(controls, columns, strict=True):
        control.draw(column)


def _noted(selection: Selection, notes: list[str]) -> Selection:
    """Write the ``notes`` on a selection that was changed."""
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
