"""The fixed texts of the pages, from ``assets/lessons``, with numbers filled in.

A lesson is a Markdown file. A line ``## name`` begins a section; a field is ``[[name]]``, which
neither Markdown nor LaTeX uses.

    section("manifold", "area")
    section("depth", "replay", layers=4)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

LESSONS = Path(__file__).resolve().parents[2] / "assets" / "lessons"
SECTION = re.compile(r"^## (\w+)\n", re.MULTILINE)
FIELD = re.compile(r"\[\[(\w+)\]\]")


@cache
def sections(lesson: str) -> dict[str, str]:
    """Return the sections of ``lesson`` by name; what stands above the first one is a comment."""
    return parse_sections((LESSONS / f"{lesson}.md").read_text(encoding="utf-8"))


def parse_sections(text: str) -> dict[str, str]:
    """Return the sections of a Markdown ``text`` by name."""
    _, *parts = SECTION.split(text)
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}


def section(lesson: str, name: str, **fields: object) -> str:
    """Return a section of ``lesson``, each field replaced by its value.

    A line break within a paragraph becomes a space. ``KeyError`` for a section that does not exist
    or a field without a value; ``ValueError`` for a value without a field.
    """
    where = f"section {name!r} of {lesson}.md"
    if name not in sections(lesson):
        raise KeyError(f"{where} does not exist")
    return fill(sections(lesson)[name], where, fields)


def fill(text: str, where: str, fields: Mapping[str, object]) -> str:
    """Return ``text``, which stands ``where``, as `section` returns it."""
    unused = set(fields) - set(FIELD.findall(text))
    if unused:
        raise ValueError(f"{where} has no field {', '.join(sorted(unused))}")
    text = re.sub(r"(?<!\n)\n(?![\n*|-])", " ", text)
    return FIELD.sub(lambda field: str(fields[field[1]]), text)
