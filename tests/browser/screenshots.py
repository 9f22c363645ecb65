"""What does every page look like, light and dark, on a wide screen and on a phone?

``python -m tests.browser.screenshots`` photographs them all into ``screenshots/``.
"""

import sys
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from .serving import REPOSITORY, find_chromium, launch, serve
from .visiting import await_view, open_page, settle

FOLDER = REPOSITORY / "screenshots"
SCHEMES = ("light", "dark")
WIDTHS = {"wide": 1400, "phone": 390}  # pixels
FIRST_HEIGHT, GREATEST_HEIGHT = 1000, 6000  # pixels
# Streamlit scrolls within its own container, which a full-page screenshot cuts off.
CONTENT_HEIGHT = """() => {
  const main = document.querySelector('[data-testid=stMain]');
  return document.documentElement.clientHeight - main.clientHeight + main.scrollHeight;
}"""

CHARTS_DRAWN = """() => [...document.querySelectorAll('[data-testid=stPlotlyChart]')]
  .every(chart => chart.querySelector('.main-svg'))"""


def addresses() -> dict[str, str]:
    """File name to address, for the landing page (folded and unfolded) and every other page."""
    found = {"landing": "/", "landing_explore": "/?explore=true"}
    for path in sorted((REPOSITORY / "pages").glob("*.py")):
        name = path.stem.lstrip("0123456789").lstrip("_ -")
        found[name.lower()] = f"/{name}"
    return found


def photograph(page: Page, url: str, has_view: bool, file: Path) -> None:
    """Open ``url`` and save it in full height."""
    page.goto(url)
    page.get_by_test_id("stMain").wait_for()
    await_page = await_view if has_view else settle
    await_page(page)
    width = page.viewport_size["width"] if page.viewport_size else WIDTHS["wide"]
    height = min(page.evaluate(CONTENT_HEIGHT), GREATEST_HEIGHT)
    page.set_viewport_size(ViewportSize(width=width, height=height))
    await_page(page)
    page.wait_for_function(CHARTS_DRAWN)
    page.screenshot(path=file)


def photograph_all(browser: Browser, url: str) -> None:
    for scheme, (size, width) in product(SCHEMES, WIDTHS.items()):
        for name, address in addresses().items():
            file = FOLDER / f"{name}_{size}_{scheme}.png"
            viewport = {"width": width, "height": FIRST_HEIGHT}
            with open_page(browser, viewport=viewport, color_scheme=scheme) as page:
                photograph(page, url + address, name.startswith("landing"), file)
            print(file.relative_to(REPOSITORY), flush=True)


def main() -> None:
    chromium = find_chromium()
    if chromium is None:
        sys.exit("Screenshots need `chromium` on the PATH.")
    FOLDER.mkdir(exist_ok=True)
    with (
        serve() as served,
        sync_playwright() as playwright,
        launch(playwright, chromium) as browser,
    ):
        photograph_all(browser, served.url)


if __name__ == "__main__":
    main()
