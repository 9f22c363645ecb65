"""Lessons are files: complete ones are read, in their order; of others the fault is named."""

import re

import pytest
import yaml

from ui.common.bar import PAGES
from ui.learn.lessons import (
    FIELDS,
    FOLDER,
    FRONT,
    PICTURES,
    SECTIONS,
    WHEN,
    LessonError,
    lessons,
    picture,
    read_lesson,
)

PICTURES_BYTES = 600_000  # of all of them
FIRST = min(FOLDER.glob("*.md"))


def write(path, front, sections):
    text = "".join(f"## {name}\n{words}\n\n" for name, words in sections.items())
    path.write_text(f"---\n{yaml.safe_dump(front, sort_keys=False)}---\n{text}", encoding="utf-8")
    return path


@pytest.fixture
def parts():
    """Front matter and sections of a lesson that is shipped."""
    front = yaml.safe_load(FRONT.fullmatch(FIRST.read_text(encoding="utf-8"))[1])
    lesson = read_lesson(FIRST)
    return front, dict(zip(SECTIONS, (lesson.before, lesson.after, lesson.try_it), strict=True))


def test_a_lesson_is_read_as_it_was_written(parts, tmp_path):
    assert read_lesson(write(tmp_path / FIRST.name, *parts)) == read_lesson(FIRST)


@pytest.mark.parametrize("field", [*FIELDS, *SECTIONS])
def test_a_missing_field_is_named(parts, tmp_path, field):
    front, sections = parts
    front.pop(field, None)
    sections.pop(field, None)
    with pytest.raises(LessonError, match=rf"3_half\.md: the \w+ '{field}' is missing"):
        read_lesson(write(tmp_path / "3_half.md", front, sections))


@pytest.mark.parametrize(("change", "text"), [
    ({"colour": "red"}, "the field 'colour' is unknown"),
    ({"correct": 5}, "the field 'correct' is not the number of a choice"),
    ({"correct": True}, "the field 'correct' is not the number of a choice"),
    ({"correct": 0}, "the field 'correct' is missing"),
    ({"choices": ["a", "b"]}, "the field 'choices' is not 2 to 4 texts by number"),
    ({"choices": {1: "only"}}, "the field 'choices' is not 2 to 4 texts by number"),
    ({"choices": {1: "a", 2: 2}}, "the field 'choices' is not 2 to 4 texts by number"),
    ({"choices": {1: "a", 3: "b"}}, "the field 'choices' is not 2 to 4 texts by number"),
    ({"state": {"strength": 0}}, "the field 'state' is not a mapping to texts"),
    ({"alt": {"before": "x"}}, "the field 'alt' is not two texts"),
    ({"title": 7}, "the field 'title' is not a text"),
])  # fmt: skip
def test_a_field_of_another_kind_is_named(parts, tmp_path, change, text):
    front, sections = parts
    with pytest.raises(LessonError, match=re.escape(text)):
        read_lesson(write(tmp_path / "3_other.md", front | change, sections))


@pytest.mark.parametrize(("name", "text"), [
    ("half.md", "---\ntitle: x\n---\n"), ("3_half.md", "## before\nNo front matter\n"),
    ("3_half.md", "---\n- a\n---\n"), ("3_half.md", "---\na: [\n---\n"),
])  # fmt: skip
def test_another_file_is_refused(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LessonError, match=name):
        read_lesson(path)


def test_lessons_have_places_names_and_pages_of_their_own():
    assert lessons()
    assert len(lessons()) == len([*FOLDER.glob("*.md")])
    numbers = [lesson.number for lesson in lessons().values()]
    assert numbers == sorted({*numbers})
    for lesson in lessons().values():
        assert lesson.page in PAGES, f"{lesson.name}: page"
        assert len({*lesson.choices}) == len(lesson.choices), f"{lesson.name}: choices"
        assert lesson.state != lesson.reveal, f"{lesson.name}: nothing to reveal"


def test_the_right_answers_are_spread_over_the_places_at_which_they_are_shown():
    places = [lesson.shown_correct for lesson in lessons().values()]
    assert all(places.count(place) <= len(places) / 3 for place in {*places})
    assert all(len({*places[i : i + 3]}) > 1 for i in range(len(places) - 2))


def test_a_link_means_the_choice_that_it_meant_before_another_order_was_shown():
    hull = lessons()["hull"]
    assert hull.choices[2] == "Only inside the triangle of the three values."
    assert (hull.correct, hull.shown_correct) == (2, 1)
    assert hull.shown_choices[hull.shown_correct] == hull.choices[2]


def test_every_lesson_has_two_small_pictures_for_paper_and_phones():
    files = {picture(lesson, when) for lesson in lessons().values() for when in WHEN}
    assert {*PICTURES.iterdir()} == files, "python -m tests.browser.learn_pictures"
    assert sum(file.stat().st_size for file in files) < PICTURES_BYTES
