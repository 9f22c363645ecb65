"""The pages in a real browser and a served app, in times of the least that anyone would write.

That is `bare_page.py`: one slider, two native Plotly surfaces. It is served beside the app, and
takes its turn in every round.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, Page

from tests.benchmarks.rows import Row, in_turns, row
from tests.browser.serving import REPOSITORY, chromium, serve
from tests.browser.visiting import DESK, follow_link, open_page, settle

BARE_PAGE = Path(__file__).with_name("bare_page.py")
QUIETLY = ("--browser.gatherUsageStats", "false")  # a bare page has no settings of its own
LIMIT_MS = 180_000

# Counts pictures of the bare page's first surface on its body, as our components count theirs.
# Plotly gives every picture a function `emit` of its own when it is made: hear what goes through.
COUNT_NATIVE = """() => {
  let heights;
  Object.defineProperty(HTMLElement.prototype, 'emit', {
    configurable: true,
    set(emit) {
      const heard = (name, ...rest) => {
        const z = this.data?.[0]?.z?.bdata;
        const isFirst = this === document.querySelector('.js-plotly-plot');
        if (name === 'plotly_afterplot' && isFirst && z !== heights) {
          heights = z;
          document.body.dataset.n = 1 + Number(document.body.dataset.n ?? 0);
        }
        return emit(name, ...rest);
      };
      Object.defineProperty(this, 'emit', { value: heard, writable: true, configurable: true });
    },
  });
}"""
IDLE = "() => !testScript.requested && !testScript.running"  # a training goes on beside that
# Milliseconds from the next key until what the page says is another than now, and the next frame.
ARM = """said => {
  const frame = () => new Promise(requestAnimationFrame);
  const say = new Function(`return ${said}`);
  const before = say();
  let pressed;
  addEventListener('keydown', event => { pressed ??= event.timeStamp; }, { capture: true });
  window.elapsed = (async () => {
    while (pressed === undefined || (say() ?? before) === before) await frame();
    await frame();
    return performance.now() - pressed;
  })();
}"""


def counted(selector: str) -> str:
    """Return the JavaScript that says how many pictures a component has drawn."""
    return f"document.querySelector('{selector}')?.dataset.n"


@dataclass(frozen=True)
class Press:
    """A press of one of ``keys`` on ``handle``, and what then ``said`` (JavaScript) to be there.

    ``link`` is followed before each press, with the round's number in it.
    """

    address: str
    handle: str
    keys: tuple[str, str]
    said: str
    link: str = ""

    def seconds(self, page: Page, number: int) -> float:
        """Return the seconds from the key to the frame after."""
        page.bring_to_front()
        if self.link:
            follow_link(page, self.link.format(number))
        page.locator(self.handle).first.focus()  # waits for it
        page.wait_for_function(IDLE)
        page.evaluate(ARM, self.said)
        page.keyboard.press(self.keys[number % 2])
        elapsed: float = page.evaluate("window.elapsed")
        settle(page)
        return elapsed / 1e3


def slider(key: str) -> str:
    """Return the selector of a slider of Streamlit."""
    return f".st-key-{key} input[type=range]"


SLIDE = "ArrowLeft", "ArrowRight"
BARE = "a bare page's slider to its picture"
PRESSES = {
    "Manifold: λ to picture": Press(
        "/Manifold", ".gc-pair-strength", SLIDE, counted(".gc-pair:not([data-stale])")
    ),
    "Manifold, 4 layers: inverse temperature": Press(
        "/Manifold?layers=4&more=true", slider("sharpness"), ("ArrowRight", "ArrowRight"),
        counted(".gc-pair:not([data-stale])"),
    ),
    "Mixture of experts: pad to the largest tree": Press(
        "/Mixture_of_experts?channels=8&head_count=4&tokens=6",
        ".gc-tree-handle", SLIDE, counted(".gc-tree"),
    ),
    "landing page: a frame of a drag on the stage": Press(
        "/?strength=1", ".gc-plane-move", ("ArrowUp", "ArrowDown"), counted(".gc-stage-space")
    ),
    "Decision boundary: cancel a training": Press(
        "/Decision_boundary", "button:has-text('Cancel')", ("Enter", "Enter"),
        "document.body.textContent.includes('was cancelled') || undefined",
        "/Decision_boundary?seeds=32&steps=4000&first=1{}",
    ),
    BARE: Press("/", slider("lambda"), SLIDE, counted("body")),
}  # fmt: skip


def presses() -> Iterator[Row]:
    """From a key on a control to the frame after its picture."""
    with ExitStack() as stack:
        browser = stack.enter_context(chromium())
        app, bare = stack.enter_context(serve()), stack.enter_context(serve(BARE_PAGE, *QUIETLY))
        measured = {}
        for name, press in PRESSES.items():
            page = stack.enter_context(open_page(browser, **DESK))
            page.add_init_script(f"({COUNT_NATIVE})()")
            page.goto((bare if name == BARE else app).url + press.address)
            settle(page)
            measured[name] = partial(press.seconds, page)
        seconds = in_turns(measured, 10, limit_s=60.0)
    yield from (row(seconds, name, BARE) for name in PRESSES if name != BARE)


# --- Cold start -----------------------------------------------------------------------------------

# Milliseconds from the navigation until all scenes, so many or more, are on the screen.
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
COLD = "a bare page"
FIRST_PICTURES = {  # by page: script, address, its scenes and the least number of them
    "landing page, first picture of a cold server": ("app.py", "/", ".gc-stage-space", 1),
    "Decision boundary, first picture of a cold server": (
        "app.py", "/Decision_boundary", ".gc-pair[data-n]:not([data-stale])", 1,
    ),
    "Curved or bent?, first picture of a cold server": (
        "app.py", "/Curved_or_bent", ".gc-pair[data-n]:not([data-stale])", 1,
    ),
    "Real heads, first picture of a cold server": (
        "app.py", "/Real_heads", ".gc-pair[data-n]:not([data-stale])", 1,
    ),
    COLD: (BARE_PAGE, "/", ".js-plotly-plot", 2),
}  # fmt: skip


def cold_starts() -> Iterator[Row]:
    """From the start of a server to its first visitor's first picture, an empty cache included."""
    with chromium() as browser:
        measured = {name: partial(_cold, browser, name) for name in FIRST_PICTURES}
        measured[COLD](0)  # warms up the browser
        seconds = in_turns(measured, 3, warm_up=False)
    yield from (row(seconds, name, COLD) for name in FIRST_PICTURES if name != COLD)


def _cold(browser: Browser, name: str, number: int) -> float:
    script, address, scenes, least = FIRST_PICTURES[name]
    begin = time.perf_counter()
    with serve(REPOSITORY / script, *QUIETLY) as served:
        start = time.perf_counter() - begin
        context = browser.new_context(**DESK)
        try:
            page = context.new_page()
            page.goto(served.url + address, wait_until="commit")
            elapsed: float = page.evaluate(PICTURED, [scenes, least, LIMIT_MS])
            return start + elapsed / 1e3
        finally:
            context.close()


GROUPS = presses, cold_starts
