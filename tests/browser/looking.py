"""Where on the screen is what a page shows? Asked of the browser, and of Plotly's own matrices."""

from playwright.sync_api import Page

# Of every scene the least and largest place, across and up, of all that is drawn in it but the
# markers, in half panels from the middle: within -1 and 1 nothing is cropped.
_EXTENTS = """() => [...document.querySelectorAll('.gc-scene')].map(div => {
  const scene = div._fullLayout.scene._scene;
  const { model, view, projection } = scene.glplot.cameraParams;
  const times = (m, v) => [0, 1, 2, 3].map(r => v.reduce((sum, x, c) => sum + m[4 * c + r] * x, 0));
  const places = [[], []];
  for (const { x, y, z } of div.data.slice(0, -1)) {
    for (let i = 0; i < x.length; i += 1) {
      if (!Number.isFinite(x[i])) continue;
      const point = [x[i], y[i], z[i]].map((value, k) => value * scene.dataScale[k]);
      const seen = times(projection, times(view, times(model, [...point, 1])));
      places.forEach((list, k) => list.push(seen[k] / seen[3]));
    }
  }
  return places.map(list => [Math.min(...list), Math.max(...list)]);
})"""
_BOX = """selector => [...document.querySelectorAll(selector)].map(node => {
  const { left, right, top, bottom } = node.getBoundingClientRect();
  return [left, right, top, bottom];
})"""


def extents(page: Page) -> list[list[list[float]]]:
    """Of every scene the least and the largest place across, and up, from -1 to 1 in its panel."""
    found: list[list[list[float]]] = page.evaluate(_EXTENTS)
    return found


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
            assert left >= 0, where
            assert top >= 0, where
            assert right <= size["width"], where
            assert bottom <= size["height"], where
