"""The square keeps what is drawn, puts each stroke into the link, and shows what the link says."""

from urllib.parse import parse_qs, urlsplit

import pytest

from ui.decision_boundary.own_data import decode_drawing, encode_drawing
from ui.limits import DRAWN_POINTS_IN_LINK

from .pointing import SCROLLED, swipe
from .visiting import become_desk, become_phone, follow_link, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

SPACING, JITTER, RUBBER = 12, 7, 13  # pixels, as in draw.js
ADDRESS = "/Decision_boundary?seeds=2&steps=50&points=64&data=own"
STATE = "document.querySelector('.gc-draw').__gc"
# True once Python's answer to the newest message has reached the square.
ANSWERED = f"""() => {{
  const {{ waiting, flying, heard }} = {STATE};
  return !waiting && (flying === undefined || heard >= flying.serial);
}}"""
FOCUSED = "document.activeElement.getAttribute('class')"
START = ((-0.5, 0.5), (0.5, -0.5), (0.75, -0.25)), (0, 1, 1)


@pytest.fixture
def page(visitor, served, watch):
    """A square that nobody has drawn in."""
    become_desk(visitor)
    visit(visitor, watch, f"{served.url}/Guide", settle)  # where the square before is gone
    visit(visitor, watch, served.url + ADDRESS, await_square)
    return visitor


def await_square(page):
    page.locator(".gc-draw-paper[width]").wait_for()
    settle(page)
    page.locator(".gc-draw-paper").scroll_into_view_if_needed()


def pixel(page, x, y):
    box = page.locator(".gc-draw-paper").bounding_box()
    return box["x"] + box["width"] * (1 + x) / 2, box["y"] + box["height"] * (1 - y) / 2


def one_pixel(page):
    return 2 / page.locator(".gc-draw-paper").bounding_box()["width"]


def stroke(page, *places, up=True):
    """Press at the first place and drag through the others."""
    page.mouse.move(*pixel(page, *places[0]))
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*pixel(page, *place), steps=5)
    if up:
        page.mouse.up()


def mode(page, name):
    return page.get_by_role("radio", name=name, exact=True)


def button(page, name):
    return page.locator(".gc-draw-bar").get_by_role("button", name=name)


def linked(page):
    """Points and labels in the link, once Python has answered the newest message."""
    page.wait_for_function(ANSWERED)
    found = parse_qs(urlsplit(page.url).query).get("drawing")
    return decode_drawing(found[0]) if found else ((), ())


def shown(page):
    """Points and labels in the picture."""
    picture = page.evaluate(f"{STATE}.picture")
    assert page.locator(".gc-draw-points path").count() == len(picture)
    return tuple((p["x"], p["y"]) for p in picture), tuple(p["label"] for p in picture)


def said(page):
    return page.locator(".gc-draw-said").text_content().replace("\xa0", " ")


def test_a_stroke_sprays_points_and_is_reported_when_it_ends(page):
    slack = one_pixel(page)
    stroke(page, (-0.6, 0.5), (0.0, 0.5), (0.6, 0.5), up=False)
    under_way = shown(page)
    assert linked(page) == ((), ())
    page.mouse.up()
    points, labels = first = linked(page)
    assert first == shown(page) == under_way
    assert len(points) == pytest.approx(1 + 1.2 / slack / SPACING, abs=1)
    assert points[0] == pytest.approx((-0.6, 0.5), abs=slack)
    assert all(abs(y - 0.5) <= (JITTER + 1) * slack for _, y in points)
    mode(page, "orange").check()
    stroke(page, (0.5, 0.0), (0.5, -0.7))
    both = linked(page)
    count = len(labels)
    assert (both[0][:count], both[1][:count]) == first
    assert (set(labels), set(both[1][count:])) == ({0}, {1})
    assert said(page).startswith(f"blue {count}, orange {len(both[1]) - count}, teal 0")


def test_undo_goes_back_stroke_by_stroke_and_brings_back_what_was_cleared(page):
    undo, clear = button(page, "Undo"), button(page, "Clear")
    assert undo.get_attribute("aria-disabled") == clear.get_attribute("aria-disabled") == "true"
    stroke(page, (-0.6, 0.5), (0.6, 0.5))
    stroke(page, (0.0, 0.0))
    points, labels = drawn = linked(page)
    clear.click()
    assert linked(page) == ((), ())
    undo.click()
    assert linked(page) == drawn == shown(page)
    undo.focus()
    page.keyboard.press("Enter")
    assert linked(page) == (points[:-1], labels[:-1])
    page.keyboard.press("Control+z")
    assert linked(page) == ((), ())
    assert undo.get_attribute("aria-disabled") == "true"
    assert page.evaluate(FOCUSED) == "gc-draw-undo"  # which is not lost


@pytest.mark.soak  # long
def test_everything_can_be_done_with_keys(page):
    mode(page, "blue").focus()
    page.keyboard.press("Tab")
    before = page.evaluate(SCROLLED)
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Shift+ArrowDown"):
        page.keyboard.press(key)
    assert said(page) == "x 0.15, y −0.01"
    page.keyboard.press("Space")
    assert linked(page) == (((0.15, -0.01),), (0,))
    page.keyboard.press("3")
    assert said(page) == "Painting teal"
    for _ in range(30):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert linked(page) == (((0.15, -0.01), (0.15, 1)), (0, 2))
    assert page.evaluate(SCROLLED) == before
    page.keyboard.press("e")
    page.keyboard.press("Space")
    page.keyboard.press("Space")
    assert said(page) == "Nothing here to erase"
    page.keyboard.press("Delete")  # the nearest, far away as it is
    assert linked(page) == shown(page) == ((), ())


@pytest.mark.soak  # long
def test_the_eraser_takes_what_lies_under_it_and_a_full_square_says_so(page):
    full = tuple((x / 1000, 0.9) for x in range(DRAWN_POINTS_IN_LINK - 3)) + START[0]
    link = encode_drawing(full, [0] * DRAWN_POINTS_IN_LINK)
    follow_link(page, f"{ADDRESS}&drawing={link}")
    page.wait_for_function(f"{STATE}.picture.length === {DRAWN_POINTS_IN_LINK}")
    assert "no more fit" in page.locator(".gc-draw-full").inner_text()
    stroke(page, (0.0, -0.9))
    assert linked(page)[0] == full
    mode(page, "Eraser").check()
    gap = (RUBBER + 3) * one_pixel(page)
    stroke(page, (0.5 - gap, -0.5), (0.5 - gap, -0.6))  # just beside
    assert linked(page)[0] == full
    stroke(page, (-0.9, -0.5), (0.5, -0.5))
    assert linked(page)[0] == full[:-2] + full[-1:]
    assert page.locator(".gc-draw-full").inner_text() == ""


@pytest.mark.soak  # long
@pytest.mark.parametrize("draws", [True, False])
def test_points_from_a_link_wait_for_the_end_of_a_stroke(page, draws):
    stroke(page, (0.0, 0.0))
    linked(page)
    if not draws:
        mode(page, "Eraser").check()
    stroke(page, (0.5, 0.5), (0.7, 0.5), up=False)
    before = shown(page)
    follow_link(page, f"{ADDRESS}&drawing={encode_drawing(*START)}")
    page.wait_for_function(f"{STATE}.given.length === 3")
    assert shown(page) == before
    page.mouse.up()
    assert linked(page) == shown(page) == (before if draws else START)  # the hand has the last word


@pytest.mark.soak  # long
def test_a_finger_draws_in_the_square_and_scrolls_beside_it(page):
    become_phone(page)
    await_square(page)
    before = page.evaluate(SCROLLED)
    mode(page, "pink").check()
    swipe(page, pixel(page, -0.5, -0.8), pixel(page, -0.5, 0.8))
    points, labels = linked(page)
    assert max(y for _, y in points) - min(y for _, y in points) > 1.4
    assert set(labels) == {3}
    assert page.evaluate(SCROLLED) == before
    beside = 384, pixel(page, 0, 0)[1]
    swipe(page, beside, (384, beside[1] - 120))
    page.wait_for_function(f"{SCROLLED} > {before} + 50")
    assert len(linked(page)[0]) == len(points)
