"""What is a report made of, whichever format it is written in? Headings, texts, tables, figures."""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.claims.pictures import Figure
from gating_core.claims.wording import Table


@dataclass(frozen=True)
class Heading:
    """``level`` 1 is the title of all."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph, with what it is about in front of it, if anything."""

    text: str
    about: str = ""


@dataclass(frozen=True)
class Lines:
    """Short texts, one below the other."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Folded:
    """A table that is opened when it is wanted, where the format can do that."""

    title: str
    table: Table


Block = Heading | Text | Lines | Folded | Table | Figure
