"""Where a visitor stands in the lessons: guesses and what was ticked off, in session and link.

The link is ``lesson=keys&guess=multiply-3.keys-1&done=multiply``: choices are counted from 1. A
guess that the session has cannot be changed by a link.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from ui.common.links import link_value
from ui.learn.lessons import END, Lesson, lessons

COURSE = "learn_course"


@dataclass
class Course:
    """The ``guesses``, an index of a choice by lesson, and the lessons whose trial is ``done``."""

    guesses: dict[str, int] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)


def current() -> tuple[Lesson | None, Course]:
    """Return the lesson of the link, ``None`` at the end, and the visitor's course in the link."""
    first, names = next(iter(lessons())), {*lessons(), END}
    name = link_value("lesson", lambda text: text if text in names else None, first, first)
    course: Course = st.session_state.setdefault(COURSE, Course())
    linked = link_value("guess", parse_guesses, dict[str, int](), "no guess")
    course.guesses = linked | course.guesses
    course.done |= link_value("done", parse_done, set[str](), "nothing") & {*course.guesses}
    put_in_link(course)
    return lessons().get(name), course


def put_in_link(course: Course) -> None:
    """Let the link say where the visitor stands."""
    order = [name for name in lessons() if name in course.guesses]
    texts = {
        "guess": ".".join(f"{name}-{course.guesses[name] + 1}" for name in order),
        "done": ".".join(name for name in order if name in course.done),
    }
    for name, text in texts.items():
        if not text:
            st.query_params.pop(name, None)
        elif st.query_params.get(name) != text:
            st.query_params[name] = text


def parse_guesses(text: str) -> dict[str, int] | None:
    """Return the guesses of "multiply-3.keys-1"; ``None`` if one of them is none."""
    guesses = {}
    for part in text.split("."):
        name, _, number = part.partition("-")
        numbers = (
            [str(n) for n, _ in enumerate(lessons()[name].choices, 1)] if name in lessons() else []
        )
        if number not in numbers:
            return None
        guesses[name] = int(number) - 1
    return guesses


def parse_done(text: str) -> set[str] | None:
    """Return the names of "multiply.keys"; ``None`` if one of them is no lesson."""
    names = {*text.split(".")}
    return names if names <= {*lessons()} else None
