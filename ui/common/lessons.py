"""The fixed texts of the pages, from ``assets/lessons``, with numbers filled in.

Four paragraphs of one section are the explanation below a picture (`draw_explanation`).

A lesson is a Markdown file. A line ``## name`` begins a section; a field is ``[[name]]``, which
neither Markdown nor LaTeX uses.

    section("manifold", "area")
    section("depth", "replay", layers=4)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import streamlit as st

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


# --- Explanations ---------------------------------------------------------------------------------


def explain(what: str, text: str, below: Callable[[], None] | None = None) -> None:
    """Draw the button under a figure that unfolds ``text``, and what is to be drawn ``below``."""
    key = f"explain_{what.replace(' ', '_')}"
    with st.popover(f"Explain this plot: {what}", icon=":material/help:", key=key):
        st.markdown(text)
        if below is not None:
            below()


def beats(drawn: str, formula: str, look_for: str, misread: str) -> str:
    """Join the four paragraphs of an explanation."""
    return (
        f"**What is drawn.** {drawn}\n\n**The formula, with the numbers on the screen.** {formula}"
        f"\n\n**What to look for.** {look_for}\n\n**How one could misread it.** {misread}"
    )


def draw_explanation(page: str, what: str, lesson: str, **fields: object) -> None:
    """Draw the button that unfolds the four paragraphs of a section of the lesson."""
    explain(what, beats(*section(page, lesson, **fields).split("\n\n")))
