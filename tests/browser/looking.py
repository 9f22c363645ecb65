"""Where on the screen a page shows what: by the browser's boxes."""

import io
import re
from itertools import pairwise

import numpy as np
from PIL import Image
from playwright.sync_api import Locator, Page

COLOURS_AT_LEAST = 200  # a lit surface has thousands, bare axes a few dozen
DRAWN_AT_LEAST = 0.03  # of a scene's pixels
PIXEL = 0.5  # less of a box's edge is rounding, which differs between fonts and screens
_BOX = """selector => [...document.querySelectorAll(selector)].map(node => {
  const { left, right, top, bottom } = node.getBoundingClientRect();
  return [left, right, top, bottom];
})"""
_WIDTHS = """() => [document.documentElement, document.querySelector('[data-testid=stMain]')]
  .map(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])"""


def assert_on_the_first_screen(page: Page, *selectors: str) -> None:
    """All that the selectors find, and that is shown, is seen without scrolling."""
    size = page.viewport_size
    assert size is not None
    for selector in selectors:
        boxes = [box for box in page.evaluate(_BOX, selector) if box[1] > box[0]]
        assert boxes, f"{selector} is not there"
        for left, right, top, bottom in boxes:
            where = f"{selector} is at {left:.0f} to {right:.0f}, {top:.0f} to {bottom:.0f}"
            assert min(left, top) > -PIXEL, where
            assert right < size["width"] + PIXEL, where
            assert bottom < size["height"] + PIXEL, where


def assert_charts_on_a_phone(page: Page) -> None:
    """In dark colours, one chart below the other, none too wide, the first picture above controls.

    On *Steering* that is a text.
    """
    assert_dark(page)
    assert_scrolls_only_down(page)
    boxes = [chart.bounding_box() for chart in page.locator(".stPlotlyChart").all()]
    for upper, lower in pairwise(boxes):
        assert upper["y"] + upper["height"] <= lower["y"]
    first = page.locator(".stPlotlyChart, .st-key-card_none").first
    for row in page.locator('[class*="st-key-"][class*="-row"]').all() if boxes else ():
        picture, box = first.bounding_box(), row.bounding_box()
        assert picture is not None
        assert box is not None
        assert box["y"] >= picture["y"] + picture["height"]


def assert_scrolls_only_down(page: Page) -> None:
    """Neither the page nor a picture is wider than the window."""
    size = page.viewport_size
    assert size is not None
    for content, window in page.evaluate(_WIDTHS):
        assert content <= window <= size["width"]


def assert_dark(page: Page) -> None:
    colour = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    assert max(int(part) for part in re.findall(r"\d+", colour)[:3]) < 60


def pixels(scene: Locator) -> np.ndarray:
    """(height, width, 3): what is seen of it, from 0 to 255."""
    return np.asarray(Image.open(io.BytesIO(scene.screenshot())).convert("RGB")).astype(int)


def assert_drawn(scene: Locator) -> None:
    """Many colours, and not merely lines on a background."""
    picture = pixels(scene)
    colours, counts = np.unique(picture.reshape(-1, 3), axis=0, return_counts=True)
    background = colours[counts.argmax()]
    share = (np.abs(picture - background).sum(-1) > 60).mean()
    assert len(colours) >= COLOURS_AT_LEAST
    assert share >= DRAWN_AT_LEAST, share
