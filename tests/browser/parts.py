"""Pages of single parts of the interface, fresh for every test without being loaded again.

To load one takes seconds, most of them for Streamlit itself. The app of parts makes everything
new when the number of the visit in its link changes, and a page follows a new link without a load.
"""

import itertools
from contextlib import ExitStack
from typing import Any

from playwright.sync_api import Browser, Page, ViewportSize

from .visiting import Watch, follow_link, open_page, scroll_to_top, settle

# In which visit was each component on the page first seen?
_FIRST_SEEN = """visit => [...document.querySelectorAll('.gc-draw, .gc-pad')]
  .map(root => root.__gc.testVisit ??= visit)"""
WIDE = {"viewport": {"width": 900, "height": 700}}
PHONE = {"viewport": {"width": 390, "height": 700}, "has_touch": True, "is_mobile": True}
_visits = itertools.count(1)


class Pages:
    """Pages of the app of parts at ``url``, used by one test after another."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.watch = Watch()
        self._browser, self._url = browser, url
        self._pages: list[tuple[Page, dict[str, Any]]] = []  # each with its device
        self._taken: list[Page] = []
        self._closing = ExitStack()

    def visit(self, query: str = "", ready: str | None = None, **window: Any) -> Page:
        """A page as a fresh visitor sees it, once there is what ``ready`` selects.

        Until `release`, no other visit gets the same page. ``window`` are options of
        `Browser.new_context`; its viewport is WIDE's unless it is given.
        """
        visit = next(_visits)
        page = self._take(**(WIDE | window))
        link = f"{self._url}/?visit={visit}&{query}"
        if page.url.startswith(self._url):
            page.mouse.up()  # a test that failed may have held it
            scroll_to_top(page)
            follow_link(page, link)
        else:
            page.goto(link)
        page.get_by_text(f"visit {visit}", exact=True).wait_for()
        if ready is not None:
            page.wait_for_selector(ready)
        settle(page)
        old = set(page.evaluate(_FIRST_SEEN, visit)) - {visit}
        assert not old, f"components of the visits {old} are still there"
        return page

    def _take(self, viewport: ViewportSize, **device: Any) -> Page:
        for page, its_device in self._pages:
            if its_device == device and page not in self._taken and not page.is_closed():
                break
        else:
            page = self._closing.enter_context(open_page(self._browser, self.watch, **device))
            self._pages.append((page, device))
        page.set_viewport_size(viewport)
        self._taken.append(page)
        return page

    def release(self) -> list[str]:
        """End a test's visits; return what went wrong on any page during them."""
        self._taken.clear()
        problems, self.watch.problems = self.watch.problems, []
        return problems

    def close(self) -> None:
        self._closing.close()
