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
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

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
from ui.common.links import link_value, put_in_link
from ui.components import draw as square
from ui.components.draw import DIGITS, Point
from ui.decision_boundary.controls import choose_data, text
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
LAST_TABLE = "own_table"  # as it was read: the link may be too short for it
PROBLEM = "own_problem"  # why what came after it was refused

Points = tuple[tuple[Point, ...], tuple[int, ...]]  # and their labels
NO_POINTS: Points = ((), ())


def draw(front: Mapping[str, Any], train_share: float) -> tuple[OwnData | None, bool]:
    """Draw the three ways to bring points, and what became of them, where own points are wanted.

    ``train_share`` is what the page trains own points with. Returns the points, if there are any
    that can be used, a table before a drawing; and whether the link is about a table that was too
    large for it and is not there any more.
    """
    if front["task"] != TASK_NAME:
        return None, False
    drawing = link_value("drawing", decode_drawing, NO_POINTS)
    table = link_value("table", lambda x: x if x == TOO_LARGE else decode_table(x), None)
    last = st.session_state.get(LAST_TABLE)
    own = table if isinstance(table, OwnData) else None
    if table == TOO_LARGE and last is not None and encode_table(last) == TOO_LARGE:
        own = last
    lost = table == TOO_LARGE and own is None
    problem = st.session_state.get(PROBLEM, "")
    if own is None and drawing[0]:
        try:
            own = drawn_own(drawing)
        except OwnDataError as error:
            problem = problem or str(error)
    with st.container(border=True, key="own"):
        by_hand, given = st.columns((2, 3))
        with by_hand:
            square.draw(
                key="own_draw",
                points=drawing[0],
                labels=drawing[1],
                class_names=CLASSES,
                most=DRAWN_POINTS_IN_LINK,
                colours=palette.CLASS_COLOURS,
                on_change=_on_draw,
            )
        with given:
            st.caption(text("draw"))
            st.file_uploader(
                text("upload", classes=MOST_CLASSES, rows=f"{MOST_POINTS:,}",
                     size=f"{LARGEST_BYTES / 1e6:g}"),
                key="own_file", on_change=_on_file, max_upload_size=UPLOAD_MB,
            )  # fmt: skip
            st.text_area(
                "or paste a table with columns x, y and label",
                key="own_text",
                on_change=lambda: _read(st.session_state.get("own_text", "")),
                max_chars=PASTED_CHARACTERS,
                height=80,
                placeholder=EXAMPLE_CSV[:60],
                help=text("paste", characters=f"{PASTED_CHARACTERS:,}"),
            )
            st.download_button("An example", EXAMPLE_CSV, "example.csv", on_click="ignore",
                               icon=":material/download:", key="own_example")  # fmt: skip
            if problem:
                st.error(f"{error_words(problem)}.")
            if own is not None:
                whose = "Still in use, from before" if problem else "In use"
                names = printable(", ".join(own.names))
                st.text(
                    f"{whose}: {len(own.points)} points, classes {names}. {scaling_text(own)}"
                    f" {split_text(own, train_share)}"
                )
                if own == last and last.remark:  # a link has the numbers, not how they were written
                    st.warning(as_words(last.remark))
                where = text("not_in_link" if table == TOO_LARGE else "in_link")
                st.caption(f":material/link: {where}")
    return own, lost


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
    single = [own.names[label] for label in np.flatnonzero(np.bincount(own.labels) == 1)]
    few = "These are few: one more right point moves a test accuracy by {:.0f} points."
    return " ".join([
        f"Each seed draws {train} of the {total} points for training. It is tested on the other"
        f" {test}.",
        *[few.format(100 / test)] * (test < COARSE_BELOW),
        *[f"The classes {', '.join(map(quote, sorted(single)))} have one point each. It is used for"
          " training, never for testing."] * bool(single),
    ])  # fmt: skip


# --- What visitors do -----------------------------------------------------------------------------


def _on_draw(points: tuple[Point, ...], labels: tuple[int, ...]) -> None:
    put_in_link(drawing=encode_drawing(points, labels))
    try:
        drawn_own((points, labels))
        put_in_link(table="")
    except OwnDataError:  # said where it is drawn; a table stays in use until there are enough
        pass
    st.session_state.pop(PROBLEM, None)


def _on_file() -> None:
    st.session_state.pop(PROBLEM, None)
    if (file := st.session_state.get("own_file")) is not None:
        _read(file.getvalue())


def _read(source: bytes | str) -> None:
    try:
        table = st.session_state[LAST_TABLE] = parse_csv(source)
    except OwnDataError as error:
        st.session_state[PROBLEM] = str(error)
        return
    put_in_link(table=encode_table(table))
    choose_data(TASK_NAME)
    st.session_state.pop(PROBLEM, None)


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
    points = np.stack(np.divmod(np.array(numbers) % ALONG**2, ALONG), 1) / UNITS - 1
    points = points.round(DIGITS) + 0.0  # no -0
    return tuple(map(tuple, points.tolist())), tuple(n // ALONG**2 for n in numbers)


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
    for point, label in zip(table.originals.tolist(), table.labels.tolist(), strict=True):
        digits = (repr(x).removesuffix(".0") for x in point)  # the fewest that give it again
        rows.writerow((*digits, table.names[label]))
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
