"""The square keeps what is drawn, reports each stroke to Python, and shows what Python sends."""

import json
from itertools import pairwise

import pytest

from .draw_page import START
from .parts import PHONE
from .pointing import SCROLLED, swipe
from .visiting import settle

SPACING, JITTER, RUBBER = 12, 7, 13  # pixels, as in draw.js
# True once Python's answer to the newest message has reached the square.
ANSWERED = """() => {
  const { waiting, flying, heard } = document.querySelector('.gc-draw').__gc;
  return !waiting && (flying === undefined || heard >= flying.serial);
}"""
FOCUSED = "document.activeElement.getAttribute('class')"


@pytest.fixture
def visit(visit_part):
    """Visit a square that nobody has drawn in."""

    def visit(query="", **window):
        return visit_part(f"part=draw&{query}", ".gc-draw-paper[width]", **window)

    return visit


def paper(page):
    return page.locator(".gc-draw-paper").bounding_box()


def pixel(page, x, y):
    box = paper(page)
    return box["x"] + box["width"] * (1 + x) / 2, box["y"] + box["height"] * (1 - y) / 2


def one_pixel(page):
    return 2 / paper(page)["width"]


def stroke(page, *places, up=True):
    """Press at the first place and drag through the others."""
    page.mouse.move(*pixel(page, *places[0]))
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*pixel(page, *place), steps=5)
    if up:
        page.mouse.up()


def tap(page, x, y):
    stroke(page, (x, y))


def mode(page, name):
    return page.get_by_role("radio", name=name, exact=True)


def button(page, name):
    return page.locator(".gc-draw-bar").get_by_role("button", name=name)


def heard(page):
    """Everything that Python has heard, once it has answered the newest message."""
    page.wait_for_function(ANSWERED)
    settle(page)
    return json.loads(page.get_by_test_id("stCode").inner_text())


def shown(page):
    """Points and labels in the picture."""
    picture = page.evaluate("document.querySelector('.gc-draw').__gc.picture")
    assert page.locator(".gc-draw-points path").count() == len(picture)
    return [[[p["x"], p["y"]] for p in picture], [p["label"] for p in picture]]


def counts(page):
    return page.locator(".gc-draw-counts").inner_text().replace("\xa0", " ")


def said(page):
    return page.get_by_role("status").text_content().replace("\xa0", " ")


def test_a_stroke_sprays_points_and_is_reported_when_it_ends(visit):
    page = visit()
    stroke(page, (-0.6, 0.5), (0.0, 0.5), (0.6, 0.5), up=False)
    under_way = shown(page)
    assert under_way[1]
    assert heard(page) == []
    page.mouse.up()
    first, *rest = heard(page)
    assert rest == []
    assert first == shown(page) == under_way

    points, labels = first
    slack = one_pixel(page)
    length = 1.2 / slack  # pixels
    assert len(points) == pytest.approx(1 + length / SPACING, abs=1)
    assert points[0] == pytest.approx([-0.6, 0.5], abs=slack)
    assert all(abs(y - 0.5) <= (JITTER + 1) * slack for _, y in points)
    xs = [x for x, _ in points]
    assert max(b - a for a, b in pairwise(xs)) <= (SPACING + 2 * JITTER) * slack
    assert set(labels) == {0}
    assert all(value == round(value, 3) for point in points for value in point)

    mode(page, "orange").check()
    stroke(page, (0.5, 0.0), (0.5, -0.7))
    points, labels = heard(page)[-1]
    assert [points[: len(xs)], labels[: len(xs)]] == first
    assert set(labels[len(xs) :]) == {1}
    assert counts(page) == f"blue {len(xs)} · orange {len(labels) - len(xs)}"
    assert said(page) == counts(page).replace(" ·", ",")
    shapes = {path.get_attribute("d") for path in page.locator(".gc-draw-points path").all()}
    assert len(shapes) == 2


@pytest.mark.soak  # long
def test_a_tap_puts_one_point_and_nothing_outside_the_square_does(visit):
    page = visit()
    tap(page, 0.25, -0.5)
    ((points, labels),) = heard(page)
    assert points == [pytest.approx([0.25, -0.5], abs=one_pixel(page))]
    assert labels == [0]
    tap(page, -1.03, 0.0)  # the margin
    page.mouse.click(*pixel(page, 0.0, 0.0), button="right")
    assert len(heard(page)) == 1

    stroke(page, (0.0, 0.9), (0.0, 1.4), (-0.5, 1.4), (-0.5, 0.9))  # out and in again
    points, _ = heard(page)[-1]
    top = [(x, y) for x, y in points if y > 0.5]
    assert all(y <= 1 and min(abs(x), abs(x + 0.5)) < 0.1 for x, y in top)
    assert {round(x * 2) for x, _ in top} == {0, -1}


@pytest.mark.soak  # long
def test_the_eraser_takes_what_lies_under_it(visit):
    page = visit()
    page.get_by_role("button", name="Reset").click()
    page.wait_for_selector(".gc-draw-points path")
    for _ in range(2):
        tap(page, -0.5, -0.5)  # two at one spot
    before = heard(page)[-1]
    assert before[1] == [0, 1, 1, 0, 0]
    mode(page, "Eraser").check()
    gap = (RUBBER + 3) * one_pixel(page)
    tap(page, 0.5 - gap, -0.5)  # just beside
    assert heard(page)[-1] == before
    stroke(page, (-0.9, -0.5), (0.5 - gap, -0.5 + gap / 2), (0.5, -0.5))
    points, labels = heard(page)[-1]
    assert points == [list(START[0][0]), list(START[0][2])]
    assert labels == [0, 1]
    button(page, "Undo").click()
    assert heard(page)[-1] == before == shown(page)
    assert len(heard(page)) == 4  # the tap that erased nothing was no news


def test_undo_goes_back_stroke_by_stroke_and_brings_back_what_was_cleared(visit):
    page = visit()
    undo, clear = button(page, "Undo"), button(page, "Clear")
    for one in (undo, clear):
        assert one.get_attribute("aria-disabled") == "true"
        one.click(force=True)
    assert heard(page) == []

    stroke(page, (-0.6, 0.5), (0.6, 0.5))
    tap(page, 0.0, 0.0)
    drawn = heard(page)[-1]
    clear.click()
    assert heard(page)[-1] == [[], []]
    assert counts(page) == "blue 0 · orange 0"
    undo.click()
    assert heard(page)[-1] == drawn == shown(page)
    undo.focus()
    page.keyboard.press("Enter")
    assert heard(page)[-1] == [drawn[0][:-1], drawn[1][:-1]]
    page.keyboard.press("Control+z")
    assert heard(page)[-1] == [[], []]
    assert undo.get_attribute("aria-disabled") == "true"
    assert page.evaluate(FOCUSED) == "gc-draw-undo"  # which is not lost
    number = len(heard(page))
    page.keyboard.press("Enter")
    assert len(heard(page)) == number


@pytest.mark.soak  # long
def test_everything_can_be_done_with_keys(visit):
    page = visit("classes=3")
    mode(page, "blue").focus()
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == "gc-draw-plot"
    assert page.locator(".gc-draw-cross").is_visible()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    assert said(page) == "x 0.15, y −0.01"
    page.keyboard.press("Space")
    assert heard(page)[-1] == [[[0.15, -0.01]], [0]]
    assert said(page) == "blue 1, orange 0, green 0"

    page.keyboard.press("3")
    assert mode(page, "green").is_checked()
    assert said(page) == "Painting green"
    for _ in range(30):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert heard(page)[-1] == [[[0.15, -0.01], [0.15, 1]], [0, 2]]
    page.keyboard.press("4")  # there is no such class
    assert mode(page, "green").is_checked()
    assert page.evaluate(SCROLLED) == 0

    page.keyboard.press("e")
    page.keyboard.press("Space")
    assert heard(page)[-1] == [[[0.15, -0.01]], [0]]
    page.keyboard.press("Space")
    assert said(page) == "Nothing here to erase"
    page.keyboard.press("Delete")  # the nearest, far away as it is
    assert heard(page)[-1] == [[], []]
    assert len(heard(page)) == 4
    page.keyboard.press("Shift+Tab")
    assert not page.locator(".gc-draw-cross").is_visible()


@pytest.mark.soak  # long
def test_when_no_more_points_fit_it_says_so(visit):
    page = visit("most=10")
    full = page.locator(".gc-draw-full")
    assert full.inner_text() == ""
    stroke(page, (-0.8, 0.5), (0.8, 0.5))
    points, _ = heard(page)[-1]
    assert len(points) == 10
    assert full.inner_text() == "10 points: no more fit. Erase some to paint on."
    assert said(page) == f"blue 10, orange 0. {full.inner_text()}"
    tap(page, 0.0, -0.5)
    page.keyboard.press("Space")
    assert said(page) == full.inner_text()
    assert len(heard(page)) == 1

    page.keyboard.press("Delete")
    assert len(heard(page)[-1][0]) == 9
    assert full.inner_text() == ""
    tap(page, 0.0, -0.5)
    assert len(heard(page)[-1][0]) == 10


@pytest.mark.soak  # long
def test_points_from_python_are_shown_and_can_be_taken_back(visit):
    page = visit()
    tap(page, 0.0, 0.0)
    drawn = heard(page)[-1]
    page.get_by_role("button", name="Reset").click()
    page.wait_for_function("document.querySelectorAll('.gc-draw-points path').length === 3")
    assert shown(page) == [[list(point) for point in START[0]], list(START[1])]
    assert len(heard(page)) == 1
    button(page, "Undo").click()
    assert heard(page)[-1] == drawn == shown(page)


@pytest.mark.soak  # long
@pytest.mark.parametrize("draws", [True, False])
def test_points_from_python_wait_for_the_end_of_a_stroke(visit, draws):
    page = visit()
    tap(page, 0.0, 0.0)
    heard(page)
    if not draws:
        mode(page, "Eraser").check()
    stroke(page, (0.5, 0.5), (0.7, 0.5), up=False)
    before = shown(page)
    page.get_by_role("button", name="Reset").evaluate("button => button.click()")
    page.wait_for_function("document.querySelector('.gc-draw').__gc.given.length === 3")
    assert shown(page) == before
    page.mouse.up()
    last = heard(page)[-1]
    if draws:  # the hand had the last word
        assert last == before == shown(page)
    else:
        assert shown(page) == [[list(point) for point in START[0]], list(START[1])]


@pytest.mark.soak  # long
def test_an_answer_to_one_stroke_does_not_wipe_out_the_next(visit):
    page = visit()
    stroke(page, (-0.6, 0.5), (0.6, 0.5))
    stroke(page, (-0.6, -0.5), (0.6, -0.5), up=False)
    both = shown(page)
    ((points, _),) = heard(page)  # the answer has come, with the first stroke alone
    assert len(points) < len(both[0])
    assert shown(page) == both
    page.mouse.up()
    assert heard(page)[-1] == both


@pytest.mark.soak  # long
def test_a_finger_draws_in_the_square_and_scrolls_beside_it(visit):
    page = visit("classes=4", **PHONE)
    box = paper(page)
    assert 260 < box["width"] < 360
    assert box["width"] == pytest.approx(box["height"])
    assert box["x"] + box["width"] <= 390 - 36
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for target in page.locator(".gc-draw-mode, .gc-draw-bar button").all():
        assert target.bounding_box()["height"] >= 40

    mode(page, "purple").tap()
    swipe(page, pixel(page, -0.5, -0.8), pixel(page, -0.5, 0.8))
    ((points, labels),) = heard(page)
    assert len(points) > 10
    assert max(y for _, y in points) - min(y for _, y in points) > 1.4
    assert set(labels) == {3}
    assert page.evaluate(SCROLLED) == 0

    beside = (378, box["y"] + 250)
    swipe(page, beside, (378, beside[1] - 120))
    page.wait_for_function(f"{SCROLLED} > 50")
    assert len(heard(page)) == 1
