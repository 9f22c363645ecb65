"""Opening a page, waiting for its pictures, and noticing whatever goes wrong there."""

import itertools
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page
from playwright.sync_api import Error as PlaywrightError

from .serving import HOST

WAIT_MS = 60_000  # software rendering on a busy machine
TIMER_MS = 500  # a timer of at most so long: the page reports or draws when it is over
QUIET_FRAMES = 6  # in which nothing changes, and no such timer is pending
DESK = {"viewport": {"width": 1400, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
# Both about speed: Plotly's own, and that of a canvas read back without a graphics card.
BEARABLE_WARNINGS = ("willReadFrequently", "GPU stall due to ReadPixels")

# What Streamlit asks its server and is told, read from the heads of its messages (protobuf):
# `requested`, a run will begin (not by a timer: the server ignores one whose fragment is gone);
# `polls`, a fragment runs again by itself.
# `socket` is the newest connection, so that a test can break it. `timers`: those that are pending.
# Put before a page's own scripts.
_LISTEN = """(() => {
  const ASK = 11 << 3 | 2;  // BackMsg.rerun_script
  const TIMER = 6 << 3;  // ClientState.is_auto_rerun
  const [BEGUN, ENDED, POLLS, POLLS_NO_MORE] = [4, 6, 21, 28];  // of ForwardMsg
  const [WHOLE, INTERRUPTED] = [0, 2];  // how a run ended
  const number = (bytes, at) => {
    let value = 0;
    for (let shift = 0; ; shift += 7, at += 1) {
      value += (bytes[at] & 127) * 2 ** shift;
      if (bytes[at] < 128) return [value, at + 1];
    }
  };
  const kind = bytes => {  // stands behind the hash and the metadata, fields 1 and 2
    for (let at = 0; at < bytes.length;) {
      const [tag, next] = number(bytes, at);
      const [value, end] = number(bytes, next);  // or the length of what follows
      if (tag >> 3 > 2) return [tag >> 3, value];
      at = end + value;
    }
    return [];
  };
  const isTimer = bytes => {  // the message holds a ClientState and nothing else
    for (let at = number(bytes, 1)[1]; at < bytes.length;) {
      const [tag, next] = number(bytes, at);
      const [value, end] = number(bytes, next);  // or the length of what follows
      if (tag === TIMER) return value === 1;
      at = tag & 2 ? end + value : end;
    }
    return false;
  };
  const timers = new Set();
  const script = { requested: false, running: false, runs: 0, polls: false, timers };
  window.testScript = script;
  let polling = false;  // says the run that goes on
  const hear = ({ data }) => {
    const [what, value] = kind(new Uint8Array(data));
    if (what === BEGUN) [script.requested, script.running, polling] = [false, true, false];
    if (what === POLLS) script.polls = polling = true;
    if (what === POLLS_NO_MORE) script.polls = false;
    if (what === ENDED) {
      script.running = false;
      script.runs += 1;
      if (value === WHOLE) script.polls = polling;
      if (value === INTERRUPTED) script.requested = true;  // another one follows
    }
  };
  const { setTimeout: later, clearTimeout: cancel } = window;
  window.setTimeout = (act, delay, ...rest) => {
    const id = later((...given) => {
      timers.delete(id);
      act(...given);
    }, delay, ...rest);
    if (delay <= TIMER_MS) timers.add(id);
    return id;
  };
  window.clearTimeout = id => {
    timers.delete(id);
    cancel(id);
  };
  const Original = window.WebSocket;
  window.WebSocket = class extends Original {
    constructor(...rest) {
      super(...rest);
      this.addEventListener('message', hear);
      script.socket = this;
    }
    send(data) {
      if (data[0] === ASK && !isTimer(new Uint8Array(data))) script.requested = true;
      super.send(data);
    }
  };
})()""".replace("TIMER_MS", str(TIMER_MS))

# True once the script has ended, nobody will start it again, and all pictures are drawn from their
# newest numbers and play no more. What the page's own scripts then still have to say or draw, they
# do after a timer or within a few frames; these are counted from the call on, which a number of its
# own tells from the calls before.
_SETTLED = """([call, frames]) => {
  const shown = document.querySelector('[data-testid=stApp]')?.dataset.testScriptState;
  const { requested, running, runs, polls, timers } = window.testScript;
  const over = runs > 0 && !requested && !running && !polls && shown === 'notRunning';
  const pairs = [...document.querySelectorAll('.gc-pair')];
  const drawn = pairs.every(({ dataset: { n, stale }, __gc }) => n && !stale && !__gc.playing);
  const now = [call, location.href, runs, over, drawn, pairs.map(pair => pair.dataset.n)].join();
  if (window.testSeen?.now !== now || timers.size) window.testSeen = { now, frames: 0 };
  window.testSeen.frames += 1;
  return over && drawn && window.testSeen.frames > frames;
}"""
# What is there to read when a test has waited in vain; "" of an empty page.
_STATE = """() => window.testScript ? [location.href,
  JSON.stringify({ ...window.testScript, timers: window.testScript.timers.size, socket: 0 }),
  JSON.stringify(window.testSeen), document.body.innerText].join('\\n') : ''"""
_FOLLOW = """link => {
  history.pushState(null, '', link);
  dispatchEvent(new PopStateEvent('popstate'));  // Streamlit runs again
}"""
# Streamlit looks for its server below a page's own address first, in vain.
_FAILED_LOAD = "Failed to load resource"
_PROBE = re.compile(rf"^console error: {_FAILED_LOAD}.* 404 .*/\w+/_stcore/(health|host-config)$")
_calls = itertools.count()
_contexts: WeakKeyDictionary[Browser, dict[str, BrowserContext]] = WeakKeyDictionary()


@dataclass
class Watch:
    """Everything that the watched pages asked for, and everything that went wrong on them."""

    requested: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        page.on("request", lambda request: self._ask(request.url))
        page.on("websocket", lambda socket: self._ask(socket.url))
        page.on("console", self._hear)
        page.on(
            "pageerror", lambda error: self.problems.append(f"page error: {error}\n{error.stack}")
        )
        page.on("crash", lambda _: self.problems.append("the page crashed"))

    def _ask(self, url: str) -> None:
        self.requested.append(url)
        inner = urlsplit(url.removeprefix("blob:"))
        if inner.scheme != "data" and inner.hostname != HOST:
            self.problems.append(f"left the machine: {url}")

    def _hear(self, message: ConsoleMessage) -> None:
        bearable = any(words in message.text for words in BEARABLE_WARNINGS)
        if message.type in ("error", "warning") and not bearable:
            of = f" {message.location['url']}" if message.text.startswith(_FAILED_LOAD) else ""
            self.problems.append(f"console {message.type}: {message.text}{of}")


@contextmanager
def open_page(browser: Browser, watch: Watch | None = None, **options: Any) -> Iterator[Page]:
    """A fresh visitor's page; ``options`` are those of `Browser.new_context`.

    Every page is a Streamlit session of its own; what the browser has fetched, pages share. Unless
    ``reduced_motion`` is "no-preference", nothing plays by itself.
    """
    viewport, scheme = (options.pop(name, None) for name in ("viewport", "color_scheme"))
    motion = options.pop("reduced_motion", "reduce")
    page = _context(browser, options).new_page()
    if viewport is not None:
        page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=scheme, reduced_motion=motion)
    if watch is not None:
        watch.follow(page)
    try:
        yield page
    finally:
        page.close()


def _context(browser: Browser, options: dict[str, Any]) -> BrowserContext:
    """The context of all pages with these options; it ends with the browser."""
    contexts = _contexts.setdefault(browser, {})
    kind = json.dumps(options, sort_keys=True)
    if kind not in contexts:
        contexts[kind] = browser.new_context(**options)
        contexts[kind].set_default_timeout(WAIT_MS)
        contexts[kind].add_init_script(_LISTEN)
    return contexts[kind]


def page_states() -> list[str]:
    """Link, state of Streamlit and text of every open page, for the report of a failure."""
    pages = [
        page for contexts in _contexts.values() for each in contexts.values() for page in each.pages
    ]
    told = []
    for page in pages:
        with suppress(PlaywrightError):
            told.append(page.evaluate(_STATE))
    return [state for state in told if state]


def visit(page: Page, watch: Watch, url: str, ready: Callable[[Page], None] | None = None) -> None:
    """Open a page by its own link and wait for its picture, or until ``ready`` has returned.

    Where a page of the same app is shown already, the link is followed without a load, which takes
    five times the processor time.
    """
    shown, linked = urlsplit(page.url), urlsplit(url)
    if shown[:2] == linked[:2]:
        follow_link(page, url)
        if shown.path.strip("/") != linked.path.strip("/"):
            settle(page)  # what is ready on the page before is gone then
        (ready or await_view)(page)
        return
    page.goto(url)
    (ready or await_view)(page)
    probes = list(filter(_PROBE.match, watch.problems))
    assert len(probes) <= 2
    watch.problems = [problem for problem in watch.problems if problem not in probes]


def follow_link(page: Page, link: str) -> None:
    """Go to a link of the shown page, within the page: as the browser's back and forward do."""
    page.evaluate(_FOLLOW, link)


def resize(page: Page, width: int, height: int) -> None:
    """Give the page's window another size and wait until everything is drawn in it."""
    page.set_viewport_size({"width": width, "height": height})
    settle(page)


def become_desk(page: Page) -> None:
    """Make the window a desk's, in light colours, scrolled to its top."""
    page.set_viewport_size(DESK["viewport"])
    page.emulate_media(color_scheme="light")
    scroll_to_top(page)


def scroll_to_top(page: Page) -> None:
    """A page that follows a link stays scrolled as far as the page before."""
    page.evaluate("document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0)")


def become_phone(page: Page) -> None:
    """Make the window a phone's, in dark colours; the page follows without being loaded again."""
    page.set_viewport_size(PHONE["viewport"])
    page.emulate_media(color_scheme=PHONE["color_scheme"])


def await_view(page: Page) -> None:
    """Wait for the picture of a surface."""
    page.wait_for_selector(".gc-pair[data-n]")
    settle(page)


def await_drawn(page: Page) -> None:
    """Wait until every chart, picture and view that the page has is drawn."""
    page.wait_for_load_state("networkidle")  # a component's script may be still to come
    settle(page)
    views = (".gc-pair", ".gc-heads", ".gc-tree", ".gc-stage-space", ".gc-islands-space",
             ".gc-keys-space")  # fmt: skip
    undrawn = ", ".join(["[data-testid=stSkeleton]", *(f"{view}:not([data-n])" for view in views)])
    page.wait_for_function("parts => !document.querySelector(parts)", arg=undrawn)
    settle(page)


def await_charts(page: Page, count: int = 2) -> None:
    """Wait until ``count`` of Plotly's charts are drawn, and everything is still."""
    drawn = "count => document.querySelectorAll('.stPlotlyChart .main-svg').length >= count"
    page.wait_for_function(drawn, arg=count)
    settle(page)


def settle(page: Page) -> None:
    """Wait until the script has ended and nothing is drawn any more; looks at every frame."""
    page.bring_to_front()  # behind another page it would draw one frame in a second
    page.wait_for_function(_SETTLED, arg=[next(_calls), QUIET_FRAMES])
