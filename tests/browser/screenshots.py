"""Pictures of every page, light and dark, on screens of four sizes.

    python -m tests.browser.screenshots [--out FOLDER] [--page NAME ...] [--sizes 1400,390]
                                        [--light | --dark] [--full] [--cold]

Saves the first screen of every state of `addresses`, unscrolled, with ``--full`` the whole page as
well. One server serves all; with ``--cold`` every picture is a first visitor's, of a server just
started, and the moment when the first words appear is saved too.
"""

import argparse
from contextlib import ExitStack
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize

from .addresses import ADDRESSES, FIRST, addresses
from .serving import REPOSITORY, chromium, serve
from .visiting import await_drawn, open_page, settle

HEIGHTS = {1400: 900, 1366: 768, 900: 900, 390: 844}  # pixels, by width
GREATEST_HEIGHT = 6000  # pixels, of a whole page
# Streamlit scrolls within its own container, which a full-page screenshot cuts off.
CONTENT_HEIGHT = """() => {
  const main = document.querySelector('[data-testid=stMain]');
  return document.documentElement.clientHeight - main.clientHeight + main.scrollHeight;
}"""


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.browser.screenshots")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "screenshots")
    names = [path or FIRST for path in ADDRESSES]
    parser.add_argument("--page", choices=names, action="append", help="all, if none is given")
    parser.add_argument("--sizes", default=",".join(map(str, HEIGHTS)), help="widths in pixels")
    schemes = parser.add_mutually_exclusive_group()
    for scheme in ("light", "dark"):
        schemes.add_argument(
            f"--{scheme}",
            action="store_const",
            dest="schemes",
            const=(scheme,),
            default=("light", "dark"),
        )
    parser.add_argument("--full", action="store_true", help="the whole page as well")
    parser.add_argument("--cold", action="store_true", help="a fresh server for every picture")
    chosen = parser.parse_args(arguments)
    chosen.sizes = {int(width): HEIGHTS.get(int(width), 900) for width in chosen.sizes.split(",")}
    chosen.page = [{FIRST: ""}.get(name, name) for name in chosen.page or names]
    return chosen


def photograph(page: Page, url: str, file: Path, full: bool, cold: bool) -> None:
    """Save what ``url`` looks like as ``file``; other pictures of it beside that."""
    page.goto(url)
    if cold:
        page.locator("h1").wait_for()  # the first words
        page.screenshot(path=file.with_stem(f"{file.stem}_at_first"))
    await_drawn(page)
    page.screenshot(path=file)
    if full:
        size = page.viewport_size
        height = min(page.evaluate(CONTENT_HEIGHT), GREATEST_HEIGHT)
        page.set_viewport_size(ViewportSize(width=size["width"], height=height))
        settle(page)
        page.screenshot(path=file.with_stem(f"{file.stem}_full"))


def photograph_all(browser: Browser, chosen: argparse.Namespace) -> None:
    states = {name: link for page in chosen.page for name, link in addresses(page).items()}
    with ExitStack() as stack:
        warm = None if chosen.cold else stack.enter_context(serve())
        kinds = product(states.items(), chosen.sizes.items(), chosen.schemes)
        for (name, address), (width, height), scheme in kinds:
            file = chosen.out / f"{name}_{width}_{scheme}.png"
            viewport = {"width": width, "height": height}
            with ExitStack() as one:
                served = warm or one.enter_context(serve())
                page = one.enter_context(open_page(browser, viewport=viewport, color_scheme=scheme))
                photograph(page, served.url + address, file, chosen.full, chosen.cold)
            print(file, flush=True)


def main() -> None:
    chosen = options()
    chosen.out.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        photograph_all(browser, chosen)


if __name__ == "__main__":
    main()
