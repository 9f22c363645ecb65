"""Pictures of the landing page's two models, for README.md and for previews of links.

    python -m tests.browser.preview

Writes ``assets/preview.webp``, which plays the gate forth and back, and ``assets/preview.png``,
1200 x 630 pixels. Both are photographs of the page that `make static` writes.
"""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from ui.landing.__main__ import write

from .serving import REPOSITORY, find_chromium, launch
from .visiting import open_page

PICTURES = REPOSITORY / "assets"
LINK_SIZE = 1200, 630  # pixels: what most sites show of a link
WIDTH, QUALITY = 960, 80  # pixels, of 100
FRAME_MS, HELD_MS = 70, 1400
MOST_BYTES = 2_000_000
WINDOW = {"width": 1400, "height": 900}
FEW = """.gc-caption, .gc-step, .gc-reading, .gc-hint, section, button { display: none !important; }
"""


def photographs(page: Page) -> list[Image.Image]:
    """Return the bar and the pictures at every strength."""
    count = page.evaluate("document.querySelector('.gc-view').__gc.header.frames")
    scrub, found = page.locator(".gc-scrub"), []
    for frame in range(count):
        scrub.fill(str(frame))
        page.wait_for_selector(f".gc-view[data-frame='{frame}']")
        found.append(photograph(page))
    return found


def photograph(page: Page) -> Image.Image:
    bar, columns = (page.locator(part).bounding_box() for part in (".gc-bar", ".gc-columns"))
    clip = {**columns, "y": bar["y"], "height": columns["y"] + columns["height"] - bar["y"]}
    return Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")


def main() -> None:
    chromium = find_chromium()
    if chromium is None:
        sys.exit("Pictures need `chromium` on the PATH.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "page.html"
        write(file)
        with launch(playwright, chromium) as browser, open_page(browser, viewport=WINDOW) as page:
            page.goto(file.as_uri())
            page.wait_for_selector(".gc-view[data-n]")
            page.add_style_tag(content=FEW)
            first, *others = photographs(page)
    size = WIDTH, round(first.height * WIDTH / first.width)
    forth = [image.resize(size, Image.Resampling.LANCZOS) for image in (first, *others)]
    frames = [*forth, *forth[-2:0:-1]]
    durations = [FRAME_MS] * len(frames)
    durations[0] = durations[len(forth) - 1] = HELD_MS
    animation = PICTURES / "preview.webp"
    frames[0].save(animation, save_all=True, append_images=frames[1:], duration=durations, loop=0,
                   quality=QUALITY, method=6)  # fmt: skip
    assert animation.stat().st_size <= MOST_BYTES
    print(animation, animation.stat().st_size)


if __name__ == "__main__":
    main()
