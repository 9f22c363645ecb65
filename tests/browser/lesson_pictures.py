"""The pictures of *Guide*: of each topic the part of a page that its link shows.

    python -m tests.browser.lesson_pictures [TOPIC ...]

Saved where the page looks for them, in light and in dark colours.
"""

import io
import sys
from itertools import product

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from ui.guide.topics import PICTURES, SHADES, TOPICS

from .serving import find_chromium, launch, serve
from .visiting import open_page, settle

WINDOW = {"width": 1000, "height": 900}  # narrow, so that its words can be read
WIDTH, QUALITY = 560, 70  # pixels, of 100
JOB_MS = 120_000  # until the page's job has ended
FIRST = ".gc-columns, [data-testid=stPlotlyChart]"  # the linked view's pictures, or a chart
PARTS = {  # what is taken where that is something else
    "bend": ".gc-scene", "keys": ".gc-keys-row", "experts": ".gc-tree-plot",
    "efficient": ".st-key-chart_top_k_losses", "limits": ".gc-scene",
    "proved": "[data-testid=stHorizontalBlock]:has(.st-key-proved_map_0)",
}  # fmt: skip


def photograph(browser: Browser, url: str, topic: str, shade: str) -> None:
    """Save the picture of one topic."""
    with open_page(browser, viewport=WINDOW, color_scheme=shade) as page:
        page.goto(f"{url}/{TOPICS[topic].address.removeprefix('.')}")
        part = page.locator(PARTS.get(topic, FIRST)).first
        part.wait_for(timeout=JOB_MS)
        page.locator("[class*=st-key-dock-]").wait_for(state="detached", timeout=JOB_MS)
        page.wait_for_load_state("networkidle")
        settle(page)
        picture = Image.open(io.BytesIO(part.screenshot())).convert("RGB")
    height = round(picture.height * WIDTH / picture.width)
    file = PICTURES / f"{topic}_{shade}.webp"
    picture.resize((WIDTH, height), Image.Resampling.LANCZOS).save(file, quality=QUALITY, method=6)
    print(file, file.stat().st_size, flush=True)


def main() -> None:
    chromium = find_chromium()
    if chromium is None:
        sys.exit("Pictures need `chromium` on the PATH.")
    topics = sys.argv[1:] or [name for name, topic in TOPICS.items() if topic.page]
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright, launch(playwright, chromium) as browser, serve() as app:
        for topic, shade in product(topics, SHADES):
            photograph(browser, app.url, topic, shade)


if __name__ == "__main__":
    main()
