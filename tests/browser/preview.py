"""Pictures of the landing page's two models, for README.md and for previews of links.

    python -m tests.browser.preview

Writes ``assets/preview.webp``, which opens and closes the gate in a loop, and
``assets/preview.png``, 1200 x 630 pixels. Both are photographs of the page of `make static`.
"""

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize

from ui.landing.__main__ import write

from .serving import REPOSITORY, chromium
from .visiting import open_page

PICTURES = REPOSITORY / "assets"
WINDOW: ViewportSize = {"width": 1200, "height": 630}  # what most sites show of a link
WIDTH, QUALITY = 960, 80  # pixels, of 100
MARGIN = 24  # pixels
FRAME_MS, HELD_MS = 70, 1400
MOST_BYTES = 2_000_000
# Only what is seen at a glance; the surfaces as large as the window allows.
GLANCE = """
section, .gc-pair-finding, .gc-pair-more, .gc-pair-play, .gc-pair-values, .gc-pair-edge,
.gc-pair-top, .gc-pair-reading, .gc-pair-note, .gc-pair-quantity, .gc-pair-scale,
.gc-file-scheme { display: none !important; }
.gc-pair-strength { outline: none !important; }
main { padding-top: 2.5rem; }
.gc-pair .gc-pair-space { height: 370px; background: none; }
.gc-pair-bar { order: -1; }
h1 { font-size: 2.4rem; }
"""


def open_glance(page: Page, file: Path) -> None:
    plain = file.read_text(encoding="utf-8")
    styled = plain.replace("</head>", f"<style>{GLANCE}</style></head>")
    file.write_text(styled, encoding="utf-8")  # before it is opened: surfaces are framed then
    page.goto(file.as_uri())
    page.wait_for_selector(".gc-pair[data-n]")


def show(page: Page, frame: int) -> None:
    page.locator(".gc-pair-strength").fill(str(frame))
    page.wait_for_function(
        "frame => document.querySelector('.gc-pair').__gc.frame === frame", arg=frame
    )
    page.wait_for_timeout(100)  # the canvases are painted with the next frames


def photograph(page: Page) -> Image.Image:
    """Return the pictures and the slider below them."""
    row, bar = (page.locator(part).bounding_box() for part in (".gc-pair-row", ".gc-pair-bar"))
    clip = {
        "x": row["x"] - MARGIN,
        "y": row["y"] - MARGIN,
        "width": row["width"] + 2 * MARGIN,
        "height": bar["y"] + bar["height"] - row["y"] + 2 * MARGIN,
    }
    picture = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
    size = WIDTH, round(picture.height * WIDTH / picture.width)
    return picture.resize(size, Image.Resampling.LANCZOS)


def save_animation(opening: list[Image.Image], file: Path) -> None:
    """Save frames of an opening gate, and the same backwards, held at both ends."""
    frames = [*opening, *opening[-2:0:-1]]
    durations = [FRAME_MS] * len(frames)
    durations[0] = durations[len(opening) - 1] = HELD_MS
    frames[0].save(
        file,
        save_all=True,
        append_images=frames[1:],
        duration=durations,
        loop=0,
        quality=QUALITY,
        method=6,
    )
    assert file.stat().st_size <= MOST_BYTES


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "page.html"
        write(file)
        with open_page(browser, viewport=WINDOW) as page:
            open_glance(page, file)
            count = page.evaluate("document.querySelector('.gc-pair').__gc.header.places.length")
            opening = []
            for frame in range(count):
                show(page, frame)
                opening.append(photograph(page))
            page.screenshot(path=PICTURES / "preview.png")
    save_animation(opening, PICTURES / "preview.webp")


if __name__ == "__main__":
    main()
