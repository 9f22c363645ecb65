"""A real browser sees a job go on, wait, end and fail; leaving stops its thread."""

import re
import time

import pytest

from ui.work.jobs import RETURN_SECONDS

from .jobs_page import STEP_SECONDS, STEPS
from .visiting import WAIT_MS, settle

AGES = 20 * STEP_SECONDS  # a count that is silent for so long has stopped
POLL_SECONDS = 0.05
BROKEN = re.compile(
    "WebSocket onclose|when disconnected from server|WebSocket is already in CLOSING or CLOSED"
)
COUNT = (
    "[...document.querySelectorAll('[data-testid=stText]')].find(e => /counted/.test(e.innerText))"
)
COUNTED_AT_LEAST = f"least => Number({COUNT}?.innerText.split(' ').at(-1)) >= least"


class Counts:
    """What the jobs of the page write down, seen from outside."""

    def __init__(self, folder):
        self.folder = folder

    def paths(self):
        return set(self.folder.glob("*.count"))

    def last(self):
        """When any job was last at work, in seconds of `time.time`."""
        texts = [path.read_text().split() for path in self.paths()]
        return max((float(times[-1]) for times in texts if times), default=0.0)

    def await_silence(self):
        """When the last job stopped."""
        end = time.time() + WAIT_MS / 1000
        while time.time() - self.last() < AGES:
            assert time.time() < end, "the job did not stop"
            time.sleep(POLL_SECONDS)
        return self.last()


@pytest.fixture(scope="module")
def counts(counts_folder):
    return Counts(counts_folder)


@pytest.fixture
def visit(visit_part):
    """Visit the page as somebody who has started nothing there."""
    return visit_part


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def start(page, name="Count"):
    """Start a count and wait until it shows how it goes."""
    press(page, name)
    page.get_by_text("Counting …").wait_for()


def counted(page):
    """How far the page says that the count has come."""
    return int(page.get_by_text("counted").inner_text().split()[-1])


def await_count(page, least):
    page.wait_for_function(COUNTED_AT_LEAST, arg=least)


def run(page):
    """The line that says how often the whole page has run."""
    return page.get_by_text("of the page").inner_text()


def test_progress_appears_and_the_end_runs_the_page_once(visit):
    page = visit()
    press(page, "Count to the end")
    page.get_by_text("counted").wait_for()
    page.evaluate(f"window.testPicture = {COUNT}")
    page.get_by_text("Counting …").wait_for()
    await_count(page, counted(page) + 1)
    assert run(page) == "run 2 of the page"  # the first, and the click
    page.get_by_text(f"counted {STEPS}").wait_for()
    page.get_by_text("run 3 of the page").wait_for()
    settle(page)  # which it does only if nothing polls
    assert page.get_by_role("button", name="Cancel").count() == 0
    assert page.get_by_test_id("stProgress").count() == 0
    assert run(page) == "run 3 of the page"
    assert page.evaluate("window.testPicture.isConnected")  # what is drawn is never made anew


@pytest.mark.soak  # long
def test_a_connection_that_breaks_and_comes_back_stops_nothing(visit, pages):
    page = visit()
    start(page)
    broken = time.time()
    page.evaluate("window.testScript.socket.close()")
    page.get_by_text("run 3 of the page").wait_for()
    await_count(page, counted(page) + int(1.5 * RETURN_SECONDS / STEP_SECONDS))
    assert time.time() - broken > RETURN_SECONDS
    assert page.get_by_role("button", name="Cancel").count() == 1
    # Streamlit's own words on the console about what the test has done.
    watch = pages.watch
    watch.problems = [problem for problem in watch.problems if not BROKEN.search(problem)]


@pytest.mark.soak  # long
def test_a_second_visitor_is_told_to_wait_for_a_worker(visit, counts):
    first, second, third = visit(), visit(), visit()
    press(first, "Count")
    await_count(first, 1)
    known = counts.paths()
    press(second, "Count")
    second.get_by_text("waiting for a free worker").wait_for()
    press(third, "Count")
    third.get_by_text("waiting for a free worker").wait_for()
    assert counts.paths() == known
    press(second, "Cancel")
    second.get_by_text("Counting was cancelled before it began.").wait_for()
    first.close()
    third.get_by_text("Counting …").wait_for()
    assert len(counts.paths()) == len(known) + 1
    third.close()
    counts.await_silence()


def test_leaving_stops_it(visit, counts):
    page = visit()
    press(page, "Count")
    await_count(page, 1)
    left = time.time()
    page.close()
    assert counts.await_silence() - left > RETURN_SECONDS - STEP_SECONDS  # it may come back
