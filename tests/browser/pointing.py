"""Pointing at what a page shows: clicking until it is marked, drawing a finger over it."""

from collections.abc import Callable, Iterable

from playwright.sync_api import Locator, Page, TimeoutError

from .visiting import settle

CLICK_MS = 8_000  # until a click that hit something stands in the link
SCROLLED = "document.querySelector('[data-testid=stMain]').scrollTop"


def place(panel: Locator, across: float, down: float) -> tuple[float, float]:
    """The pixel at these shares of a panel's width and height."""
    box = panel.bounding_box()
    assert box is not None
    return box["x"] + across * box["width"], box["y"] + down * box["height"]


def point_at(panel: Locator, across: float, down: float) -> None:
    """Move the pointer to these shares of a panel, once that is in view with nothing over it."""
    box = panel.bounding_box()
    assert box is not None
    panel.hover(position={"x": across * box["width"], "y": down * box["height"]})


def click_until_marked(
    page: Page,
    panel: Locator,
    spots: Iterable[tuple[float, float]],
    marked: Callable[[str], tuple[int, int] | None],
) -> tuple[int, int] | None:
    """Click at spots (shares of the panel's width and height) until the link names another point.

    ``marked`` reads the point in the link; the answer is the new one.
    """
    before = marked(page.url)
    for spot in spots:
        page.mouse.click(*place(panel, *spot))
        try:
            page.wait_for_url(lambda url: marked(url) != before, timeout=CLICK_MS)
        except TimeoutError:  # beside the surface, or where a line or a point lies over it
            continue
        page.mouse.move(1, 1)
        settle(page)
        return marked(page.url)
    raise AssertionError("no click marked a point")


def swipe(
    page: Page, start: tuple[float, float], end: tuple[float, float], steps: int = 12
) -> None:
    """One finger put down, moved and lifted."""
    move_fingers(page, (start, end), steps=steps)


def move_fingers(
    page: Page, *ways: tuple[tuple[float, float], tuple[float, float]], steps: int = 12
) -> None:
    """Fingers put down, each moved from its first place to its second, and lifted."""
    session = page.context.new_cdp_session(page)

    def touch(kind: str, points: list[tuple[float, float]]) -> None:
        fingers = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})

    for step in range(steps + 1):
        share = step / steps
        points = [(a + share * (c - a), b + share * (d - b)) for (a, b), (c, d) in ways]
        touch("touchMove" if step else "touchStart", points)
    touch("touchEnd", [])
