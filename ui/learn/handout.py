"""The handout: one HTML file with all questions to print; and the answer key, another."""

from __future__ import annotations

import base64
import re
from html import escape
from pathlib import Path

from ui.classroom.classes import LETTERS
from ui.learn.facts import after_text
from ui.learn.lessons import Lesson, lessons, picture

STYLE = Path(__file__).with_suffix(".css")
TITLE = "Does this attention layer curve space?"
LINES = 3  # for an answer in words
EMPHASIS = ((r"\*\*(.+?)\*\*", r"<strong>\1</strong>"), (r"\*(.+?)\*", r"<em>\1</em>"))


def handout() -> str:
    """Return the file with all questions; it needs nothing beside it."""
    questions = "".join(map(_question, lessons().values()))
    return _file(
        f"<header><h1>{TITLE}</h1>"
        f"<p>Guess first, then see. Name: <span></span></p></header><main>{questions}</main>"
    )


def answer_key() -> str:
    """Return the file with all answers."""
    answers = "".join(map(_answer, lessons().values()))
    return _file(f'<section class="key"><h1>{TITLE}</h1><h2>Answers</h2>{answers}</section>')


def _file(body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{STYLE.read_text(encoding='utf-8')}</style></head><body>{body}</body></html>"
    )


def _question(lesson: Lesson) -> str:
    choices = "".join(f"<li>{_inline(choice)}</li>" for choice in lesson.shown_choices)
    return (
        f"<article><h2>{lesson.number}. {escape(lesson.title)}</h2>{_image(lesson, 'before')}<div>"
        f"<p>{_inline(lesson.before)}</p><p><strong>{_inline(lesson.question)}</strong></p>"
        f'<ol type="A">{choices}</ol><p class="why">Why?</p>{"<hr>" * LINES}</div></article>'
    )


def _answer(lesson: Lesson) -> str:
    choice = f"{LETTERS[lesson.shown_correct]}. {lesson.choices[lesson.correct]}"
    return (
        f"<article>{_image(lesson, 'after')}<p>{lesson.number}."
        f" <strong>{_inline(choice)}</strong> {_inline(after_text(lesson.name))}</p></article>"
    )


def _image(lesson: Lesson, when: str) -> str:
    data = base64.b64encode(picture(lesson, when).read_bytes()).decode()
    alt = escape(f"Picture: {lesson.alt[when]}")
    return f'<img src="data:image/webp;base64,{data}" alt="{alt}">'


def _inline(markdown: str) -> str:
    """Return a text of a lesson as HTML: emphasis, and no other mark-up."""
    text = escape(" ".join(markdown.split()), quote=False)
    for pattern, replacement in EMPHASIS:
        text = re.sub(pattern, replacement, text)
    return text
