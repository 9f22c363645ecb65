"""The pictures of *Guide*: of each topic the part of a page that its link shows.

    python -m tests.browser.lesson_pictures [TOPIC ...]

Saved where the page looks for them, in light and in dark colours.
"""

import io
import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops, ImageDraw, ImageOps
from playwright.sync_api import Browser

from gating_core.assets import ASSETS
from ui.common.guide import LIMITS, PICTURES, SHADES, TOPICS

from .serving import chromium, serve
from .visiting import open_page, settle

# Narrow, so that its words can be read; sharp.
SMALL = {"viewport": {"width": 1000, "height": 900}, "device_scale_factor": 2}
WIDTH, QUALITY = 700, {".avif": 45, ".webp": 60}  # pixels, of 100
MARGIN = 12  # pixels of the screen
WITHOUT = """.gc-plane-knob, .gc-stage-caption, .gc-stage-bar, .st-key-flat_pair figcaption,
  .gc-pair-unmapped :is(.gc-pair-more, .gc-pair-bar) { display: none !important; }"""
# Shapes alone, sharp, on no ground of their own.
LARGE = {"viewport": {"width": 1600, "height": 1200}, "device_scale_factor": 2}
SHAPES = """figcaption, .gc-pair-maps, .gc-keys-over, .gc-plane-over { display: none !important; }
  .gc-pair-row.gc-pair-row { display: flex; gap: 0; inset: 0; margin: 0; border: 0; padding: 0;
    background: var(--st-background-color); }
  .gc-pair-row figure { display: block !important; }
  .gc-pair .gc-pair-row .gc-pair-space { position: static; width: 530px; height: 440px;
    background: none; }"""
SHAPED = {"bend": 1600, "limits": 700, "sphere": 560, "boundary": 700, "dome": 560, "peak": 560}
BESIDE = {"dome": "Which_keys_curve?fourth=no+fourth+key"}  # on its left, as high
GAP, TALL = 40, 400  # pixels
# Both are drawn as what a gate makes of a sheet: its lines and ground are no part of them.
NO_GATE = """for (const { scene } of window.__gcViews) {
  Object.assign(scene, { ground: null, shadow: 0, lines: scene.lines.slice(-2) });
}"""
# From near, with the points at which it is measured.
POINTS = """for (const view of window.__gcViews) {
  const { scene } = view, [from, to] = [28, 40]; // of 61 rows and columns
  const near = (_, i) => i % scene.size >= from && i % scene.size < to
    && i >= from * scene.size && i < to * scene.size;
  const part = numbers => numbers.filter((x, i) => near(x, Math.floor(i / 3)));
  const places = part(scene.places);
  view.show({ ...scene, size: to - from, cells: to - from - 1, places, normals: part(scene.normals),
    colours: part(scene.colours), lines: [],
    points: { size: 9, places, colours: new Float32Array(places.length) } });
}"""
FRAME = """{
  const row = document.querySelector('.gc-pair-row'); // over the page, as wide as its pictures are
  row?.setAttribute('popover', 'manual');
  row?.showPopover();
  const views = [...window.__gcViews].filter(({ canvas }) => canvas.matches('.gc-pair-space'));
  const all = views.flatMap(({ scene: { places, lines } }) => // pale lines may leave the picture
    [places, ...lines.filter(({ alpha }) => !alpha).map(({ segments }) => segments)]
      .flatMap(numbers => [...numbers]));
  const place = (_, i) => all.slice(3 * i, 3 * i + 3);
  const places = Array.from({ length: all.length / 3 }, place).filter(([x]) => !Number.isNaN(x));
  views[0]?.frame(places, 0.95);
  if (views.length === 1) views[0].centre = undefined; // that of the frame
}"""
JOB_MS = 120_000  # until the page's job has ended
FIRST = ".gc-pair-row, [data-testid=stPlotlyChart]"  # a picture of surfaces, or a chart
PARTS = {  # what is taken where that is something else
    "surface": ".gc-stage-row",
    "manifold": ".gc-pair-row",
    "gates": ".gc-pair-row",
    "sphere": ".gc-pair-space",
    "peak": ".gc-pair-space",
    "dome": ".gc-keys-space",
    "depth": ".gc-pair-row",
    "keys": ".gc-keys-row",
    "islands": ".gc-islands-stack",
    "experts": ".gc-tree-plot",
    "efficient": ".st-key-chart_top_k_losses",
    "steering": ".stHtml:has(.gc-text)",
    "numbers": ".gc-pair-row",
    "proved": ".st-key-proved_map_0 .nsewdrag",
}


def photograph(
    browser: Browser,
    address: str,
    selector: str,
    file: Path,
    style: str = "",
    width: int = WIDTH,
    script: str = "",
    **window: Any,
) -> None:
    """Save a part of a page, ``width`` pixels wide; ``window`` is for `open_page`.

    Before, the page gets one more ``style`` and runs a ``script``.
    """
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
        if script:
            page.evaluate(script)
        settle(page)
        picture = Image.open(io.BytesIO(part.screenshot())).convert("RGB")
    if style:  # what is left out leaves margins
        paper = picture.getpixel((0, 0))
        box = ImageChops.difference(picture, Image.new("RGB", picture.size, paper)).getbbox()
        picture = ImageOps.expand(picture.crop(box), MARGIN, paper)
    height = round(picture.height * width / picture.width)
    save(picture.resize((width, height), Image.Resampling.LANCZOS), file)


def save(picture: Image.Image, file: Path) -> None:
    """Save a picture, its colours as sharp as its lines, and say how large it is."""
    picture.save(file, quality=QUALITY.get(file.suffix), method=6, subsampling="4:4:4")
    print(file, file.stat().st_size, flush=True)


def draw_channels(shade: str, file: Path) -> None:
    """Draw three dots, the channels of one of our models, beside as many as those of MiniLM."""
    config = json.loads((ASSETS / "models" / "minilm" / "config.json").read_text())
    paper, ink = (("white", "#17191d"), ("#121317", "#e9ebf1"))[shade == "dark"]
    columns, step, gap = 24, 80, 320
    rows = config["hidden_size"] // columns
    picture = Image.new("RGB", (3 * step + gap + columns * step, rows * step), paper)
    ours = [(i * step, rows * step // 2 - step // 2) for i in range(3)]
    theirs = [(3 * step + gap + x * step, y * step) for x in range(columns) for y in range(rows)]
    for x, y in ours + theirs:
        ImageDraw.Draw(picture).ellipse((x + 12, y + 12, x + 68, y + 68), ink)
    save(picture.reduce(4).quantize(16), file.with_suffix(".png"))  # flat: smaller than as AVIF


def main() -> None:
    pictured = {name: topic for name, topic in TOPICS.items() if topic.page} | dict(LIMITS.values())
    topics = sys.argv[1:] or pictured
    PICTURES.mkdir(exist_ok=True)
    with chromium() as browser, serve() as app:
        for topic, shade in product(topics, SHADES):
            file = PICTURES / f"{topic}_{shade}.avif"
            if topic == "channels":
                draw_channels(shade, file)
                continue
            addresses = [pictured[topic].address.removeprefix("."), BESIDE.get(topic)]
            parts = []
            for address in filter(None, addresses):
                part = file.with_suffix(".png") if topic in BESIDE else file
                photograph(
                    browser,
                    f"{app.url}/{address}",
                    PARTS.get(topic, FIRST),
                    part,
                    WITHOUT + SHAPES * (topic in SHAPED),
                    SHAPED.get(topic, WIDTH),
                    NO_GATE * (topic in {"sphere", "peak"})
                    + POINTS * (topic == "peak")
                    + FRAME * (topic in SHAPED),
                    color_scheme=shade,
                    **(LARGE if topic in SHAPED else SMALL),
                )
                parts.append(ImageOps.contain(Image.open(part), (WIDTH, TALL)))
            if topic in BESIDE:
                part.unlink()
                right, left = parts
                both = Image.new(
                    "RGB", (left.width + GAP + right.width, TALL), left.getpixel((0, 0))
                )
                both.paste(left, (0, (TALL - left.height) // 2))
                both.paste(right, (left.width + GAP, (TALL - right.height) // 2))
                save(both, file)


if __name__ == "__main__":
    main()
