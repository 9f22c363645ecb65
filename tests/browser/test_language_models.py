"""Does Language models fit the screen, follow what is typed, and generate until it is stopped?"""

import pytest

from tests.profiles import SOAK

from .accessibility import assert_accessible
from .looking import (
    assert_charts_on_a_phone,
    assert_on_the_first_screen,
)
from .visiting import await_charts, become_phone, follow_link, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

SPARSITY, GENERATE = "measure=Gate+sparsity", "measure=Generate"
STATES = {  # what is read there, and how many charts there are
    "measure=Attention+sinks": ("The gate reduces the first", 4),
    "measure=Attention+sinks&lm_sinks_of=Bigram%E2%80%93Backcopy+task": ("is a sink", 4),
    "measure=Effective+rank": ("The gate increases the effective rank", 3),
    SPARSITY: ("The gates are", 3),
    "measure=Calibration": ("on the calibration error is", 3),
    "measure=Block+topology": ("A1 reduces the loss", 8), GENERATE: ("Test loss", 2),
}  # fmt: skip
LABELS = """() => [...document.querySelectorAll('.st-key-chart_sparsity_text .xtick text')]
  .map(label => label.textContent).join('')"""


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    visit(visitor, watch, f"{served.url}/Language_models", await_table)
    return visitor


def await_table(page):
    page.get_by_text("Test loss against").wait_for()


def test_it_opens_with_the_table_and_its_sentence_on_the_first_screen(desk):
    follow_link(desk, "/Language_models")
    await_table(desk)
    assert_on_the_first_screen(desk, "h1", "table")
    sentence = desk.get_by_text("Test loss against").bounding_box()
    assert sentence["y"] + sentence["height"] < desk.viewport_size["height"]
    assert_accessible(desk)


def test_the_first_screens_hold_charts_and_their_finding_and_axe_finds_nothing(desk):
    for query in STATES if SOAK else ("measure=Block+topology",):
        text, count = STATES[query]
        follow_link(desk, f"/Language_models?{query}")
        desk.wait_for_function(f"document.querySelectorAll('.main-svg').length >= {count}")
        settle(desk)
        for part in (desk.get_by_text(text).first, desk.get_by_test_id("stPlotlyChart").first):
            box = part.bounding_box()
            assert box["y"] + box["height"] < desk.viewport_size["height"], (query, box)
        if SOAK:  # axe takes as long as all the rest
            assert_accessible(desk)


def test_the_gate_stands_above_what_is_typed(desk):
    follow_link(desk, f"/Language_models?{SPARSITY}")
    await_charts(desk)
    box = desk.get_by_label("Text", exact=True)
    box.fill("¡Oh, sí!")
    box.press("Enter")
    desk.wait_for_function(f"({LABELS})() === '¶¡Oh,␣sí!'")
    desk.wait_for_function("location.href.includes('lm_text=%C2%A1Oh%2C+s%C3%AD%21')")


def test_a_text_is_generated_and_can_be_stopped(desk):
    follow_link(desk, f"/Language_models?{GENERATE}&lm_prompt=The+king&lm_draw=5")
    cancel = desk.get_by_role("button", name="Cancel")
    cancel.wait_for()
    cancel.click()
    desk.get_by_text("Generating was cancelled after").wait_for()
    # For a moment the text of the job's last run stands beside the page's.
    desk.wait_for_function("document.querySelectorAll('.st-key-written').length === 1")
    stopped = desk.locator(".st-key-written").inner_text()
    assert stopped.startswith("The king")
    desk.get_by_role("button", name="Generate again").click()
    desk.wait_for_function(
        "text => document.querySelector('.st-key-written').innerText.length > text.length",
        arg=stopped,
    )
    assert desk.locator(".st-key-written").inner_text().startswith(stopped)


@pytest.mark.soak  # long
def test_a_phone_has_everything_in_one_column_and_scrolls_only_down(desk):
    become_phone(desk)
    for query in ("measure=Attention+sinks", SPARSITY, "measure=Block+topology"):
        follow_link(desk, f"/Language_models?{query}")
        await_charts(desk)
        assert_charts_on_a_phone(desk)
        assert_accessible(desk)
