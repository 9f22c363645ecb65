"""The corpus: the same verses of the Bible in two languages; some held-out ones are bundled.

World English Bible and Reina-Valera of 1909, both in the public domain, as Debian's packages
``sword-text-web`` and ``sword-text-sparv`` hold them. One verse in 32, by a hash of its reference,
was never trained on, in either language; 200 of these are the excerpt. Commit `4f3f2763` has the
code that read the packages, and trained and measured the models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gating_core.assets import ASSETS, read_asset
from gating_core.characters import left_out

EXCERPT = ASSETS / "models" / "verses.tsv"
LANGUAGES = ("english", "spanish")


@dataclass(frozen=True)
class Verse:
    """One verse in both languages."""

    reference: str  # as in "Genesis 1:1"
    english: str
    spanish: str


def read_excerpt(path: Path = EXCERPT) -> list[Verse]:
    """The bundled held-out verses: a table of reference, English and Spanish.

    ``ValueError`` for another file, or for characters that models do not know.
    """
    verses = []
    for number, line in enumerate(read_asset(path).decode().splitlines(), 1):
        columns = line.split("\t")
        if len(columns) != 3 or left_out("".join(columns[1:])):
            raise ValueError(f"line {number} of {path.name} is no verse in two languages")
        verses.append(Verse(*columns))
    return verses


def texts_of(verses: Sequence[Verse]) -> list[str]:
    """The texts of ``verses``: first all English ones, then all Spanish ones."""
    return [getattr(verse, language) for language in LANGUAGES for verse in verses]


def excerpt_texts() -> list[str]:
    """The texts of the bundled verses."""
    return texts_of(read_excerpt())
