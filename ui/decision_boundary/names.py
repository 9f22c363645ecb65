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
    rows = [CELL_END.split(row.strip("|")) for row in page_text(name).splitlines()]
    return {word.strip(): Named(*map(str.strip, cells)) for word, *cells in rows}


def _kinds() -> dict[str, Named]:
    """Return the kinds of attention, those without a row as the records of their gates say."""
    kinds = _table("kinds")
    for word, gate in VARIANTS.items():
        if gate is not None:
            record = gate.record
            kinds.setdefault(word, Named(record.title, record.line, record.formula))
    return {word: kinds[word] for word in VARIANTS}


DATA, KINDS = _table("data"), _kinds()
TITLES = {word: kind.name for word, kind in KINDS.items()}
