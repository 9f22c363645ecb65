"""What do the browser tests share? One served app, one Chromium, one record of what went wrong."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from .serving import Served, find_chromium, launch, serve, without_browser
from .visiting import Watch


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
