"""Seconds from the slider to the new picture, on the server and in a real browser.

The server's part drives the Manifold page as its tests do: a strength that comes with the link, one
of those that are measured; and it cancels a count that a worker process goes on with. The browser's
part presses a key on the slider and listens in the page itself, beside a bare page with one native
Plotly surface, which asks its server: the two take turns, press by press. The tree of Mixture of
experts follows its pad without a run.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright
from streamlit.logger import set_log_level

from tests.benchmarks.cold_start import QUIETLY, cold_start
from tests.benchmarks.table import Row, compare, milliseconds
from tests.benchmarks.timing import spread
from tests.browser.jobs_page import steps
from tests.browser.serving import Served, find_chromium, launch, serve
from tests.browser.visiting import open_page, settle
from tests.ui.opening import open_settled
from ui.manifold import surface as manifold
from ui.work.job import Job
from ui.work.pool import Pool

GOAL_SECONDS = 0.150
TREE_GOAL_SECONDS = 0.050
CANCEL_GOAL_SECONDS = 0.500
CANCELS = 10
STRENGTHS = tuple(round(1 - 0.05 * step, 2) for step in range(1, 17))
LINKS: dict[str, dict[str, str]] = {  # by what stands under the surfaces
    "1 layer, D = 3, n = 3": {},
    "4 layers, D = 3, n = 3": {"layers": "4"},
}
PRESSES = 14
BARE_PAGE = Path(__file__).with_name("bare_page.py")
SLIDERS = {"linked": ".gc-scrub", "native": ".st-key-lambda input[type=range]"}
VIEWPORT = {"width": 1200, "height": 1000}

# Plotly gives every picture a function `emit` of its own when it is made: hear what goes through.
# A picture counts as changed where its coordinates have another sum than before (a native chart may
# be made anew; the ungated surface stays as it is), and pictures belong together that the linked
# view drew from the same arrays. It is drawn when the frame after the next one begins.
LISTEN = """() => {
  window.benchmark = { pressed: null, plots: [] };
  const sums = new Map();
  const batches = new Map();
  const batchNow = () => {
    const arrays = document.querySelector('.gc-view')?.__gc?.arrays;
    if (!batches.has(arrays)) batches.set(arrays, batches.size);
    return batches.get(arrays);
  };
  const sumOf = trace => ['x', 'y', 'z'].map(name => trace[name]?.bdata
    ?? (trace[name] ?? []).reduce((sum, number) => sum + number, 0)).join();
  const hear = div => {
    const scene = !div.classList.contains('gc-plane');
    const which = div.classList.contains('gc-scene') ? div : 'native';
    const sum = scene ? sumOf(div.data[0]) : 0;
    const plot = { scene, changed: scene && sums.get(which) !== sum, batch: batchNow() };
    if (scene) sums.set(which, sum);
    window.benchmark.plots.push(plot);
    requestAnimationFrame(() => requestAnimationFrame(() => { plot.drawn = performance.now(); }));
  };
  Object.defineProperty(HTMLElement.prototype, 'emit', {
    configurable: true,
    set(emit) {
      const heard = (name, ...rest) => {
        if (name === 'plotly_afterplot' && this.data?.length) hear(this);
        return emit(name, ...rest);
      };
      Object.defineProperty(this, 'emit', { value: heard, writable: true, configurable: true });
    },
  });
  addEventListener('keydown', event => {
    window.benchmark = { pressed: event.timeStamp, plots: [] };
  }, { capture: true });
}"""
# Milliseconds from the key until the last of so many scenes is drawn; null until then.
ELAPSED = """scenes => {
  const { pressed, plots } = window.benchmark;
  const news = plots.find(plot => plot.changed);
  const found = plots.filter(plot => plot.scene && plot.drawn && plot.batch === news?.batch)
    .slice(0, scenes);
  if (!news?.drawn || found.length < scenes) return null;
  return Math.max(news.drawn, ...found.map(plot => plot.drawn)) - pressed;
}"""

LARGEST_TREE = "/Mixture_of_experts?experts_tab=Decomposition&channels=8&head_count=4&tokens=6"
# Milliseconds from each of 21 moves of the pad until the tree is drawn and laid out.
FOLLOWED = """() => Array.from({ length: 21 }, (_, n) => {
  const start = performance.now();
  const detail = { pad: 'experts_point', places: [[n / 21, -n / 21]] };
  document.dispatchEvent(new CustomEvent('gc-pad-moved', { detail }));
  document.querySelector('.gc-tree-plot').getBoundingClientRect();
  return performance.now() - start;
})"""


# Milliseconds from each of so many steps until another picture is counted, and the frame after it.
STEPPED = """async ([handle, picture, steps]) => {
  const frame = () => new Promise(requestAnimationFrame);
  const [node, counter] = [handle, picture].map(selector => document.querySelector(selector));
  const step = n => {
    if (node.type !== 'range') {
      const key = n % 2 ? 'ArrowDown' : 'ArrowUp';
      node.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
      return;
    }
    node.value = Number(node.max) - 1 - n % 2;
    node.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const times = [];
  for (let n = 0; n <= steps; n++) {
    const [before, start] = [counter.dataset.n, performance.now()];
    step(n);
    while (counter.dataset.n === before) await frame();
    await frame();
    times.push(performance.now() - start);
  }
  return times.slice(1);  // the first one warms up
}"""
DRAGS = {  # by what is moved: address, handle, and what counts pictures
    "stage, plane moved": ("/?strength=1", ".gc-stage-move", ".gc-stage-space"),
    "two models, λ moved": ("/?strength=1&picture=two+models", ".gc-scrub", ".gc-view"),
}


def rows(process: str) -> list[Row]:
    """Server side against the goal; two linked surfaces against one native one in Chromium."""
    set_log_level(logging.ERROR)
    measured = [_server_side(sizes, link) for sizes, link in LINKS.items()]
    measured.append(_cancelled())
    chromium = find_chromium()
    if chromium is None:
        print("no `chromium` on the PATH: the browser's part is left out", file=sys.stderr)
        return measured
    with (
        sync_playwright() as playwright,
        launch(playwright, chromium) as browser,
    ):
        with serve() as ours, serve(BARE_PAGE, *QUIETLY) as bare:
            measured += [_in_chromium(browser, ours, bare), _tree(browser, ours)]
            measured.append(_drags(browser, ours))
        return measured + cold_start(browser)


def _server_side(sizes: str, link: dict[str, str]) -> Row:
    """Seconds until the picture is sent."""
    sent: list[float] = []
    drawn: list[str] = []
    draw = manifold.view3d

    def draw_and_stamp(*args: Any, **options: Any) -> None:
        draw(*args, **options)
        sent.append(time.perf_counter())
        drawn.append(options["frame_labels"][options["frame"]])

    manifold.view3d = draw_and_stamp  # type: ignore[assignment]
    try:
        page = open_settled("pages/1_Manifold.py", **link)
        picture, labels = [], []
        for strength in STRENGTHS:
            page.query_params["lambda"] = f"{strength:g}"
            begin = time.perf_counter()
            page.run()
            picture.append(sent[-1] - begin)
            labels.append(drawn[-1])
    finally:
        manifold.view3d = draw  # type: ignore[assignment]
    if labels != [f"λ = {strength:.2f}" for strength in STRENGTHS]:
        raise RuntimeError(f"the page did not draw the pictures of all strengths: {labels}")
    return _against_goal("server: λ to picture", np.array(picture), f"grid 61, {sizes}")


def _against_goal(what: str, seconds: np.ndarray, sizes: str, goal_s: float = GOAL_SECONDS) -> Row:
    return Row(
        what=what,
        time=milliseconds(seconds),
        reference="goal",
        reference_time=f"{1e3 * goal_s:.0f} ms",
        ratio=spread(seconds / goal_s),
        sizes=sizes,
        goal=1.0,
    )


def _cancelled() -> Row:
    """Seconds from the cancelling of a job until its worker process has done another task."""
    seconds = []
    with closing(Pool(size=1)) as pool, tempfile.TemporaryDirectory() as folder:
        for _ in range(CANCELS):
            job = Job(lambda: pool.stream(steps, folder, None)).start()
            while not job.items:
                time.sleep(0.01)
            begin = time.perf_counter()
            job.cancel()
            list(pool.stream(os.getpid))
            seconds.append(time.perf_counter() - begin)
    what = "server: cancel to the worker's next result"
    return _against_goal(what, np.array(seconds), "steps of 50 ms", CANCEL_GOAL_SECONDS)


def _tree(browser: Browser, ours: Served) -> Row:
    with open_page(browser, viewport=VIEWPORT) as page:
        page.goto(ours.url + LARGEST_TREE)
        page.wait_for_selector(".gc-tree[data-n]")
        settle(page)
        seconds = np.array(page.evaluate(FOLLOWED)) / 1e3
    sizes = "8 channels, 4 heads, 6 tokens"
    return _against_goal("pad to the tree of Mixture of experts", seconds, sizes, TREE_GOAL_SECONDS)


def _drags(browser: Browser, ours: Served) -> Row:
    """Frames of a drag on the landing page: the stage's own renderer against the linked view."""
    seconds = {}
    for name, (address, handle, picture) in DRAGS.items():
        with open_page(browser, viewport=VIEWPORT) as page:
            page.goto(ours.url + address)
            page.wait_for_selector(f"{picture}[data-n]")
            settle(page)
            seconds[name] = np.array(page.evaluate(STEPPED, [handle, picture, PRESSES])) / 1e3
    return compare(seconds, *DRAGS, "grids 41 and 61, software WebGL", "a frame of a drag")


def _in_chromium(browser: Browser, ours: Served, bare: Served) -> Row:
    """Key press to picture on both pages, one press each in turn; the first of each warms up."""
    with (
        open_page(browser, viewport=VIEWPORT) as linked,
        open_page(browser, viewport=VIEWPORT) as native,
    ):
        for page, url in ((linked, f"{ours.url}/Manifold"), (native, bare.url)):
            page.add_init_script(f"({LISTEN})()")
            page.goto(url)
            page.wait_for_function("window.benchmark.plots.some(plot => plot.scene && plot.drawn)")
            settle(page)
        pages = {"linked": linked, "native": native}
        rounds = [
            [_press(page, SLIDERS[name]) for name, page in pages.items()]
            for _ in range(PRESSES + 1)
        ][1:]
    seconds = np.array(rounds).T / 1e3  # (page, rounds)
    names = ("linked view", "native surface")
    return compare(
        dict(zip(names, seconds, strict=True)),
        *names,
        "grid 61, software WebGL",
        f"{names[0]}, key to the frame after",
    )


def _press(page: Page, slider: str) -> float:
    """Milliseconds from one press of a key on the ``slider`` until the new scene is drawn."""
    page.bring_to_front()
    page.locator(slider).focus()
    page.keyboard.press("ArrowLeft")
    drawn = page.wait_for_function(ELAPSED, arg=1, polling=50).json_value()
    settle(page)
    return drawn
