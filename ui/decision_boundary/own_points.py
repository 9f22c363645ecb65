"""*Your own data*: drawn, uploaded or pasted, or refused with row, column and reason.

A drawing stands in the link, and so does a table that is small enough; a larger one is this visit's
alone, which the page says before it is lost and afterwards.
"""

from __future__ import annotations

import streamlit as st

from gating_core.tasks import (
    EXAMPLE_CSV,
    LARGEST_BYTES,
    MOST_CLASSES,
    MOST_POINTS,
    TASK_NAME,
    OwnData,
    OwnDataError,
    parse_csv,
)
from ui.common.link_check import forget
from ui.components.draw import draw, drawn
from ui.decision_boundary.controls import DECISION_BOUNDARY
from ui.decision_boundary.drawing import NAMES, encoded, own_of
from ui.decision_boundary.request import LOST, as_it_comes
from ui.decision_boundary.table_link import TOO_LARGE
from ui.decision_boundary.table_link import encoded as encoded_table
from ui.decision_boundary.words import scaling_text, split_text
from ui.drawing import palette
from ui.foreign import as_words, printable
from ui.limits import DRAWN_POINTS_IN_LINK, PASTED_CHARACTERS, UPLOAD_MB

TABLE = "own_table"  # what was read last, if it is too large for the link
PROBLEM = "own_problem"  # why what came then was not
DRAWING, LINKED = DECISION_BOUNDARY["drawing"], DECISION_BOUNDARY["table"]
IN_LINK = "It stands in the link."
NOT_IN_LINK = (
    "It is too large for the link: after a reload it must be given again, and whoever opens the"
    " link does not have it."
)


def own_data() -> OwnData | None:
    """The visitor's points, if there are any that can be used: the table, or else the drawing."""
    return _table() or _drawing()[0]


def table_is_lost() -> bool:
    """Whether the link is about a table that was too large for it, and is not there any more."""
    return LINKED.linked == TOO_LARGE and _table() is None


def _table() -> OwnData | None:
    """The table of the link; one that did not fit into it is there in the visit that brought it."""
    linked = LINKED.linked
    return st.session_state.get(TABLE) if linked == TOO_LARGE else linked


def _drawing() -> tuple[OwnData | None, str]:
    """What the drawing in the link is as data, or why it is none."""
    drawing = DRAWING.linked
    if drawing is None:
        return None, ""
    try:
        return own_of(drawing), ""
    except OwnDataError as error:
        return None, str(error)


def draw_own() -> None:
    """The three ways to bring points, and what became of them."""
    drawing, upload, paste = st.tabs(("Draw", "Upload", "Paste"))
    with drawing:
        st.caption(
            "Draw points of two to four colours; training starts as soon as they suffice. They"
            " stand in the link."
        )
        points, labels = DRAWING.linked or ((), ())
        draw(key="own_draw", points=points, labels=labels, class_names=NAMES,
             most=DRAWN_POINTS_IN_LINK, colours=palette.CLASS_COLOURS,
             on_change=_on_draw)  # fmt: skip
    with upload:
        st.file_uploader(
            f"A CSV file with columns x, y and label: 2 to {MOST_CLASSES} classes, at most"
            f" {MOST_POINTS:,} rows and {LARGEST_BYTES / 1e6:g} MB",
            type=None, key="own_file", on_change=_on_file, max_upload_size=UPLOAD_MB,
        )  # fmt: skip
        st.download_button("An example", EXAMPLE_CSV, "example.csv", on_click="ignore",
                           icon=":material/download:", key="own_example")  # fmt: skip
    with paste:
        st.text_area("A table with columns x, y and label", key="own_text", on_change=_on_text,
                     max_chars=PASTED_CHARACTERS, placeholder=EXAMPLE_CSV[:60])  # fmt: skip
        st.caption(
            f"A text of more than {PASTED_CHARACTERS:,} characters is not taken: the box and the"
            " points stay as they were."
        )
    own = own_data()
    if table_is_lost():
        st.caption(f":material/link_off: {LOST}")
    problem = st.session_state.get(PROBLEM) or ("" if own else _drawing()[1])
    if problem:
        st.error(as_words(problem))
    if own is not None:
        whose = "Still in use, from before" if problem else "In use"
        fits = own is not st.session_state.get(TABLE)
        st.text(
            f"{whose}: {len(own.points)} points, classes {printable(', '.join(own.names))}."
            f" {scaling_text(own)}{f' {IN_LINK}' if fits else ''}"
        )
        if not fits:
            st.caption(f":material/link_off: {NOT_IN_LINK}")
        # What the slider under *More* says, which has been drawn by now.
        st.text(split_text(own, st.session_state["share"] or as_it_comes(TASK_NAME)))


def _on_draw() -> None:
    points, labels = drawn("own_draw")
    st.query_params.pop(DRAWING.key, None)
    if points:
        st.query_params[DRAWING.key] = encoded(points, labels)
    if _drawing()[0] is not None:
        st.session_state.pop(TABLE, None)
        st.query_params.pop(LINKED.key, None)
        _use()
    _forget_problem()


def _use() -> None:
    """Learn one's own points from here on."""
    DECISION_BOUNDARY["data"].set(TASK_NAME)
    forget()


def _forget_problem() -> None:
    st.session_state.pop(PROBLEM, None)


def _on_file() -> None:
    file = st.session_state.get("own_file")
    if file is not None:
        _read(file.getvalue())
    else:
        _forget_problem()


def _on_text() -> None:
    _read(st.session_state.get("own_text", ""))


def _read(source: bytes | str) -> None:
    try:
        table = parse_csv(source)
    except OwnDataError as error:
        st.session_state[PROBLEM] = str(error)
        return
    st.query_params[LINKED.key] = text = encoded_table(table)
    if text == TOO_LARGE:
        st.session_state[TABLE] = table
    else:
        st.session_state.pop(TABLE, None)
    _forget_problem()
    _use()
