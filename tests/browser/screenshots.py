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


# What else of a page is photographed, beside its first state: another task, depth, dimension,
# strength, colour, and what is folded. By the page's place in the address.
STATES = {
    "": ("task=xor", "task=moons&colour=curvature", "depth=4", "strength=0", "explore=true"),
    "Manifold": ("layers=4", "dim=8&n=6", "strength=0", "chart=weights", "tab=Doubt"),
    "Decision_boundary": ("data=xor", "stack=4", "width=8", "data=blobs4", "paint=curvature"),
    "Depth": ("stacked=aligned+gates", "stacked=random+stacks&around=nothing+else", "every=true"),
    "Claims": ("claim=C1", "claim=C6", "claim=C3&wide=all+variants", "run_study=true"),
    "How_to_read": (),
}


def addresses() -> dict[str, str]:
    """File name to address, for every page in its first state and in the `STATES`."""
    names = [
        path.stem.lstrip("0123456789").lstrip("_ -") for path in (REPOSITORY / "pages").glob("*.py")
    ]
    found = {}
    for page in ("", *sorted(names)):
        for state in ("", *STATES[page]):
            words = state.replace("=", "-").replace("&", "_")
            file = "_".join(filter(None, (page.lower() or "landing", words)))
            found[file] = f"/{page}?{state}".rstrip("?")
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
                photograph(page, url + address, "read" not in name, file)
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
