"""*Your own data*: points that are drawn, uploaded or pasted, or refused with row and reason.

The link contains a drawing, and a table that is small enough. A larger one is lost after this
visit, which the page says before and afterwards.
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
from ui.decision_boundary.controls import DECISION_BOUNDARY, draw_fold
from ui.decision_boundary.names import page_text
from ui.decision_boundary.own_links import (
    DRAWING,
    NAMES,
    TABLE,
    TOO_LARGE,
    drawn_own,
    encode_drawing,
    encode_table,
)
from ui.decision_boundary.request import automatic_share
from ui.decision_boundary.words import scaling_text, split_text
from ui.drawing import palette
from ui.foreign import as_words, printable
from ui.limits import DRAWN_POINTS_IN_LINK, PASTED_CHARACTERS, UPLOAD_MB

LARGE_TABLE = "own_table"  # the last table, if it is too large for the link
READ = "own_read"  # the last table, as it was read
PROBLEM = "own_problem"  # why what came after it was refused


def own_data() -> OwnData | None:
    """Return the visitor's points, if there are any that can be used: a table, or a drawing."""
    return _table() or _drawing()[0]


def table_is_lost() -> bool:
    """Whether the link is about a table that was too large for it, and is not there any more."""
    return TABLE.linked == TOO_LARGE and _table() is None


def _table() -> OwnData | None:
    linked = TABLE.linked
    return st.session_state.get(LARGE_TABLE) if linked == TOO_LARGE else linked


def _drawing() -> tuple[OwnData | None, str]:
    """Return the drawing in the link as data, or why it is none."""
    drawing = DRAWING.linked
    try:
        return (None if drawing is None else drawn_own(drawing)), ""
    except OwnDataError as error:
        return None, str(error)


def draw_own() -> None:
    """Draw the three ways to bring points, and what became of them, in their fold."""
    draw_fold("own", ("own_text", DRAWING.key, TABLE.key), _draw_ways)


def _draw_ways() -> None:
    by_hand, upload, paste = st.tabs(("Draw", "Upload", "Paste"))
    with by_hand:
        st.caption(page_text("draw"))
        points, labels = DRAWING.linked or ((), ())
        draw(key="own_draw", points=points, labels=labels, class_names=NAMES,
             most=DRAWN_POINTS_IN_LINK, colours=palette.CLASS_COLOURS,
             on_change=_on_draw)  # fmt: skip
    with upload:
        label = page_text(
            "upload", classes=MOST_CLASSES, rows=f"{MOST_POINTS:,}", size=f"{LARGEST_BYTES / 1e6:g}"
        )
        st.file_uploader(label, type=None, key="own_file", on_change=_on_file,
                         max_upload_size=UPLOAD_MB)  # fmt: skip
        st.download_button("An example", EXAMPLE_CSV, "example.csv", on_click="ignore",
                           icon=":material/download:", key="own_example")  # fmt: skip
    with paste:
        st.text_area("A table with columns x, y and label", key="own_text", on_change=_on_text,
                     max_chars=PASTED_CHARACTERS, placeholder=EXAMPLE_CSV[:60])  # fmt: skip
        st.caption(page_text("paste", characters=f"{PASTED_CHARACTERS:,}"))
    own = own_data()
    if table_is_lost():
        st.caption(f":material/link_off: {page_text('lost_table')}")
    problem = st.session_state.get(PROBLEM) or ("" if own else _drawing()[1])
    if problem:
        st.error(as_words(problem))
    if own is not None:
        _draw_use(own, "Still in use, from before" if problem else "In use")


def _draw_use(own: OwnData, whose: str) -> None:
    fits = own is not st.session_state.get(LARGE_TABLE)
    names = printable(", ".join(own.names))
    last = st.session_state.get(READ)
    if own == last and last.remark:  # the link has the numbers, not how they were written
        st.warning(as_words(last.remark))
    text = f"{whose}: {len(own.points)} points, classes {names}. {scaling_text(own)}"
    st.text(f"{text} {page_text('in_link')}" if fits else text)
    if not fits:
        st.caption(f":material/link_off: {page_text('not_in_link')}")
    # What the slider under *More* says.
    st.text(split_text(own, DECISION_BOUNDARY["share"].value or automatic_share(TASK_NAME)))


def _on_draw() -> None:
    points, labels = drawn("own_draw")
    _link(DRAWING.key, encode_drawing(points, labels))
    if _drawing()[0] is not None:
        st.session_state.pop(LARGE_TABLE, None)
        _link(TABLE.key, "")
        _use()
    st.session_state.pop(PROBLEM, None)


def _on_file() -> None:
    file = st.session_state.get("own_file")
    if file is None:
        st.session_state.pop(PROBLEM, None)
    else:
        _read(file.getvalue())


def _on_text() -> None:
    _read(st.session_state.get("own_text", ""))


def _read(source: bytes | str) -> None:
    try:
        table = parse_csv(source)
    except OwnDataError as error:
        st.session_state[PROBLEM] = str(error)
        return
    text = encode_table(table)
    _link(TABLE.key, text)
    st.session_state[READ] = table
    st.session_state.pop(LARGE_TABLE, None)
    if text == TOO_LARGE:
        st.session_state[LARGE_TABLE] = table
    st.session_state.pop(PROBLEM, None)
    _use()


def _link(key: str, text: str) -> None:
    """Let the link say ``text``, or nothing."""
    st.query_params.pop(key, None)
    if text:
        st.query_params[key] = text


def _use() -> None:
    DECISION_BOUNDARY["data"].set(TASK_NAME)
    forget()
