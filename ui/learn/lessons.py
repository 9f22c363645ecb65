"""The lessons of the page *Learn*, one Markdown file each in ``assets/lessons/learn``.

A file is called ``<number>_<name>.md``: the number is its place, the name its word in links. Its
front matter is YAML with the fields of `Lesson`; the sections ``## before``, ``## after`` and
``## try`` follow. ``[[field]]`` in *after* is a number that is measured, see `ui.learn.facts`.
Nothing here needs Streamlit or torch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ui.common.lessons import LESSONS, parse_sections

FOLDER = LESSONS / "learn"
PICTURES = LESSONS.parent / "learn"
WHEN = ("before", "after")  # the reveal
FILE = re.compile(r"(\d+)_([a-z]+)")
FRONT = re.compile(r"---\n(.*?\n)---\n(.*)", re.DOTALL)
SECTIONS = ("before", "after", "try")
CHOICES = (2, 4)  # of a question: at least, at most
END = "end"  # what follows the last lesson, in links


class LessonError(ValueError):
    """A file that is no lesson; names the file and the field."""


@dataclass(frozen=True)
class Lesson:
    """A question about a picture, its answer, and something to try.

    ``state`` and ``reveal`` are parameters of the address of ``page``, a title of `PAGES`: those
    that the picture starts with, and those that the reveal leads to. ``choices`` are numbered from
    1 in links, which stay valid when they are shown in another ``order``: their indices, as the
    file lists them. ``correct`` is the index of the correct one. ``chip`` names the question
    in the row of lessons, without its answer. ``check`` names what the page checks when the
    visitor tries something, a key of `ui.learn.facts.CHECKS`. ``alt`` says what the picture shows
    before the reveal and after it.
    """

    number: int
    name: str
    title: str
    chip: str
    page: str
    state: Mapping[str, str]
    question: str
    choices: tuple[str, ...]
    order: tuple[int, ...]
    correct: int
    reveal: Mapping[str, str]
    check: str
    alt: Mapping[str, str]  # by `WHEN`
    before: str
    after: str
    try_it: str

    @property
    def shown_choices(self) -> tuple[str, ...]:
        """The choices in the order in which they are shown."""
        return tuple(self.choices[index] for index in self.order)

    @property
    def shown_correct(self) -> int:
        """The place of the correct one among them."""
        return self.order.index(self.correct)


FIELDS = (
    "title",
    "chip",
    "page",
    "state",
    "question",
    "choices",
    "correct",
    "reveal",
    "check",
    "alt",
)


@cache
def lessons() -> dict[str, Lesson]:
    """Return all lessons by name, in their order."""
    found = sorted(map(read_lesson, FOLDER.glob("*.md")), key=lambda lesson: lesson.number)
    return {lesson.name: lesson for lesson in found}


def picture(lesson: Lesson, when: str) -> Path:
    """Return the file of its picture, ``when`` of `WHEN`, for paper and phones.

    ``python -m tests.browser.learn_pictures`` makes them.
    """
    return PICTURES / f"{lesson.name}_{when}.webp"


def read_lesson(path: Path) -> Lesson:
    """Read one file.

    Raises:
        LessonError: If a field or a section is missing, unknown, or not of its kind.
    """
    name, text = FILE.fullmatch(path.stem), path.read_text(encoding="utf-8")
    parts = FRONT.fullmatch(text)
    if not name or not parts:
        raise LessonError(f"{path.name}: not <number>_<name>.md with front matter between ---")
    try:
        front = yaml.safe_load(parts[1])
    except yaml.YAMLError as error:
        raise LessonError(f"{path.name}: the front matter is no YAML: {error}") from error
    sections = parse_sections(parts[2])
    for kind, wanted, given in (("field", FIELDS, front), ("section", SECTIONS, sections)):
        if not isinstance(given, dict):
            raise LessonError(f"{path.name}: the front matter has no fields")
        for word in wanted:
            if not given.get(word) and given.get(word) != {}:
                raise LessonError(f"{path.name}: the {kind} {word!r} is missing")
        if unknown := set(given) - set(wanted):
            raise LessonError(f"{path.name}: the {kind} {min(unknown)!r} is unknown")

    def check(field: str, holds: bool, what: str) -> None:
        if not holds:
            raise LessonError(f"{path.name}: the field {field!r} is not {what}")

    for field in ("title", "chip", "page", "question", "check"):
        check(field, isinstance(front[field], str), "a text")
    for field in ("state", "reveal", "alt"):
        check(field, _are_texts(front[field]), "a mapping to texts (numbers in quotes)")
    check("alt", set(front["alt"]) == {*WHEN}, "two texts: before and after")
    choices, correct, (least, most) = front["choices"], front["correct"], CHOICES
    few = isinstance(choices, dict) and least <= len(choices) <= most
    texts = few and all(isinstance(choice, str) for choice in choices.values())
    numbered = texts and {*choices} == {*range(1, len(choices) + 1)}
    check("choices", numbered, f"{least} to {most} texts by number")
    there = type(correct) is int and 1 <= correct <= len(choices)
    check("correct", there, "the number of a choice")
    front |= {
        "choices": tuple(choices[number] for number in sorted(choices)),
        "order": tuple(number - 1 for number in choices),
        "correct": correct - 1,
    }
    return Lesson(
        int(name[1]),
        name[2],
        **front,
        before=sections["before"],
        after=sections["after"],
        try_it=sections["try"],
    )


def _are_texts(given: Any) -> bool:
    return isinstance(given, dict) and all(isinstance(x, str) for x in (*given, *given.values()))
