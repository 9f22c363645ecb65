"""What do the browser tests share? Two served apps, one Chromium, one record of what went wrong."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from .serving import Served, find_chromium, launch, serve, without_browser
from .visiting import Watch

PARTS = Path(__file__).with_name("parts_app.py")
# The script lies outside the repository's root, where our own Streamlit settings are.
OPTIONS = ("--browser.gatherUsageStats", "false", "--client.showSidebarNavigation", "true")
PLACES = 1  # for jobs


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
def watch() -> Watch:
    return Watch()
