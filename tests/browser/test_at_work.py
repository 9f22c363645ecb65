"""Does the page At work fit the screen, follow what is typed, and write until it is stopped?"""

import pytest

from .looking import assert_dark, assert_on_the_first_screen, assert_scrolls_only_down
from .visiting import DESK, PHONE, follow_link, open_page, resize, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

GATES, WRITE = "tab_at_work=Sparse+gates", "tab_at_work=Write"
SENTENCES = {"": "of a head's weight at most", "specimen=a+toy": "The toy has",
             GATES: "The gates are", WRITE: "nats a character with its gates"}  # fmt: skip
DRAWN = "document.querySelectorAll('.stPlotlyChart .main-svg').length >= 2"
LABELS = """() => [...document.querySelectorAll('.st-key-at_work_strip .xtick text')]
  .map(label => label.textContent).join('')"""


def await_charts(page):
    page.wait_for_function(DRAWN)
    settle(page)


@pytest.fixture(scope="module")
def desk(browser, served, watch):
    with open_page(browser, watch, **DESK) as page:
        visit(page, watch, f"{served.url}/At_work", await_charts)
        yield page


def test_the_first_screens_hold_pictures_and_their_sentence(desk):
    for query, text in SENTENCES.items():
        follow_link(desk, f"/At_work?{query}")
        sentence = desk.get_by_text(text).first
        sentence.wait_for()
        await_charts(desk)
        for width, height in ((1400, 900), (1366, 768)):
            resize(desk, width, height)
            assert_on_the_first_screen(desk, "h1", ".st-key-front-1", "[data-testid=stPlotlyChart]")
            box = sentence.bounding_box()
            assert box["y"] + box["height"] < height, query
        resize(desk, 1400, 900)


def test_the_gate_stands_above_what_is_typed(desk):
    follow_link(desk, f"/At_work?{GATES}")
    await_charts(desk)
    box = desk.get_by_label("Text", exact=True)
    box.fill("¡Oh, sí!")
    box.press("Enter")
    desk.wait_for_function(f"({LABELS})() === '¶¡Oh,␣sí!'")
    assert "typed=%C2%A1Oh%2C+s%C3%AD%21" in desk.url


def test_a_text_is_written_and_can_be_stopped(desk):
    follow_link(desk, f"/At_work?{WRITE}&typed=The+king&draw=5")
    cancel = desk.get_by_role("button", name="Cancel")
    cancel.wait_for()
    cancel.click()
    desk.get_by_text("Writing was cancelled after").wait_for()
    # For a moment the text of the job's last run stands beside the page's.
    desk.wait_for_function("document.querySelectorAll('.st-key-written').length === 1")
    stopped = desk.locator(".st-key-written").inner_text()
    assert stopped.startswith("The king")
    desk.get_by_role("button", name="Write again").click()
    desk.wait_for_function(
        "text => document.querySelector('.st-key-written').innerText.length > text.length",
        arg=stopped,
    )
    assert desk.locator(".st-key-written").inner_text().startswith(stopped)


def test_a_phone_has_everything_in_one_column_and_scrolls_only_down(browser, served, watch):
    with open_page(browser, watch, **PHONE) as page:
        for query in ("", GATES):
            visit(page, watch, f"{served.url}/At_work?{query}", await_charts)
            assert_dark(page)
            assert_scrolls_only_down(page)
            boxes = [chart.bounding_box() for chart in page.locator(".stPlotlyChart").all()]
            assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]
