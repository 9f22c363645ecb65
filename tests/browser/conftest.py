"""What browser tests share: two served apps, one Chromium, one record of what went wrong."""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from .parts import Pages
from .serving import Served, find_chromium, launch, serve, without_browser
from .visiting import DESK, Watch, become_desk, open_page, page_states

PARTS = Path(__file__).with_name("parts_app.py")
# The script lies outside the repository's root, where our own Streamlit settings are.
OPTIONS = (
    *("--browser.gatherUsageStats", "false"),
    *("--client.showSidebarNavigation", "true"),
    *("--runner.fastReruns", "false"),
)
PLACES = 1  # for jobs


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The report of a failure holds what all pages show then."""
    report = yield
    if report.failed:
        report.sections += [(f"page {n}", state) for n, state in enumerate(page_states(), 1)]
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = find_chromium()
    instead, why = without_browser(chromium, os.environ) or (None, "")
    if instead == "skip":
        pytest.skip(why)
    if instead == "fail" or chromium is None:
        pytest.fail(why)
    with sync_playwright() as playwright, launch(playwright, chromium) as browser:
        yield browser


@pytest.fixture(scope="session")
def served(browser: Browser) -> Iterator[Served]:
    """The running app; asked for after the browser, so that without one nothing is started."""
    with serve() as served:
        yield served
        assert "Traceback" not in served.output(), served.output()


@pytest.fixture(scope="session")
def counts_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the counts of the jobs' page write the time at each step."""
    return tmp_path_factory.mktemp("counts")


@pytest.fixture(scope="session")
def served_parts(browser: Browser, counts_folder: Path) -> Iterator[Served]:
    """The running app of single parts of the interface."""
    with serve(PARTS, *OPTIONS, "--", str(counts_folder), str(PLACES)) as served:
        yield served
        assert "Traceback" not in served.output(), served.output()


@pytest.fixture(scope="session")
def pages(browser: Browser, served_parts: Served) -> Iterator[Pages]:
    """Pages of single parts, shared by all tests of them."""
    pages = Pages(browser, served_parts.url)
    yield pages
    pages.close()


@pytest.fixture
def visit_part(pages: Pages) -> Iterator[Callable[..., Page]]:
    """Visit a part afresh (see `Pages`); in the end nothing may have gone wrong there."""
    yield pages.visit
    problems = pages.release()
    assert not problems


@pytest.fixture(scope="session")
def watch() -> Watch:
    return Watch()


@pytest.fixture(scope="session")
def borrow(
    browser: Browser, watch: Watch, request: pytest.FixtureRequest
) -> Iterator[Callable[[], Page]]:
    """Lends one page to module after module: to load the app takes seconds of processor time.

    After a failure the next module gets another page.
    """
    with ExitStack() as stack:
        page, failed = None, 0

        def borrow() -> Page:
            nonlocal page, failed
            if page is None or page.is_closed() or failed != request.session.testsfailed:
                stack.close()
                page = stack.enter_context(open_page(browser, watch, **DESK))
                failed = request.session.testsfailed
            become_desk(page)
            return page

        yield borrow


@pytest.fixture(scope="module")
def visitor(borrow: Callable[[], Page]) -> Page:
    """A page in a desk's window, which has shown the app's other pages, perhaps."""
    return borrow()


@pytest.fixture
def nothing_goes_wrong(watch: Watch) -> Iterator[None]:
    """No error on the console, none on the page, and no request to another host.

    Not cleared at the start: opening a shared page belongs to the first test that asks for it.
    """
    yield
    problems, watch.problems = watch.problems, []
    assert not problems
