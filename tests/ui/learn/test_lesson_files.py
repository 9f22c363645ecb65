"""Lessons are files: all are complete, and read in their order."""

import pytest

from ui.common.bar import PAGES
from ui.learn.lessons import (
    FOLDER,
    PICTURES,
    WHEN,
    lessons,
    picture,
    read_lesson,
)

PICTURES_BYTES = 600_000  # of all of them
FIRST = FOLDER / "1_hull.md"


def test_a_lesson_is_read_as_it_was_written():
    lesson = read_lesson(FIRST)
    written = FIRST.read_text(encoding="utf-8")
    assert (lesson.number, lesson.name) == (1, "hull")
    for text in (lesson.title, lesson.before, lesson.after, lesson.try_it, *lesson.choices):
        assert text in written
    assert f"correct: {lesson.correct + 1}" in written


def test_a_field_that_is_missing_or_unknown_is_named(tmp_path):
    written = FIRST.read_text(encoding="utf-8")
    for change, field in (("chip", "chop"), ("## try", "## trial")):
        path = tmp_path / "3_other.md"
        path.write_text(written.replace(change, field), encoding="utf-8")
        with pytest.raises((TypeError, KeyError), match=r"chop|try"):
            read_lesson(path)


def test_lessons_have_places_names_and_pages_of_their_own():
    assert lessons()
    assert len(lessons()) == len([*FOLDER.glob("*.md")])
    numbers = [lesson.number for lesson in lessons().values()]
    assert numbers == sorted({*numbers})
    for lesson in lessons().values():
        assert lesson.page in PAGES, f"{lesson.name}: page"
        assert 2 <= len({*lesson.choices}) == len(lesson.choices) <= 4, f"{lesson.name}: choices"
        assert 0 <= lesson.correct < len(lesson.choices), f"{lesson.name}: correct"
        assert {*lesson.alt} == {*WHEN}, f"{lesson.name}: alt"
        for texts in (lesson.state, lesson.reveal, lesson.alt):
            assert all(isinstance(x, str) for x in texts.values()), f"{lesson.name}: {texts}"
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
