"""The check of a link's parameters: what can be used, and a sentence for what cannot.

Streamlit drops a value that it cannot use without a message, or fails on it. A value refused here
never reaches its control.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ui.foreign import as_code, as_words
from ui.limits import LINK_NUMBERS, QUOTED_CHARACTERS

if TYPE_CHECKING:  # controls read their numbers by this module
    from ui.common.controls import Control

GRID_SIZE = 61
DECIMAL = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def parse_number(text: str) -> float | None:
    """Return the number of "-2.5" or "1e-7", as browsers write it; ``None`` if it is not finite.

    Python would also read 1_0, +1, infinity, spaces and digits of other alphabets.
    """
    number = float(text) if DECIMAL.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


def parse_numbers(text: str) -> tuple[float, ...] | None:
    """Return the numbers of "1, 2.5, -3"; ``None`` if one of them is not finite."""
    parts = text.split(",")[:LINK_NUMBERS]
    numbers = tuple(x for part in parts if (x := parse_number(part.strip(" "))) is not None)
    return numbers if len(numbers) == len(parts) else None


def parse_pick(text: str, size: int = GRID_SIZE) -> tuple[int, int] | None:
    """Return (row, column) of "row.column"; ``None`` if it is not a point of the grid."""
    row, _, column = text.partition(".")
    if not (row.isascii() and row.isdigit() and column.isascii() and column.isdigit()):
        return None
    point = int(row[:9]), int(column[:9])
    return point if max(point) < size else None


def check_link(
    parameters: Mapping[str, list[str]], controls: Mapping[str, Control]
) -> tuple[dict[str, list[str]], list[str]]:
    """Return corrected parameters by name, and a sentence in Markdown for every wrong value.

    No text stands for the default. Parameters that can be used, and unknown ones, are left out.
    """
    instead: dict[str, list[str]] = {}
    problems = []
    for name, control in controls.items():
        texts = parameters.get(name, [])
        if control.times > 1:
            texts = [text for text in dict.fromkeys(texts) if text]
        usable = [shown for text in texts if (shown := control.nearest(text)) is not None]
        wrong = [
            f"is {_quoted(text)}; it must be {as_words(control.expected)}"
            for text in texts
            if control.nearest(text) != text
        ]
        if len(texts) > control.times:
            often = "once" if control.times == 1 else f"{control.times} times at most"
            wrong = [f"{len(texts)} times; it may say that {often}"]
            usable = usable[: control.times] if control.times > 1 else []
        if wrong:
            instead[name] = usable
            shown = as_words(", ".join(usable) or control.instead)
            problems += [f"The link says `{name}` {why}. Shown instead: {shown}." for why in wrong]
    return instead, problems


def _quoted(text: str) -> str:
    quote = text if len(text) <= QUOTED_CHARACTERS else text[:QUOTED_CHARACTERS] + "…"
    return as_code(quote)
