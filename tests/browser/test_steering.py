"""Does the page Steering fit the screen at once, write until it is stopped, and follow a click?"""

import pytest

from tests.profiles import SOAK

from .accessibility import assert_accessible
from .looking import (
    assert_charts_on_a_phone,
    assert_on_the_first_screen,
    assert_told_on_the_first_screen,
)
from .visiting import await_charts, become_phone, follow_link, resize, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

FEATURES, MEASURED = (f"tab_steering={tab}" for tab in ("Features", "Measured"))
FRONT = ".st-key-front-1"
STATES = {  # what is read there, how many charts there are, and what else is on the first screen
    "": ("With the push, released after", 1, FRONT, ".gc-key"),
    FEATURES: ("tells the languages apart", 3, FRONT),
}
STEERED = ".gc-text >> nth=1"
SHOWN = "document.querySelectorAll('.gc-text')[1]?.innerText"


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    visit(visitor, watch, f"{served.url}/Steering", lambda page: await_charts(page, 1))
    return visitor


def test_the_first_screens_hold_pictures_and_their_sentence_and_axe_finds_nothing(desk):
    for query, (text, count, *selectors) in STATES.items():
        follow_link(desk, f"/Steering?{query}")
        assert_told_on_the_first_screen(desk, text, *selectors, count=count)
        if SOAK or not query:  # axe takes as long as all the rest
            assert_accessible(desk)


@pytest.mark.soak  # long
def test_measured_outcomes_are_told_on_the_first_screen(desk):
    follow_link(desk, f"/Steering?{MEASURED}")
    await_charts(desk, 5)
    assert_accessible(desk)
    for width, height in ((1400, 900), (1366, 768)):
        resize(desk, width, height)
        assert_on_the_first_screen(
            desk, "h1", FRONT, ".st-key-steering_released", ".st-key-steering_held"
        )
        for text in (
            "Released after 16 characters",
            "Held, the feature succeeds",
            "Success, gate minus none",
            "AUC, gate minus none",
        ):
            box = desk.get_by_text(text).bounding_box()
            assert box["y"] + box["height"] < height, text
    resize(desk, 1400, 900)


def test_a_text_is_written_letter_by_letter_and_can_be_stopped(desk):
    follow_link(desk, "/Steering?opening=The+king+&opening_draw=5&push=5")
    cancel = desk.get_by_role("button", name="Cancel")
    cancel.wait_for()
    cancel.click()
    desk.get_by_text("Writing was cancelled after").wait_for()
    desk.get_by_text("of 60 characters").first.wait_for()  # the run before may still show it, too
    desk.get_by_role("button", name="Write again").click()
    desk.get_by_text("With the push, released after 16 characters").wait_for()
    assert desk.locator(STEERED).inner_text().startswith("The king")


@pytest.mark.soak  # long
def test_a_model_is_measured_until_that_is_stopped(desk):
    follow_link(desk, f"/Steering?{MEASURED}&outcomes_of=1&grid_draw=3")
    desk.get_by_text("Texts of seed 3 have not been measured").wait_for()
    desk.get_by_role("button", name="Measure this model here").click()
    cancel = desk.get_by_role("button", name="Cancel")
    cancel.wait_for()
    desk.get_by_text("Measuring a model …").wait_for()
    cancel.click()
    desk.get_by_text("Measuring a model was cancelled").wait_for()
    desk.get_by_role("button", name="Measure this model here").wait_for()


@pytest.mark.soak  # long
def test_the_slider_writes_another_text_after_the_same_beginning(desk):
    follow_link(desk, "/Steering?opening=The+king+")
    desk.get_by_text("With the push").wait_for()
    before = desk.locator(STEERED).inner_text()
    desk.get_by_role("slider").press("Home")
    desk.wait_for_function(f"before => {SHOWN} && {SHOWN} !== before", arg=before)
    desk.get_by_text("With the push").wait_for()
    assert "push=-10" in desk.url


def test_a_click_chooses_a_feature(desk):
    follow_link(desk, f"/Steering?{FEATURES}")
    await_charts(desk, 3)
    desk.get_by_text("Feature 2 tells").wait_for()
    (mark,) = desk.locator(".st-key-steering_order .scatterlayer .trace").nth(0).locator(
        ".point").all()[:1]  # fmt: skip
    box = mark.bounding_box()
    desk.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    desk.get_by_text("Feature 2 tells").wait_for(state="detached")
    settle(desk)
    assert "feature=" in desk.url


@pytest.mark.soak  # long
def test_a_phone_has_everything_in_one_column_and_scrolls_only_down(desk):
    become_phone(desk)
    for query, count in (("", 1), (FEATURES, 3), (MEASURED, 5)):
        follow_link(desk, f"/Steering?{query}")
        await_charts(desk, count)
        assert_charts_on_a_phone(desk)
        assert_accessible(desk)
