"""The controls of the sections on data."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.tasks import TASKS
from ui.common.control_table import draw_columns, read, table
from ui.common.controls import Choice, Choices, Flag, Fold, Number
from ui.common.front import front_columns
from ui.common.lessons import section
from ui.experts.data_request import (
    CURVES_GATES,
    CURVES_SOURCES,
    STUDENTS,
    CurvesSelection,
    DataSelection,
    resolve_curves,
    resolve_data,
)
from ui.limits import (
    CURVES_CHANNELS,
    CURVES_VALUES,
    STUDENTS_DRAWN,
    TEACHER_DIM,
    TEACHER_EXPERTS,
    TEACHER_HEADS,
    TEACHER_NOISE,
    TEACHER_REPEATS,
    TEACHER_TOKENS,
)

SEEDS = (0, 9000)  # of the first of several

FRONT = table(
    Choices("students", "Gates", words=tuple(STUDENTS), most=STUDENTS_DRAWN,
        default=DataSelection.students,
        help=section("experts", "students")),
    Choice("routing", "Routing", field="learned_routing",
        words={"known": False, "learned": True}, help=section("experts", "routing")),
    Flag("spare", "One expert too many", field="one_too_many", help=section("experts", "spare")),
    Number("repeats", "Repeats", within=TEACHER_REPEATS, step=1, shape="box",
        help=section("experts", "repeats")),
    Number("measured", "Noise", field="noise", within=TEACHER_NOISE, step=0.1, shape="box",
        help=section("experts", "noise")),
    of=DataSelection(),
)  # fmt: skip
SIZES = table(
    Number("teacher_dim", "Channels D", within=TEACHER_DIM, step=1,
        shape="box"),
    Number("teacher_heads", "Heads H", within=TEACHER_HEADS, step=1, shape="box"),
    Number("teacher_experts", "Experts of a head", within=TEACHER_EXPERTS,
        step=1, shape="box"),
    Number("teacher_tokens", "Tokens n", within=TEACHER_TOKENS, step=1,
        shape="box"),
    Number("teacher", "First seed", field="teacher_seed", within=SEEDS, step=1, shape="box"),
    of=DataSelection(),
)  # fmt: skip
FOLDS = table(
    Fold("teachers", "Sizes and seed of the teachers", reruns=False),
    Fold("every_place", "All gate positions, as a table"),
    Fold("data_code", "The same from the library"),
)
DATA_CONTROLS = FRONT | SIZES | FOLDS
CURVES_CONTROLS = table(
    Choice("learn_task", "Task", words=tuple(TASKS), shape="selectbox"),
    Choice("mixes", "Attention over", words=CURVES_SOURCES,
        help=section("experts", "mixes")),
    Choice("against", "Gate", words=CURVES_GATES, shape="selectbox",
        help=section("experts", "against")),
    Number("learn_dim", "Channels D", within=CURVES_CHANNELS, step=1,
        shape="box"),
    Number("learn_values", "Tokens or slots n", within=CURVES_VALUES, step=1,
        shape="box"),
    Number("wrong_labels", "Wrong labels", within=(0.0, 0.4), step=0.05, shape="box",
        help=section("experts", "wrong_labels")),
    Number("learn_seed", "First seed", within=SEEDS, step=1, shape="box"),
    Number("reach", "Accuracy to reach", field="level", within=(0.6, 0.99), step=0.01,
        help=section("experts", "reach")),
    of=CurvesSelection(),
)  # fmt: skip


def read_data(below: DeltaGenerator) -> DataSelection:
    """Draw the controls of *How many data does it take?* and read them; sizes are ``below``."""
    for control, column in zip(
        FRONT.values(), front_columns([10, 3.4, 4, 2.4, 2.4], align="bottom"), strict=True
    ):
        control.draw(column)
    with FOLDS["teachers"].draw(below):
        draw_columns(SIZES, st.columns(len(SIZES)), [[key] for key in SIZES])
    selection, notes = resolve_data(read(DATA_CONTROLS, DataSelection))
    _say(notes)
    return selection


def read_curves() -> CurvesSelection:
    """Draw the controls of *And in training?* and read them."""
    columns = front_columns([3, 3.4, 3, 2.2, 2.6, 2.6, 2.2, 4])
    for control, column in zip(CURVES_CONTROLS.values(), columns, strict=True):
        control.draw(column)
    selection, notes = resolve_curves(read(CURVES_CONTROLS, CurvesSelection))
    _say(notes)
    return selection


def _say(notes: list[str]) -> None:
    for note in notes:
        st.caption(f":material/info: {note}")
