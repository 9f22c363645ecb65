"""What can be read from a link, and one sentence for each value that cannot be used.

Streamlit drops a value it cannot use without a word; the sentences here say what was dropped and
what is shown instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

GRID_SIZE = 61
LONGEST_QUOTE = 40
MOST_NUMBERS = 1024


class InLink(Protocol):
    """What a control says of its parameter in the link."""

    @property
    def wanted(self) -> str:
        """What the parameter must be."""

    @property
    def instead(self) -> str:
        """What is shown where it is not."""

    @property
    def several(self) -> bool:
        """Whether the parameter may stand in the link more than once."""

    def accepts(self, text: str) -> bool:
        """Whether ``text`` is a value of the parameter."""


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


def link_problems(parameters: Mapping[str, list[str]], controls: Mapping[str, InLink]) -> list[str]:
    """A sentence for every parameter whose value cannot be used; unknown names are ignored."""
    problems = []
    for name, control in controls.items():
        texts = parameters.get(name, [])
        for text in texts if control.several else texts[:1]:
            if not control.accepts(text):
                quote = text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…"
                problems.append(
                    f"The link says `{name}` is `{quote.replace('`', ' ')}`; it must be"
                    f" {control.wanted}. Shown instead: {control.instead}."
                )
    return problems
