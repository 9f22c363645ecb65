"""The page's lesson: fixed texts, and the names of data sets and kinds of attention.

The names are those of menus, headings, tables and sentences alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from gating_core.experiments.comparison import VARIANTS
from ui.common.lessons import section

CELL_END = re.compile(r"(?<=\s)\|(?=\s)")  # not those of an absolute value

page_text = partial(section, "decision_boundary")


@dataclass(frozen=True)
class Named:
    """A ``name`` as within a sentence, one ``line`` that says what it is, perhaps a ``formula``."""

    name: str
    line: str
    formula: str = ""  # in TeX


def _table(name: str) -> dict[str, Named]:
    """Return a table of the lesson by its first column."""
    rows = (row.strip("|") for row in page_text(name).splitlines())
    return dict(_named(*map(str.strip, CELL_END.split(row))) for row in rows)


def _named(word: str, *texts: str) -> tuple[str, Named]:
    return word, Named(*texts)


DATA = _table("data")
KINDS = {
    name: Named(gate.record.title, gate.record.line, gate.record.formula)
    for name, gate in VARIANTS.items()
    if gate is not None
} | _table("kinds")
TITLES = {word: kind.name for word, kind in KINDS.items()}
