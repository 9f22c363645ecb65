"""What a link may say: every bound control's values, and one sentence for each that is not one.

Streamlit drops a value it cannot use without a word; the sentences here say what was dropped and
what is shown instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

GRID_SIZE = 61


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]
    default: str

    def accepts(self, text: str) -> bool:
        return text in self.words

    @property
    def wanted(self) -> str:
        return "one of " + ", ".join(self.words)


@dataclass(frozen=True)
class Choices:
    """Any of a few words, each as a parameter of its own."""

    words: tuple[str, ...]
    default: str

    def accepts(self, text: str) -> bool:
        return text in self.words or not text

    @property
    def wanted(self) -> str:
        return "any of " + ", ".join(self.words)


@dataclass(frozen=True)
class Number:
    """A number in a range; whole unless ``whole`` is False."""

    low: float
    high: float
    default: str
    whole: bool = True

    def accepts(self, text: str) -> bool:
        try:
            value = int(text) if self.whole else float(text)
        except ValueError:
            return False
        return self.low <= value <= self.high

    @property
    def wanted(self) -> str:
        return f"a {'whole ' if self.whole else ''}number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class GridPoint:
    """Row and column of a grid point, as "row.column"."""

    default: str = "no point"
    size: int = GRID_SIZE

    def accepts(self, text: str) -> bool:
        return parse_pick(text, self.size) is not None

    @property
    def wanted(self) -> str:
        return f"row.column of the grid, each from 0 to {self.size - 1}"


@dataclass(frozen=True)
class Numbers:
    """Finite numbers with commas between them."""

    default: str = "none"

    def accepts(self, text: str) -> bool:
        return parse_numbers(text) is not None

    @property
    def wanted(self) -> str:
        return "finite numbers with commas between them"


Allowed = Choice | Choices | Number | GridPoint | Numbers
YES_NO = Choice(("true", "false"), "true")
LONGEST_QUOTE = 40
MOST_NUMBERS = 1024


def parse_numbers(text: str) -> tuple[float, ...] | None:
    """The numbers of "1, 2.5, -3"; ``None`` if one of them is none or not finite."""
    try:
        numbers = tuple(float(part) for part in text.split(",")[:MOST_NUMBERS])
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None


def parse_pick(text: str, size: int = GRID_SIZE) -> tuple[int, int] | None:
    """(row, column) of "row.column"; ``None`` if it is not a point of the grid."""
    row, _, column = text.partition(".")
    if not (row.isascii() and row.isdigit() and column.isascii() and column.isdigit()):
        return None
    point = int(row[:9]), int(column[:9])
    return point if max(point) < size else None


def link_problems(
    parameters: Mapping[str, list[str]], allowed_values: Mapping[str, Allowed]
) -> list[str]:
    """A sentence for every parameter whose value cannot be used; unknown names are ignored."""
    problems = []
    for name, allowed in allowed_values.items():
        texts = parameters.get(name, [])
        for text in texts if isinstance(allowed, Choices) else texts[:1]:
            if not allowed.accepts(text):
                quote = text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…"
                problems.append(
                    f"The link says `{name}` is `{quote.replace('`', ' ')}`; it must be"
                    f" {allowed.wanted}. Shown instead: {allowed.default}."
                )
    return problems
