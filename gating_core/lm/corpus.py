"""The corpus: the same verses of the Bible in two languages, and which of them are held out.

World English Bible and Reina-Valera of 1909, both in the public domain, as Debian's packages
``sword-text-web`` and ``sword-text-sparv`` hold them, read with ``diatheke`` (see the Makefile). A
corpus is a table of three columns: reference, English, Spanish.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gating_core.assets import ASSETS, read_asset
from gating_core.characters import left_out, without_others

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "build" / "corpus.tsv"  # made by `make corpus`, needed for training only
EXCERPT = ASSETS / "models" / "verses.tsv"  # shipped: some of the held-out verses
LANGUAGES = ("english", "spanish")
HELD_OUT = 32  # one verse in as many is never trained on
EXCERPT_VERSES = 200
LONGEST = 600  # characters; longer ones are verses with an appendix, such as a glossary

TITLE = re.compile(r"<title[^>]*>.*?</title>")
# Between two words without a space, where the source has a note or the end of a line.
GLUED = re.compile(r"(?<=</w>)(?=\w|<w )|(?<=[,.;:!?”])(?=<w )")
BREAK = re.compile(r"<(l|lg|lb|item|div|chapter|milestone)\b[^>]*>")
TAG = re.compile(r"<[^>]*>")
VERSE = re.compile(r"\s*([\w ]+ \d+:\d+): (.*)")


@dataclass(frozen=True)
class Verse:
    """One verse in both languages."""

    reference: str  # as in "Genesis 1:1"
    english: str
    spanish: str

    @property
    def held_out(self) -> bool:
        """True if no model is trained on it, in either language."""
        return self.draw % HELD_OUT == 0

    @property
    def draw(self) -> int:
        """A pseudo-random number that depends on the reference alone."""
        return int.from_bytes(hashlib.sha256(self.reference.encode()).digest()[:8], "big")


def plain_verses(output: str) -> dict[str, str]:
    """The text of each verse by its reference, from the ``output`` of ``diatheke -f internal``.

    Tags are removed. A line without a reference continues the verse before it.
    """
    verses: dict[str, str] = {}
    reference = None
    for line in output.splitlines():
        plain = TAG.sub("", BREAK.sub(" ", GLUED.sub(" ", TITLE.sub("", line))))
        if match := VERSE.match(plain):
            reference, plain = match.groups()
        if reference is not None and not plain.startswith("("):  # the last line names the module
            verses[reference] = verses.get(reference, "") + " " + plain
    return {name: " ".join(text.split()) for name, text in verses.items()}


def align(english: dict[str, str], spanish: dict[str, str]) -> list[Verse]:
    """The verses that have text in both languages, without characters that models do not know.

    Verses longer than `LONGEST` are left out.
    """
    plain = (
        (name, *map(without_others, (text, spanish.get(name, ""))))
        for name, text in english.items()
    )
    return [Verse(*row) for row in plain if all(0 < len(text) <= LONGEST for text in row)]


def make_corpus(english: Path, spanish: Path) -> list[Verse]:
    """Read what ``diatheke`` wrote of both texts, and write the corpus and the excerpt.

    ``ValueError`` where there are no verses, as where Debian's packages are missing.
    """
    texts = [plain_verses(path.read_text(encoding="utf-8")) for path in (english, spanish)]
    if not (verses := align(*texts)):
        raise ValueError(f"{english.name} and {spanish.name} have no verse in common")
    write_verses(verses, CORPUS)
    held_out = sorted((verse for verse in verses if verse.held_out), key=lambda verse: verse.draw)
    chosen = set(held_out[:EXCERPT_VERSES])
    write_verses([verse for verse in verses if verse in chosen], EXCERPT)
    return verses


def write_verses(verses: Sequence[Verse], path: Path) -> None:
    """Write a table of verses."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = (f"{verse.reference}\t{verse.english}\t{verse.spanish}\n" for verse in verses)
    path.write_text("".join(rows), encoding="utf-8")


def read_verses(path: Path) -> list[Verse]:
    """Read a table of `write_verses`; ``ValueError`` for another, or for unknown characters."""
    verses = []
    for number, line in enumerate(read_asset(path).decode().splitlines(), 1):
        columns = line.split("\t")
        if len(columns) != 3 or left_out("".join(columns[1:])):
            raise ValueError(f"line {number} of {path.name} is no verse in two languages")
        verses.append(Verse(*columns))
    return verses


def read_excerpt() -> list[Verse]:
    """The shipped held-out verses."""
    return read_verses(EXCERPT)


def texts_of(verses: Sequence[Verse]) -> list[str]:
    """The texts of ``verses``: first all English ones, then all Spanish ones."""
    return [getattr(verse, language) for language in LANGUAGES for verse in verses]


def excerpt_texts() -> list[str]:
    """The texts of the shipped verses."""
    return texts_of(read_excerpt())
