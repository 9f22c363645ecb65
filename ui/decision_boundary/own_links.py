"""One's own points in the link, so that a reload or a friend finds them again.

A drawing takes three bytes a point, in the letters of base64: 500 points are 2,000 letters. A table
is compressed CSV with every digit, so that the same points are the same run: a hundred points with
two digits after the point are some 600 letters. For a larger table than fits stands `TOO_LARGE`.
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gating_core.tasks import LARGEST_BYTES, OwnData, OwnDataError, drawn_data, parse_csv
from ui.common.controls import Control, Where
from ui.components.draw import DIGITS, Point
from ui.limits import CACHED_DRAWINGS, DRAWN_POINTS_IN_LINK, TABLE_LETTERS_IN_LINK

NAMES = ("blue", "orange", "green", "purple")
UNITS = 10**DIGITS  # from the middle of the square to its edge
ALONG = 2 * UNITS + 1  # positions along an edge
LETTERS, BYTES = 4, 3  # of a point

TOO_LARGE = "too-large"  # what stands in the link for a table that does not fit
URL_LETTERS = re.compile(r"[A-Za-z0-9_-]+")
WITHOUT_HEAD = -zlib.MAX_WBITS  # what zlib calls a stream that does not say how it was made

Points = tuple[tuple[Point, ...], tuple[int, ...]]  # and their labels


def encode_drawing(points: Sequence[Point], labels: Sequence[int]) -> str:
    """Return points of [-1, 1]^2, to three digits, and labels from 0 to 3 as text for a link."""
    numbers = (
        (label * ALONG + round((x + 1) * UNITS)) * ALONG + round((y + 1) * UNITS)
        for (x, y), label in zip(points, labels, strict=True)
    )
    return base64.urlsafe_b64encode(b"".join(n.to_bytes(BYTES) for n in numbers)).decode()


def decode_drawing(text: str) -> Points | None:
    """Return points and labels of an encoded drawing; ``None`` if it is none, or too large."""
    try:
        data = base64.b64decode(text, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    count, rest = divmod(len(data), BYTES)
    if rest or not 0 < count <= DRAWN_POINTS_IN_LINK or len(text) != count * LETTERS:
        return None
    numbers = [int.from_bytes(data[i : i + BYTES]) for i in range(0, len(data), BYTES)]
    if max(numbers) >= len(NAMES) * ALONG**2:
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
    return drawn_data(np.array(points).reshape(-1, 2), labels, NAMES)


def encode_table(table: OwnData) -> str:
    """Return ``table`` as text for a link, `TOO_LARGE` where that would be too long."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(("x", "y", "label"))
    for (x, y), label in zip(table.originals.tolist(), table.labels.tolist(), strict=True):
        rows.writerow((_digits(x), _digits(y), table.names[label]))
    packer = zlib.compressobj(zlib.Z_BEST_COMPRESSION, zlib.DEFLATED, WITHOUT_HEAD)
    packed = packer.compress(file.getvalue().encode()) + packer.flush()
    text = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    return text if len(text) <= TABLE_LETTERS_IN_LINK else TOO_LARGE


@lru_cache(maxsize=CACHED_DRAWINGS)
def decode_table(text: str) -> OwnData | None:
    """Return the table of an encoded text; ``None`` if it is none, or too large.

    One object for one text. Whatever the text holds, no more than `LARGEST_BYTES` are unpacked.
    """
    if len(text) > TABLE_LETTERS_IN_LINK or not URL_LETTERS.fullmatch(text):
        return None
    unpacker = zlib.decompressobj(WITHOUT_HEAD)
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        data = unpacker.decompress(packed, LARGEST_BYTES)
        whole = unpacker.eof and not unpacker.unused_data
        return parse_csv(data) if whole else None
    except (binascii.Error, zlib.error, OwnDataError):
        return None


def _digits(number: float) -> str:
    """Return ``number`` in the fewest digits from which it can be read again."""
    return repr(number).removesuffix(".0")


@dataclass(frozen=True, kw_only=True)
class OwnInLink(Control):
    """One's own points, ``written`` in the link alone."""

    written: str
    decode: Callable[[str], Any]
    shown_instead: str = "none"

    @property
    def expected(self) -> str:
        return f"{self.written}, as this page writes it"

    def parse(self, text: str) -> Any:
        return self.decode(text)

    def widget(self, where: Where, **more: Any) -> Any:
        raise NotImplementedError("points are drawn, uploaded or pasted")


DRAWING = OwnInLink(
    "drawing", written=f"a drawing of at most {DRAWN_POINTS_IN_LINK} points", decode=decode_drawing
)
TABLE = OwnInLink(
    "table",
    written="a table of points",
    decode=lambda text: text if text == TOO_LARGE else decode_table(text),
)
