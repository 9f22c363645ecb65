"""How does a table of points stand in the link, so that a reload or a friend finds it again?

As the text of a CSV file with every digit, compressed, in the letters of base64 that an address may
have: nothing is rounded, so that the same points are the same run. A hundred points with two digits
after the point are some 600 letters. Of a larger table than fits the link says just that.
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
import re
import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gating_core.tasks import LARGEST_BYTES, OwnData, OwnDataError, parse_csv
from ui.common.controls import Control, Where
from ui.limits import CACHED_DRAWINGS, TABLE_LETTERS_IN_LINK

TOO_LARGE = "too-large"  # what stands in the link for a table that does not fit
LETTERS = re.compile(r"[A-Za-z0-9_-]+")
WITHOUT_HEAD = -zlib.MAX_WBITS  # what zlib calls a stream that does not say how it was made


def encoded(table: OwnData) -> str:
    """``table`` as text for a link, `TOO_LARGE` where that would be too long."""
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
def decoded(text: str) -> OwnData | None:
    """The table of an `encoded` text; ``None`` if it is none, or too large.

    One object for one text. Whatever the text holds, no more than `LARGEST_BYTES` are unpacked.
    """
    if len(text) > TABLE_LETTERS_IN_LINK or not LETTERS.fullmatch(text):
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
    """``number`` in the fewest digits from which it can be read again."""
    return repr(number).removesuffix(".0")


@dataclass(frozen=True, kw_only=True)
class LinkedTable(Control):
    """A table of points in the link alone, or `TOO_LARGE` for one that does not fit."""

    shown_instead: str = "none"

    @property
    def wanted(self) -> str:
        return "a table of points, as this page writes it"

    def parse(self, text: str) -> OwnData | str | None:
        return text if text == TOO_LARGE else decoded(text)

    def widget(self, where: Where, **more: Any) -> Any:
        raise NotImplementedError("a table is uploaded or pasted")
