"""Your own data: points that are drawn, uploaded or pasted, or refused with row and reason.

The link contains a drawing, and a table that is small enough. A larger table is lost after this
visit, which the page says before and afterwards.

In the link a drawing takes three bytes a point, in the letters of base64: 500 points are 2,000
letters. A table is compressed CSV with every digit, so that the same points are the same run: a
hundred points with two digits after the point are some 600 letters.
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

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
    quote,
    train_counts,
)
from ui.common.links import LINK, link_value
from ui.components import draw as square
from ui.components.draw import DIGITS, Point
from ui.decision_boundary.model import text
from ui.decision_boundary.shared import in_use, put_in_link
from ui.drawing import palette
from ui.foreign import as_words, error_words, printable
from ui.limits import (
    CACHED_DRAWINGS,
    DRAWN_POINTS_IN_LINK,
    PASTED_CHARACTERS,
    TABLE_LETTERS_IN_LINK,
    UPLOAD_MB,
)

CLASSES = ("blue", "orange", "teal", "pink")
UNITS = 10**DIGITS  # from the middle of the square to its edge
ALONG = 2 * UNITS + 1  # positions along an edge
LETTERS, BYTES = 4, 3  # of a point
TOO_LARGE = "too-large"  # what stands in the link for a table that does not fit
URL_LETTERS = re.compile(r"[A-Za-z0-9_-]+")
WITHOUT_HEAD = -zlib.MAX_WBITS  # what zlib calls a stream that does not say how it was made
COARSE_BELOW = 20  # test points: one more or less right shows in the accuracy
LARGE_TABLE = "own_table"  # the last table, if it is too large for the link
READ = "own_read"  # the last table, as it was read
PROBLEM = "own_problem"  # why what came after it was refused

Points = tuple[tuple[Point, ...], tuple[int, ...]]  # and their labels
NO_POINTS: Points = ((), ())


def draw(train_share: float) -> tuple[OwnData | None, bool]:
    """Draw the fold with the three ways to bring points, and what became of them.

    ``train_share`` is what the page trains own points with. Returns the points, if there are any
    that can be used, a table before a drawing; and whether the link is about a table that was too
    large for it and is not there any more.
    """
    table = link_value("table", _parse_table, None)
    drawing = link_value("drawing", decode_drawing, NO_POINTS)
    if isinstance(table, str):  # too large for the link
        table = st.session_state.get(LARGE_TABLE)
        lost = table is None
    else:
        lost = False
    drawn, problem = (None, "") if not drawing[0] else _usable(drawing)
    own = table or drawn
    fold = st.expander("Your own data: draw, upload, paste", key="own", on_change="rerun", **LINK)
    if fold.open or in_use(("own_text", "drawing", "table")):
        with fold:
            _draw_ways(drawing)
            if lost:
                st.caption(f":material/link_off: {text('lost_table')}")
            problem = st.session_state.get(PROBLEM) or ("" if own else problem)
            if problem:
                st.error(f"{error_words(problem)}.")
            if own is not None:
                _draw_use(own, "Still in use, from before" if problem else "In use", train_share)
    return own, lost


def _draw_ways(drawing: Points) -> None:
    by_hand, upload, paste = st.tabs(("Draw", "Upload", "Paste"))
    with by_hand:
        st.caption(text("draw"))
        points, labels = drawing
        square.draw(
            key="own_draw",
            points=points,
            labels=labels,
            class_names=CLASSES,
            most=DRAWN_POINTS_IN_LINK,
            colours=palette.CLASS_COLOURS,
            on_change=_on_draw,
        )
    with upload:
        label = text(
            "upload", classes=MOST_CLASSES, rows=f"{MOST_POINTS:,}", size=f"{LARGEST_BYTES / 1e6:g}"
        )
        st.file_uploader(
            label, type=None, key="own_file", on_change=_on_file, max_upload_size=UPLOAD_MB
        )
        st.download_button(
            "An example",
            EXAMPLE_CSV,
            "example.csv",
            on_click="ignore",
            icon=":material/download:",
            key="own_example",
        )
    with paste:
        st.text_area(
            "A table with columns x, y and label",
            key="own_text",
            on_change=_on_text,
            max_chars=PASTED_CHARACTERS,
            placeholder=EXAMPLE_CSV[:60],
        )
        st.caption(text("paste", characters=f"{PASTED_CHARACTERS:,}"))


def _draw_use(own: OwnData, whose: str, train_share: float) -> None:
    in_link = own is not st.session_state.get(LARGE_TABLE)
    last = st.session_state.get(READ)
    if own == last and last.remark:  # the link has the numbers, not how they were written
        st.warning(as_words(last.remark))
    names = printable(", ".join(own.names))
    said = f"{whose}: {len(own.points)} points, classes {names}. {scaling_text(own)}"
    st.text(f"{said} {text('in_link')}" if in_link else said)
    if not in_link:
        st.caption(f":material/link_off: {text('not_in_link')}")
    st.text(split_text(own, train_share))


def scaling_text(own: OwnData) -> str:
    """Say what was done to the coordinates."""
    if (own.half_widths == 1).all() and not own.centre.any():
        return "The points stand where they were given."
    x, y = (
        f"({name} − {c:.6g}) / {by:.6g}"
        for name, c, by in zip("xy", own.centre, own.half_widths, strict=True)
    )
    how = (
        "by the same factor in both directions"
        if own.half_widths[0] == own.half_widths[1]
        else "each direction by itself, as one is more than ten times as wide as the other"
    )
    return f"Scaled to the square, {how}: {x} and {y}.".replace("− -", "+ ")


def split_text(own: OwnData, train_share: float) -> str:
    """Say how the points are split, and what that means where they are few."""
    total, train = len(own.labels), sum(train_counts(own, train_share))
    test = total - train
    parts = [
        f"Each seed draws {train} of the {total} points for training. It is tested on the other"
        f" {test}."
    ]
    if test < COARSE_BELOW:
        parts.append(
            f"These are few: one more right point moves a test accuracy by {100 / test:.0f} points."
        )
    single = [own.names[label] for label, size in Counter(own.labels.tolist()).items() if size == 1]
    if single:
        names = ", ".join(map(quote, sorted(single)))
        parts.append(
            f"The classes {names} have one point each. It is used for training, never for testing."
        )
    return " ".join(parts)


# --- What visitors do -----------------------------------------------------------------------------


def _on_draw() -> None:
    drawing = square.drawn("own_draw")
    put_in_link("drawing", encode_drawing(*drawing))
    if drawing[0] and _usable(drawing)[0] is not None:
        st.session_state.pop(LARGE_TABLE, None)
        put_in_link("table", "")
        put_in_link("data", TASK_NAME)
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
    encoded = encode_table(table)
    put_in_link("table", encoded)
    put_in_link("data", TASK_NAME)
    st.session_state[READ] = table
    st.session_state.pop(LARGE_TABLE, None)
    if encoded == TOO_LARGE:
        st.session_state[LARGE_TABLE] = table
    st.session_state.pop(PROBLEM, None)


def _usable(drawing: Points) -> tuple[OwnData | None, str]:
    """Return a drawing as data, or why it is none."""
    try:
        return drawn_own(drawing), ""
    except OwnDataError as error:
        return None, str(error)


# --- Points in the link ---------------------------------------------------------------------------


def encode_drawing(points: Sequence[Point], labels: Sequence[int]) -> str:
    """Return points of [-1, 1]^2, to three digits, and labels from 0 to 3 as text for a link."""
    numbers = (
        (label * ALONG + round((x + 1) * UNITS)) * ALONG + round((y + 1) * UNITS)
        for (x, y), label in zip(points, labels, strict=True)
    )
    return base64.urlsafe_b64encode(b"".join(n.to_bytes(BYTES) for n in numbers)).decode()


def decode_drawing(encoded: str) -> Points | None:
    """Return points and labels of an encoded drawing; ``None`` if it is none, or too large."""
    try:
        data = base64.b64decode(encoded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    count, rest = divmod(len(data), BYTES)
    if rest or not 0 < count <= DRAWN_POINTS_IN_LINK or len(encoded) != count * LETTERS:
        return None
    numbers = [int.from_bytes(data[i : i + BYTES]) for i in range(0, len(data), BYTES)]
    if max(numbers) >= len(CLASSES) * ALONG**2:
        return None
    positions = [divmod(number % ALONG**2, ALONG) for number in numbers]
    points = tuple((_coordinate(x), _coordinate(y)) for x, y in positions)
    return points, tuple(number // ALONG**2 for number in numbers)


def _coordinate(position: int) -> float:
    return round(position / UNITS - 1, DIGITS) + 0.0  # no -0


@lru_cache(maxsize=CACHED_DRAWINGS)
def drawn_own(drawing: Points) -> OwnData:
    """Return a drawing as data to learn; `OwnDataError` where it cannot be.

    One object for one drawing, so that its run is found wherever it is opened again.
    """
    points, labels = drawing
    return drawn_data(np.array(points).reshape(-1, 2), labels, CLASSES)


def encode_table(table: OwnData) -> str:
    """Return ``table`` as text for a link, `TOO_LARGE` where that would be too long."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(("x", "y", "label"))
    for (x, y), label in zip(table.originals.tolist(), table.labels.tolist(), strict=True):
        rows.writerow((_digits(x), _digits(y), table.names[label]))
    packer = zlib.compressobj(zlib.Z_BEST_COMPRESSION, zlib.DEFLATED, WITHOUT_HEAD)
    packed = packer.compress(file.getvalue().encode()) + packer.flush()
    encoded = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    return encoded if len(encoded) <= TABLE_LETTERS_IN_LINK else TOO_LARGE


@lru_cache(maxsize=CACHED_DRAWINGS)
def decode_table(encoded: str) -> OwnData | None:
    """Return the table of an encoded text; ``None`` if it is none, or too large.

    One object for one text. Whatever the text holds, no more than `LARGEST_BYTES` are unpacked.
    """
    if len(encoded) > TABLE_LETTERS_IN_LINK or not URL_LETTERS.fullmatch(encoded):
        return None
    unpacker = zlib.decompressobj(WITHOUT_HEAD)
    try:
        packed = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        data = unpacker.decompress(packed, LARGEST_BYTES)
        whole = unpacker.eof and not unpacker.unused_data
        return parse_csv(data) if whole else None
    except (binascii.Error, zlib.error, OwnDataError):
        return None


def _parse_table(encoded: str) -> OwnData | str | None:
    return encoded if encoded == TOO_LARGE else decode_table(encoded)


def _digits(number: float) -> str:
    """Return ``number`` in the fewest digits from which it can be read again."""
    return repr(number).removesuffix(".0")
