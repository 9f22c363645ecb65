"""The lessons of the page *Learn*, one Markdown file each in ``assets/lessons/learn``.

A file is called ``<number>_<name>.md``: the number is its place, the name its word in links. Its
front matter is YAML with the fields of `Lesson`; the sections ``## before``, ``## after`` and
``## try`` follow. ``[[field]]`` in *after* is a number that is measured, see `ui.learn.facts`.
Nothing here needs Streamlit or torch.
"""

from __future__ import annotations

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
END = "end"  # what follows the last lesson, in links


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
    """Read one file; an error names a field or a section that is missing or unknown."""
    number, _, name = path.stem.partition("_")
    _, front, text = path.read_text(encoding="utf-8").split("---\n", 2)
    fields, sections = yaml.safe_load(front), dict[str, Any](parse_sections(text))
    choices = fields["choices"]
    fields |= {
        "choices": tuple(choices[number] for number in sorted(choices)),
        "order": tuple(number - 1 for number in choices),
        "correct": fields["correct"] - 1,
        "try_it": sections.pop("try"),
    }
    return Lesson(int(number), name, **fields, **sections)
