"""Shared by browser tests: the served app, one Chromium, one record of what went wrong."""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from .serving import Served, find_chromium, launch, serve, without_browser
from .visiting import DESK, Watch, become_desk, open_page, page_states


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
