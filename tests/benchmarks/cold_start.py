"""Seconds until a first visitor sees the first pictures, beside the least that anyone would write.

    python -m tests.benchmarks.cold_start [ROUNDS]

Every round starts a server for each page, one after the other, and visits it twice, each time
with an empty browser profile: the first visit is the cold one, the second the warm one. Of a page
of ours the picture counts when the stage, or all scenes of its linked view, are drawn, and are not
of another setting than the page's; of the bare page when both native surfaces are drawn. Two frames
later it is on the screen.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from tests.benchmarks.table import Row, compare, render
from tests.browser.serving import REPOSITORY, find_chromium, launch, serve
from tests.browser.visiting import DESK

ROUNDS = 2
GOAL = 1.5  # times the bare page
BARE = f"two native surfaces (goal {GOAL:g})"
QUIETLY = ("--browser.gatherUsageStats", "false")  # a bare page has no settings of its own
LIMIT_MS = 180_000
OURS = ".gc-view[data-n]:not(.gc-old) .gc-scene"
NATIVE = ".js-plotly-plot"
STAGE = ".gc-stage-space"

# Milliseconds from the navigation until so many scenes or more, all that there are, are on the
# screen.
PICTURED = """async ([scenes, least, limit]) => {
  const frame = () => new Promise(requestAnimationFrame);
  const all = () => [...document.querySelectorAll(scenes)];
  const isDrawn = div => div.dataset.n > 0
    || div._fullLayout?.scene?._scene?.glplot !== undefined;
  for (let seen = []; seen.length < least || !seen.every(isDrawn); seen = all()) {
    if (performance.now() > limit) throw new Error('no picture in time');
    await frame();
  }
  await frame();
  await frame();
  return performance.now();
}"""


@dataclass(frozen=True)
class _Page:
    script: Path
    path: str
    scenes: str  # a selector
    least: int = 2  # of them


PAGES = {
    "landing page": _Page(REPOSITORY / "app.py", "/", STAGE, 1),
    "Decision boundary": _Page(REPOSITORY / "app.py", "/Decision_boundary", OURS),
    BARE: _Page(Path(__file__).with_name("bare_pair.py"), "/", NATIVE),
}
# What a row says, and how it follows from a page's three times.
TIMES: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "from the server's start to its first picture": lambda start, cold, warm: start + cold,
    "warm, second visit to first picture": lambda start, cold, warm: warm,
}


def cold_start(browser: Browser, rounds: int = ROUNDS) -> list[Row]:
    """Both first pages against the bare one; what is drawn for the first time warms the browser."""
    _times(browser, PAGES[BARE])
    times = np.array([[_times(browser, page) for page in PAGES.values()] for _ in range(rounds)])
    rows = []
    for what, of in TIMES.items():
        seconds = {name: of(*times[:, place].T) for place, name in enumerate(PAGES)}
        rows += [
            replace(
                compare(seconds, name, BARE, "1400 x 900, software WebGL", f"{name}, {what}"),
                goal=GOAL,
            )
            for name in PAGES
            if name != BARE
        ]
    return rows


def _times(browser: Browser, page: _Page) -> tuple[float, float, float]:
    """Seconds that the server takes to answer, and of the first and the second visit."""
    begin = time.perf_counter()
    with serve(page.script, *QUIETLY) as served:
        start = time.perf_counter() - begin
        cold, warm = (_visit(browser, served.url, page) for _ in range(2))
    return start, cold, warm


def _visit(browser: Browser, url: str, visited: _Page) -> float:
    """Seconds from the navigation of a new visitor to the pictures."""
    context = browser.new_context(**DESK)
    try:
        page = context.new_page()
        page.goto(url + visited.path, wait_until="commit")
        return page.evaluate(PICTURED, [visited.scenes, visited.least, LIMIT_MS]) / 1e3
    finally:
        context.close()


def main() -> None:
    chromium = find_chromium()
    if chromium is None:
        sys.exit("no `chromium` on the PATH")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with sync_playwright() as playwright, launch(playwright, chromium) as browser:
        rows = cold_start(browser, rounds)
    print(render(rows, ["" for _ in rows]))


if __name__ == "__main__":
    main()
