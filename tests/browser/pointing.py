"""Pointing at what a page shows: clicking until it is marked, drawing a finger over it."""

from playwright.sync_api import Locator, Page

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
