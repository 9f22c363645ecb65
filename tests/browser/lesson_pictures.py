"""The pictures of *Guide*: of each topic the part of a page that its link shows.

    python -m tests.browser.lesson_pictures [TOPIC ...]

Saved where the page looks for them, in light and in dark colours.
"""

import io
import sys
from itertools import product
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops, ImageOps
from playwright.sync_api import Browser

from ui.common.guide import LIMITS, PICTURES, SHADES, TOPICS

from .serving import chromium, serve
from .visiting import open_page, settle

WINDOW = {"width": 1000, "height": 900}  # narrow, so that its words can be read
WIDTH, QUALITY = 560, 70  # pixels, of 100
MARGIN = 12  # pixels of the screen
WITHOUT = """.gc-plane-knob, .gc-stage-caption, .gc-stage-bar, .st-key-flat_pair figcaption,
  .gc-pair-unmapped :is(.gc-pair-more, .gc-pair-bar) { display: none !important; }"""
JOB_MS = 120_000  # until the page's job has ended
FIRST = ".gc-pair-row, [data-testid=stPlotlyChart]"  # a picture of surfaces, or a chart
PARTS = {  # what is taken where that is something else
    "surface": ".gc-stage-row",
    "manifold": ".gc-pair-row",
    "gates": ".gc-pair-row",
    "sphere": ".gc-pair-row figure",
    "depth": ".gc-pair-row",
    "keys": ".gc-keys-row",
    "islands": ".gc-islands-stack",
    "experts": ".gc-tree-plot",
    "efficient": ".st-key-chart_top_k_losses",
    "steering": ".stHtml:has(.gc-text)",
    "numbers": ".gc-pair-row",
    "proved": "[data-testid=stHorizontalBlock]:has(.st-key-proved_map_0)",
}


def photograph(
    browser: Browser, address: str, selector: str, file: Path, style: str = "", **window: Any
) -> None:
    """Save a part of a page under one more ``style``; ``window`` is for `open_page`."""
    with open_page(browser, **window) as page:
        page.goto(address)
        part = page.locator(selector).first
        part.wait_for(timeout=JOB_MS)
        page.locator("[class*=st-key-dock-]").wait_for(state="detached", timeout=JOB_MS)
        page.wait_for_load_state("networkidle")
        page.locator("[data-testid=stSkeleton]").first.wait_for(state="detached")  # a chart
        if style:
            page.add_style_tag(content=style)
        settle(page)
        picture = Image.open(io.BytesIO(part.screenshot())).convert("RGB")
    if style:  # what is left out leaves margins
        paper = picture.getpixel((0, 0))
        box = ImageChops.difference(picture, Image.new("RGB", picture.size, paper)).getbbox()
        picture = ImageOps.expand(picture.crop(box), MARGIN, paper)
    height = round(picture.height * WIDTH / picture.width)
    picture.resize((WIDTH, height), Image.Resampling.LANCZOS).save(file, quality=QUALITY, method=6)
    print(file, file.stat().st_size, flush=True)


def main() -> None:
    pictured = {name: topic for name, topic in TOPICS.items() if topic.page} | dict(LIMITS.values())
    topics = sys.argv[1:] or pictured
    PICTURES.mkdir(exist_ok=True)
    with chromium() as browser, serve() as app:
        for topic, shade in product(topics, SHADES):
            photograph(
                browser,
                f"{app.url}/{pictured[topic].address.removeprefix('.')}",
                PARTS.get(topic, FIRST),
                PICTURES / f"{topic}_{shade}.webp",
                WITHOUT,
                viewport=WINDOW,
                color_scheme=shade,
            )


if __name__ == "__main__":
    main()
