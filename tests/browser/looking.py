"""Where on the screen a page shows what: by the browser's boxes and Plotly's own matrices."""

import io
import re
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page

COLOURS_AT_LEAST = 200  # a lit surface has thousands, bare axes a few dozen
DRAWN_AT_LEAST = 0.03  # of a scene's pixels
EDGE_SHADES = 8  # of 255: less is not seen

SCENES = "[...document.querySelectorAll('.gc-scene')]"
CAMERAS = f"() => {SCENES}.map(div => div._fullLayout.scene._scene.getCamera())"
SEEN = 1e-6  # of a scene's size: less is rounding, which differs between processors
PIXEL = 0.5  # less of a box's edge is rounding, which differs between fonts and screens
# Whether the cameras are not those of before any more, as one sees it.
TURNED = f"""before => ({CAMERAS})().some((camera, i) => ['eye', 'center', 'up'].some(part =>
  ['x', 'y', 'z'].some(axis => Math.abs(camera[part][axis] - before[i][part][axis]) > {SEEN})))"""
# Where each panel's marker is, the last of its traces; empty where there is none.
MARKERS = """() => [...document.querySelectorAll('.gc-scene, .gc-plane')].map(div => {
  const { x, y } = div.data.at(-1);
  return [...x, ...y];
})"""
# Every frame that the view shows from now on.
WATCH_FRAMES = """() => {
  const view = document.querySelector('.gc-view');
  window.testFrames = [];
  new MutationObserver(() => window.testFrames.push(Number(view.dataset.frame)))
    .observe(view, { attributes: true, attributeFilter: ['data-frame'] });
}"""

# Of every scene the least and largest place, across and up, at which points of it are seen, in half
# panels from the middle: within -1 and 1 nothing is cropped.
_EXTENTS = f"""() => {SCENES}.map(div => {{
  const scene = div._fullLayout.scene._scene;
  const {{ model, view, projection }} = scene.glplot.cameraParams;
  const times = (m, v) => [0, 1, 2, 3].map(r => v.reduce((sum, x, c) => sum + m[4 * c + r] * x, 0));
  const places = [[], []];
  for (const [x, y, z] of POINTS(div)) {{
    if (!Number.isFinite(x)) continue;
    const point = [x, y, z].map((value, k) => value * scene.dataScale[k]);
    const seen = times(projection, times(view, times(model, [...point, 1])));
    places.forEach((list, k) => list.push(seen[k] / seen[3]));
  }}
  return places.map(list => [Math.min(...list), Math.max(...list)]);
}})"""
_OF_TRACES = "flatMap(({ x, y, z }) => Array.from(x, (_, i) => [x[i], y[i], z[i]]))"
_POINTS = {
    "all but the markers": f"({{ data }}) => data.slice(0, -1).{_OF_TRACES}",
    "the sheet": f"({{ data }}) => data.slice(0, 1).{_OF_TRACES}",
    "the box": """({ _fullLayout: { scene } }) => [0, 1, 2, 3, 4, 5, 6, 7].map(corner =>
      ['x', 'y', 'z'].map((axis, i) => scene[`${axis}axis`].range[corner >> i & 1]))""",
}
_BOX = """selector => [...document.querySelectorAll(selector)].map(node => {
  const { left, right, top, bottom } = node.getBoundingClientRect();
  return [left, right, top, bottom];
})"""
_WIDTHS = """() => [document.documentElement, document.querySelector('[data-testid=stMain]')]
  .map(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])"""


def extents(page: Page, of: str = "all but the markers") -> list[list[list[float]]]:
    """Of every scene the least and the largest place across, and up, from -1 to 1 in its panel."""
    return page.evaluate(_EXTENTS.replace("POINTS", f"({_POINTS[of]})"))


def assert_nothing_is_cropped(page: Page) -> None:
    """All that is drawn in the scenes is within them, and fills most of them in one direction."""
    for extent in (scenes := extents(page)):
        assert all(-1 < low < high < 1 for low, high in extent), scenes
    assert max(high - low for extent in scenes for low, high in extent) > 1.2, scenes


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
    """In dark colours, one chart below the other, the first above all controls, none too wide."""
    assert_dark(page)
    assert_scrolls_only_down(page)
    boxes = [chart.bounding_box() for chart in page.locator(".stPlotlyChart").all()]
    assert boxes
    for upper, lower in pairwise(boxes):
        assert upper["y"] + upper["height"] <= lower["y"]
    for row in page.locator('[class*="st-key-"][class*="-row"]').all():
        box = row.bounding_box()
        assert box is not None
        assert box["y"] >= boxes[0]["y"] + boxes[0]["height"]


def assert_scrolls_only_down(page: Page) -> None:
    """Neither the page nor a picture is wider than the window."""
    size = page.viewport_size
    assert size is not None
    for content, window in page.evaluate(_WIDTHS):
        assert content <= window <= size["width"]
    for left, right, *_ in page.evaluate(_BOX, ".gc-scene, .gc-plane"):
        assert left > -PIXEL
        assert right < size["width"] + PIXEL


def assert_stacked(page: Page) -> None:
    """The view's two columns stand one below the other."""
    (_, _, _, end), (_, _, start, _) = page.evaluate(_BOX, ".gc-column")
    assert start > end - PIXEL


def assert_dark(page: Page) -> None:
    colour = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    assert max(int(part) for part in re.findall(r"\d+", colour)[:3]) < 60


def pixels(scene: Locator) -> np.ndarray:
    """(height, width, 3): what is seen of it, from 0 to 255."""
    return np.asarray(Image.open(io.BytesIO(scene.screenshot())).convert("RGB")).astype(int)


def assert_nothing_at_the_edge(panel: Locator) -> None:
    """A panel's outermost pixels have the colour of its corner: nothing that it shows is cut."""
    pixels = np.asarray(Image.open(io.BytesIO(panel.screenshot())).convert("RGB")).astype(int)
    edge = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    assert (abs(edge - pixels[0, 0]) <= EDGE_SHADES).all()


def assert_drawn(scene: Locator) -> None:
    """Many colours, and not merely lines on a background."""
    picture = pixels(scene)
    colours, counts = np.unique(picture.reshape(-1, 3), axis=0, return_counts=True)
    background = colours[counts.argmax()]
    share = (np.abs(picture - background).sum(-1) > 60).mean()
    assert len(colours) >= COLOURS_AT_LEAST
    assert share >= DRAWN_AT_LEAST, share


def assert_same_camera(camera: dict[str, Any], other: dict[str, Any]) -> None:
    for part, axis in product(("eye", "center", "up"), "xyz"):
        assert camera[part][axis] == pytest.approx(other[part][axis], abs=SEEN), part


def assert_same_cameras(page: Page, before: list[dict[str, Any]]) -> None:
    """All scenes are seen from where they were seen ``before``."""
    for camera, other in zip(page.evaluate(CAMERAS), before, strict=True):
        assert_same_camera(camera, other)
