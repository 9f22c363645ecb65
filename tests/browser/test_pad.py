"""Does a pad's handle follow the hand at once, tell Python where it is, and obey Python after?"""

import json
import re
from itertools import pairwise

import pytest

from ui.components import wire
from ui.components.pad import Handle, _is_sound, pad

from .pad_page import EXTENT, START
from .parts import PHONE
from .pointing import SCROLLED, swipe
from .visiting import settle

SIDE_SHARE = (320 - 38 - 20) / 320  # of the pad's width that the extent takes, both ways
LEAST_GAP_MS = 100  # between two reports; pad.js waits 120
ONE_PIXEL = 2 * EXTENT / (320 * SIDE_SHARE)
# Every place that a handle is shown at from now on, as it is read aloud.
WATCH_PLACES = """name => {
  const handle = document.querySelector(`.gc-pad-handle[aria-label="${name}"]`);
  window.testPlaces = [];
  new MutationObserver(() => window.testPlaces.push(handle.getAttribute('aria-valuetext')))
    .observe(handle, { attributes: true, attributeFilter: ['aria-valuetext'] });
}"""
# True once Python's answer to its newest message has reached the pad.
ANSWERED = """() => {
  const { flying, heard } = document.querySelector('.gc-pad').__gc;
  return flying !== undefined && heard >= flying.serial;
}"""


@pytest.fixture
def visit(visit_part):
    """Visit a pad that nobody has touched."""

    def visit(**window):
        return visit_part("part=pad", ".gc-pad-handle[aria-valuetext]", **window)

    return visit


def handle(page, name):
    return page.get_by_role("slider", name=name, exact=True)


def place(page, name):
    """Where a handle is, as it is read aloud."""
    text = handle(page, name).get_attribute("aria-valuetext")
    return tuple(float(x.replace("−", "-")) for x in re.findall(r"[xy] ([−\d.]+)", text))


def spot(page, name):
    """The pixel in the middle of a handle."""
    box = handle(page, name).locator(".gc-pad-hit").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def pixel(page, x, y):
    """The pixel of a position, reckoned from two handles whose positions are known."""
    (x1, y1), (x2, y2) = place(page, "value 1"), place(page, "value 2")
    (across1, down1), (across2, down2) = spot(page, "value 1"), spot(page, "value 2")
    return (
        across1 + (x - x1) / (x2 - x1) * (across2 - across1),
        down1 + (y - y1) / (y2 - y1) * (down2 - down1),
    )


def heard(page):
    """Everything that Python has heard, once it has answered the newest message."""
    page.wait_for_function(ANSWERED)
    settle(page)
    return json.loads(page.get_by_test_id("stCode").inner_text())


def drag(page, name, x, y, steps=40):
    """Take hold of a handle and move it without letting go."""
    target = pixel(page, x, y)
    page.mouse.move(*spot(page, name))
    page.mouse.down()
    page.mouse.move(*target, steps=steps)


def test_a_drag_shows_at_once_and_is_reported_now_and_then_and_in_the_end(visit):
    page = visit()
    drag(page, "value 1", 1.5, -1.5)
    assert place(page, "value 1") == pytest.approx((1.5, -1.5), abs=ONE_PIXEL)
    under_way = heard(page)
    assert under_way
    assert not any(moved["done"] for moved in under_way)
    page.mouse.move(*pixel(page, 1.0, 0.25), steps=40)
    page.mouse.up()

    *under_way, last = heard(page)
    assert not any(moved["done"] for moved in under_way)
    assert last["done"]
    assert (last["x"], last["y"]) == pytest.approx((1.0, 0.25), abs=ONE_PIXEL)
    assert {moved["index"] for moved in (*under_way, last)} == {0}
    sent = [moved["serial"] for moved in under_way]  # milliseconds
    assert all(later - sooner >= LEAST_GAP_MS for sooner, later in pairwise(sent))  # 80 moves
    assert place(page, "value 1") == pytest.approx((1.0, 0.25), abs=ONE_PIXEL)


@pytest.mark.soak  # long
def test_stale_positions_do_not_pull_a_handle_out_of_the_hand(visit):
    page = visit()
    page.evaluate(WATCH_PLACES, "value 2")
    drag(page, "value 2", 0.0, -0.5)
    assert len(heard(page)) >= 1  # so that the page was drawn again with the old position
    drag_on = pixel(page, 1.0, -0.5)
    page.mouse.move(*drag_on, steps=20)
    page.mouse.up()
    assert heard(page)[-1]["done"]
    shown = [
        float(text.replace("−", "-"))
        for text in page.evaluate("window.testPlaces.map(text => text.match(/x ([−\\d.]+)/)[1])")
    ]
    assert len(shown) > 20
    assert shown == sorted(shown)
    assert place(page, "value 2") == pytest.approx((1.0, -0.5), abs=ONE_PIXEL)


@pytest.mark.soak  # long
def test_python_moves_a_handle_that_nobody_holds(visit):
    page = visit()
    drag(page, "query", -1.0, 1.5)
    page.mouse.up()
    assert heard(page)[-1]["done"]
    assert place(page, "query") == pytest.approx((-1.0, 1.5), abs=ONE_PIXEL)
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector('.gc-pad-handle[aria-valuetext="x 1.00, y −1.00"]')
    assert place(page, "query") == START[3]


def test_arrow_keys_move_the_handle_in_focus(visit):
    page = visit()
    handle(page, "value 2").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    last = heard(page)[-1]
    assert last["done"]
    assert last["index"] == 1
    assert (last["x"], last["y"]) == pytest.approx((-1 + 3 * EXTENT / 40, -0.5 + EXTENT / 200))
    assert page.evaluate(SCROLLED) == 0

    before = len(heard(page))
    for _ in range(40):  # a key held down
        page.keyboard.down("ArrowDown")
    page.keyboard.up("ArrowDown")
    *_, last = now = heard(page)
    assert last["done"]
    assert last["y"] == -EXTENT  # and no further
    assert len(now) - before < 15
    assert place(page, "value 2") == pytest.approx((-0.85, -2.0))
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "value 2"


@pytest.mark.soak  # long
def test_what_lies_outside_is_hollow_at_the_rim_until_it_is_moved(visit):
    page = visit()
    far = handle(page, "far")
    assert "gc-pad-out" in far.get_attribute("class")
    assert far.locator("title").text_content() == (
        "far lies outside this pad, at x 3.20, y −0.40; it is shown at the rim."
    )
    assert spot(page, "far") == pytest.approx(pixel(page, EXTENT, -0.4), abs=0.5)
    page.mouse.move(*spot(page, "far"))
    page.mouse.down()
    page.mouse.up()
    settle(page)
    assert json.loads(page.get_by_test_id("stCode").inner_text()) == []
    assert place(page, "far") == START[2]

    drag(page, "far", 5.0, 1.0)  # well beyond the rim
    page.mouse.up()
    last = heard(page)[-1]
    assert last["x"] == EXTENT
    assert last["y"] == pytest.approx(1.0, abs=ONE_PIXEL)
    assert "gc-pad-out" not in far.get_attribute("class")


@pytest.mark.soak  # long
def test_a_finger_moves_a_handle_and_scrolls_beside_it(visit):
    page = visit(**PHONE)
    box = page.locator(".gc-pad-plot").bounding_box()
    assert (box["width"], box["height"]) == pytest.approx((320, 320), abs=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for hit in page.locator(".gc-pad-hit").all():
        assert hit.bounding_box()["width"] >= 24

    swipe(page, spot(page, "value 1"), pixel(page, 0.5, -1.5))
    last = heard(page)[-1]
    assert last["done"]
    assert (last["x"], last["y"]) == pytest.approx((0.5, -1.5), abs=ONE_PIXEL)
    assert page.evaluate(SCROLLED) == 0

    empty = pixel(page, -1.5, 1.0)
    swipe(page, empty, (empty[0], empty[1] - 120))
    page.wait_for_function(f"{SCROLLED} > 50")
    assert heard(page)[-1] == last


@pytest.mark.parametrize(
    ("x", "y", "extent", "words"),
    [
        (0.0, float("-inf"), 1.0, "“value 1” is at (0.0, -inf): a pad can show finite"),
        (0.0, 0.0, 0.0, "extent of a pad must be positive and finite, not 0.0"),
    ],
)
def test_a_position_that_cannot_be_shown_is_refused(x, y, extent, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        pad(
            key="refused",
            handles=[Handle("value 1", x, y, "red")],
            extent=extent,
            label="",
            x_name="x",
            y_name="y",
            on_move=lambda: None,
        )


@pytest.fixture
def is_received(monkeypatch):
    def send(message):
        monkeypatch.setattr(wire.st, "session_state", {"pad": {"moved": message}})
        return wire.receive("pad", "moved", lambda moved: _is_sound(moved, 2, 2.0)) is not None

    return send


SOUND = {"index": 1, "x": 0.5, "y": -2.0, "done": True, "serial": 1_700_000_000_000}


@pytest.mark.parametrize(
    ("change", "sound"),
    [
        ({}, True),
        ({"x": 2}, True),
        ({"index": 2}, False),
        ({"index": -1}, False),
        ({"index": 0.5}, False),
        ({"x": 2.001}, False),
        ({"y": float("nan")}, False),
        ({"y": None}, False),
        ({"x": "0"}, False),
        ({"done": 1}, False),
        ({"serial": "1"}, False),
        ({"serial": 0}, False),
        ({"serial": True}, False),
        ({"serial": 2**53 + 1}, False),
    ],
)
def test_a_forged_message_is_not_listened_to(is_received, change, sound):
    assert is_received(SOUND | change) == sound


@pytest.mark.parametrize("message", [None, [], "moved", {}, {"index": 0}])
def test_a_message_of_another_form_is_not_listened_to(is_received, message):
    assert not is_received(message)
