"""*Your own data*: drawn, uploaded or pasted, or refused with row, column and reason."""

from __future__ import annotations

import numpy as np
import streamlit as st

from gating_core.tasks import (
    EXAMPLE_CSV,
    LARGEST_BYTES,
    MOST_CLASSES,
    MOST_POINTS,
    TASK_NAME,
    OwnData,
    OwnDataError,
    drawn_data,
    parse_csv,
)
from ui.common.link_check import forget
from ui.common.words import literal
from ui.components.draw import draw, drawn
from ui.drawing import palette
from ui.playground.controls import OWN
from ui.playground.request import as_it_comes
from ui.playground.words import scaling_text, split_text

DRAWING, TABLE = "own_drawing", "own_table"
NAMES = ("blue", "orange", "green", "purple")


def own_data() -> OwnData | None:
    """The visitor's points, if there are any that can be used."""
    return st.session_state.get(OWN)


def draw_own() -> None:
    """The three ways to bring points, and what became of them."""
    drawing, upload, paste = st.tabs(("Draw", "Upload", "Paste"))
    with drawing:
        st.caption("Draw points of two to four colours; training starts as soon as they suffice.")
        points, labels = st.session_state.get(DRAWING, ((), ()))
        draw(key="own_draw", points=points, labels=labels, class_names=NAMES,
             colours=palette.CLASS_COLOURS, on_change=_on_draw)  # fmt: skip
    with upload:
        st.file_uploader(
            f"A CSV file with columns x, y and label: 2 to {MOST_CLASSES} classes, at most"
            f" {MOST_POINTS:,} rows and {LARGEST_BYTES / 1e6:g} MB",
            type=None, key="own_file", on_change=_on_file,
        )  # fmt: skip
        st.download_button("An example", EXAMPLE_CSV, "example.csv", on_click="ignore",
                           icon=":material/download:", key="own_example")  # fmt: skip
    with paste:
        st.text_area("A table with columns x, y and label", key="own_text", on_change=_on_text,
                     placeholder=EXAMPLE_CSV[:60])  # fmt: skip
    problem = st.session_state.get("own_problem")
    if problem:
        st.error(literal(problem))
    own = own_data()
    if own is not None:
        st.text(
            f"In use: {len(own.points)} points, classes {', '.join(own.names)}. {scaling_text(own)}"
        )
        # What the slider under *More* says, which has been drawn by now.
        st.text(split_text(own, st.session_state["share"] or as_it_comes(TASK_NAME)))


def _keep(own: OwnData) -> None:
    st.session_state[OWN] = own
    st.session_state["data"] = TASK_NAME
    st.session_state.pop("own_problem", None)
    forget()


def _on_draw() -> None:
    points, labels = drawn("own_draw")
    st.session_state[DRAWING] = (points, labels)
    try:
        _keep(drawn_data(np.array(points).reshape(-1, 2), labels, NAMES))
    except OwnDataError as error:
        st.session_state["own_problem"] = str(error)


def _on_file() -> None:
    file = st.session_state.get("own_file")
    if file is not None:
        _read(file.getvalue())
    else:
        st.session_state.pop("own_problem", None)


def _on_text() -> None:
    _read(st.session_state.get("own_text", ""))


def _read(source: bytes | str) -> None:
    try:
        _keep(parse_csv(source))
    except OwnDataError as error:
        st.session_state["own_problem"] = str(error)
