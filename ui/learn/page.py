"""The page *Learn*: a picture, a guess, the reveal, the answer in numbers, something to try.

Where a visitor stands is in session and link:
``lesson=keys&guess=multiply-3.keys-1&done=multiply``. Choices are counted from 1. A guess that the
session has cannot be changed by a link.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import streamlit as st

from ui.classroom.classes import Question, plain
from ui.classroom.room import Room, draw_ended, draw_room, draw_start, find_room
from ui.common.bar import PAGES
from ui.common.lessons import section
from ui.common.links import link_value
from ui.common.page import draw_finding
from ui.common.present import offer_steps
from ui.components.browser import begin_at_top
from ui.learn.facts import CHECKS, after_text, try_text
from ui.learn.handout import answer_key, handout
from ui.learn.lessons import END, WHEN, Lesson, lessons, picture
from ui.learn.pictures import PICTURES, State, draw_picture

STYLE = Path(__file__).with_name("learn.css")
COURSE = "learn_course"
SHOWN = "learn_shown"  # the lesson that a class saw last
WIDTHS = (7, 4)  # of picture and course
FURTHER = {  # pages to go on to
    "Curved or bent?": "what a ring needs, and a price on curvature",
    "Claims": "nine claims, and what decides them",
    "Real heads": "the heads of a public model, or a module of yours",
    "Guide": "what is measured, and what it does not say",
}
OF_PICTURES = ("camera", *{name for row in PICTURES.values() for name in row.parameters})


# --- Where a visitor stands -----------------------------------------------------------------------


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


# --- The page -------------------------------------------------------------------------------------


def draw() -> None:
    """Draw the page below its title."""
    st.html(STYLE)
    if room := find_room():
        _draw_class(room)
        return
    draw_ended()
    lesson, course = current()
    _draw_steps(lesson, course)
    if lesson is None:
        _draw_end(course)
        _draw_for_teachers(0)
        return
    committed = lesson.name in course.guesses
    if committed:
        _draw_verdict(lesson, course.guesses[lesson.name])
    begin_at_top(f"{lesson.name} {committed}")
    picture, side = st.columns(WIDTHS, gap="large")
    if not committed:  # at once: a picture may take seconds
        with side.container(key="learn_side"):
            _draw_question(lesson)
    with picture.container(key="learn_picture"):
        draw_picture(lesson, committed)
    if committed:
        with side.container(key="learn_side"):
            _draw_answer(lesson, course)
    with side:
        _draw_for_teachers(lesson.number - 1)


# --- A class --------------------------------------------------------------------------------------


def questions() -> tuple[Question, ...]:
    """Return the questions of all lessons as phones show them."""
    return tuple(
        Question(
            plain(lesson.question),
            tuple(map(plain, lesson.shown_choices)),
            lesson.shown_correct,
            tuple(picture(lesson, when) for when in WHEN),
            tuple(lesson.alt[when] for when in WHEN),
        )
        for lesson in lessons().values()
    )


def _draw_class(room: Room) -> None:
    """Draw the lesson to which the teacher has led the class."""
    lesson = [*lessons().values()][room.index]
    if st.session_state.get(SHOWN) != lesson.name:
        st.session_state[SHOWN] = lesson.name
        _clear_picture()
    is_over = room.revealed and room.index + 1 == len(lessons())
    st.query_params["lesson"] = END if is_over else lesson.name  # here it opens after the class
    picture, side = st.columns(WIDTHS, gap="large")
    with picture.container(key="learn_picture"):
        draw_picture(lesson, room.revealed)
    with side.container(key="learn_side"):
        draw_room(room)
        st.markdown(after_text(lesson.name) if room.revealed else lesson.before)


# --- The row of lessons ---------------------------------------------------------------------------


def _draw_steps(lesson: Lesson | None, course: Course) -> None:
    with st.container(horizontal=True, key="learn_steps", gap="xsmall"):
        for each in lessons().values():
            tick = "done_all" if each.name in course.done else "check"
            st.button(
                f"{each.number} *{each.chip}*",
                key=f"learn_step_{each.name}",
                icon=f":material/{tick}:" if each.name in course.guesses else None,
                help=each.title,
                type="primary" if each is lesson else "secondary",
                on_click=go,
                args=(each.name,),
            )
        st.button(
            "End",
            key=f"learn_step_{END}",
            help=section("learn", "title"),
            type="secondary" if lesson else "primary",
            on_click=go,
            args=(END,),
        )
    names = [*lessons(), END]
    here = names.index(lesson.name if lesson else END)
    before, after = names[here - 1 : here], names[here + 1 :]
    offer_steps(
        partial(go, before[0]) if before else None, partial(go, after[0]) if after else None
    )


def go(name: str) -> None:
    """Open the lesson called ``name`` with its own picture; a callback."""
    _clear_picture()
    st.query_params["lesson"] = name


def _clear_picture() -> None:
    """Let the next picture begin with its own state."""
    for parameter in OF_PICTURES:
        st.query_params.pop(parameter, None)


def _start_over() -> None:
    st.session_state[COURSE] = Course()
    put_in_link(Course())
    go(next(iter(lessons())))


def _draw_for_teachers(index: int) -> None:
    """Draw what is for a class, which starts with the question at ``index``."""
    with st.container(horizontal=True, gap="xsmall"):
        for label, make, help in (
            ("Handout", handout, "All questions with their pictures, to print on A4."),
            ("Answer key", answer_key, "All answers with their pictures, for the teacher."),
        ):
            name = label.lower().replace(" ", "_")
            st.download_button(
                label,
                make,
                f"{name}.html",
                "text/html",
                key=f"learn_{name}",
                type="tertiary",
                icon=":material/download:",
                on_click="ignore",
                help=help,
            )
        draw_start(questions(), index)


# --- Before the guess -----------------------------------------------------------------------------


def _draw_question(lesson: Lesson) -> None:
    draw_finding(section("learn", "how", number=lesson.number, count=len(lessons())))
    st.markdown(lesson.before)
    key = f"learn_choice_{lesson.name}"
    with st.container(key="learn_question"):
        choice = st.radio(
            lesson.question,
            lesson.order,
            None,
            key=key,
            format_func=lesson.choices.__getitem__,
        )
    st.button(
        "Commit to this guess",
        key="learn_commit",
        type="primary",
        width="stretch",
        disabled=choice is None,
        on_click=_commit,
        args=(lesson, key),
    )


def _commit(lesson: Lesson, key: str) -> None:
    """Lock the choice, unless there is a guess already; a callback."""
    choice = st.session_state.get(key)
    course: Course = st.session_state[COURSE]
    if choice is not None and lesson.name not in course.guesses:
        _clear_picture()
        course.guesses[lesson.name] = choice
        put_in_link(course)


# --- After it -------------------------------------------------------------------------------------


def _draw_verdict(lesson: Lesson, guess: int) -> None:
    """Say above the picture whether the guess is right: on a phone what is beside it is below."""
    right = guess == lesson.correct
    colour, icon = ("green", "check_circle") if right else ("red", "cancel")
    answer = plain(lesson.choices[lesson.correct])
    text = "Right" if right else f"Your guess: {plain(lesson.choices[guess])} The answer"
    draw_finding(f":{colour}[:material/{icon}:] {text}: {answer}")


def _draw_answer(lesson: Lesson, course: Course) -> None:
    st.markdown(after_text(lesson.name))
    st.divider()
    st.markdown(f"**Try it.** {try_text(lesson.name)}")
    if lesson.name not in course.done and CHECKS[lesson.check](State(lesson, True)):
        course.done.add(lesson.name)
        put_in_link(course)
    is_done = lesson.name in course.done
    with st.container(key="learn_done"):
        if is_done:
            st.success("Done. The page has checked it.", icon=":material/check_circle:")
        else:
            st.info(
                "Not there yet: the page ticks this off by itself.",
                icon=":material/radio_button_unchecked:",
            )
    titles = {each.name: each.title for each in lessons().values()}
    titles[END] = section("learn", "title")
    following = [*titles][[*titles].index(lesson.name) + 1]
    st.button(
        f"Next: {titles[following]}",
        key="learn_next",
        width="stretch",
        type="primary",
        icon=":material/arrow_forward:",
        icon_position="right",
        on_click=go,
        args=(following,),
    )


# --- The end --------------------------------------------------------------------------------------


def _draw_end(course: Course) -> None:
    """Draw what the lessons have shown, what is open, and where to go on."""
    right = sum(lessons()[name].correct == guess for name, guess in course.guesses.items())
    draw_finding(section("learn", "answer"))
    st.markdown(section("learn", "why"))
    if course.guesses:
        with st.container(horizontal=True, vertical_alignment="center"):
            said = section("learn", "right", right=right, count=len(course.guesses))
            st.markdown(said, width="content")
            st.button(
                "Start over",
                key="learn_start_over",
                type="tertiary",
                on_click=_start_over,
                help="Clears all guesses.",
            )
    known, unknown = st.columns(2, gap="large")
    known.markdown(section("learn", "known"))
    unknown.markdown(section("learn", "unknown"))
    unknown.markdown(section("learn", "further"))
    for title, why in FURTHER.items():
        unknown.page_link(PAGES[title].path, label=f"{title}: {why}", icon=PAGES[title].icon)
