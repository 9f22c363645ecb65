"""Does the page At work fit the screen, follow what is typed, and write until it is stopped?"""

import pytest

from tests.profiles import SOAK

from .accessibility import assert_accessible
from .looking import assert_charts_on_a_phone, assert_told_on_the_first_screen
from .visiting import await_charts, become_phone, follow_link, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

RANK, GATES, CONFIDENCE, WIRING, WRITE = (
    f"tab_at_work={tab}" for tab in ("Rank", "Sparse+gates", "Confidence", "Wiring", "Write")
)
FRONT = ".st-key-front-1"
STATES = {  # what is read there, how many charts there are, and what else is on the first screen
    "": ("The gate reduces the first", 3, FRONT),
    "specimen=a+toy": ("The first letter is a sink", 4, FRONT),
    RANK: ("No rank lies above", 2, FRONT), GATES: ("The gates are", 3, FRONT),
    CONFIDENCE: ("With the gate, paired over", 3, FRONT),
    WIRING: ("Loss after equally many", 8),
    WRITE: ("Loss over the held-out verses", 2, FRONT),
}  # fmt: skip
LABELS = """() => [...document.querySelectorAll('.st-key-at_work_strip .xtick text')]
  .map(label => label.textContent).join('')"""


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    visit(visitor, watch, f"{served.url}/At_work", await_charts)
    return visitor


def test_the_first_screens_hold_pictures_and_their_sentence_and_axe_finds_nothing(desk):
    for query in STATES if SOAK else ("", WIRING):
        text, count, *selectors = STATES[query]
        follow_link(desk, f"/At_work?{query}")
        assert_told_on_the_first_screen(desk, text, *selectors, count=count)
        if SOAK or not query:  # axe takes as long as all the rest
            assert_accessible(desk)


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


def test_another_head_is_explained_without_measuring_again(desk):
    follow_link(desk, f"/At_work?{RANK}&ranked_head=2.3")
    desk.get_by_text("Without a gate head 2.3 is one map").wait_for()


@pytest.mark.soak  # long
def test_a_phone_has_everything_in_one_column_and_scrolls_only_down(desk):
    become_phone(desk)
    for query in ("", GATES, WIRING):
        follow_link(desk, f"/At_work?{query}")
        await_charts(desk)
        assert_charts_on_a_phone(desk)
        assert_accessible(desk)
