"""How does a test open a page, wait for its pictures, and notice whatever goes wrong there?"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page

from .serving import HOST

WAIT_MS = 60_000  # software rendering on a busy machine
QUIET_MS = 500  # this long without a change counts as settled
POLL_MS = 100
BEARABLE_WARNINGS = ("willReadFrequently",)  # Plotly's own, about speed

# True once the script has ended and the view has drawn its last picture some time ago.
_SETTLED = """quiet => {
  const view = document.querySelector('.gc-view');
  const running = document.querySelector('[data-testid=stApp]')?.dataset.testScriptState;
  const now = [location.href, running, view?.dataset.n, view?.dataset.frame].join(' ');
  if (window.testSeen !== now) [window.testSeen, window.testSince] = [now, performance.now()];
  const drawn = view === null || view.dataset.n !== undefined;
  return running === 'notRunning' && drawn && performance.now() - window.testSince > quiet;
}"""


@dataclass
class Watch:
    """Everything that the watched pages asked for, and everything that went wrong on them."""

    requested: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        page.on("request", lambda request: self._ask(request.url))
        page.on("websocket", lambda socket: self._ask(socket.url))
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        page.on("crash", lambda _: self.problems.append("the page crashed"))

    def _ask(self, url: str) -> None:
        self.requested.append(url)
        inner = urlsplit(url.removeprefix("blob:"))
        if inner.scheme != "data" and inner.hostname != HOST:
            self.problems.append(f"left the machine: {url}")

    def _hear(self, message: ConsoleMessage) -> None:
        bearable = any(words in message.text for words in BEARABLE_WARNINGS)
        if message.type in ("error", "warning") and not bearable:
            self.problems.append(f"console {message.type}: {message.text}")


@contextmanager
def open_page(browser: Browser, watch: Watch | None = None, **options: Any) -> Iterator[Page]:
    """A fresh visitor's page; ``options`` are those of `Browser.new_context`."""
    context = browser.new_context(**options)
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    if watch is not None:
        watch.follow(page)
    try:
        yield page
    finally:
        context.close()


def await_view(page: Page) -> None:
    """Wait for the linked 3-D view's picture."""
    page.wait_for_selector(".gc-view[data-n]")
    settle(page)


def settle(page: Page) -> None:
    """Wait until the script has ended and nothing is drawn any more."""
    page.wait_for_function(_SETTLED, arg=QUIET_MS, polling=POLL_MS)
