"""Does the page Steering fit the screen at once, write until it is stopped, and follow a click?"""

import pytest

from tests.profiles import SOAK

from .accessibility import assert_accessible
from .looking import (
    assert_charts_on_a_phone,
    assert_on_the_first_screen,
)
from .visiting import await_charts, become_phone, follow_link, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

FEATURES, RESULTS = (f"steering_tab={tab}" for tab in ("Features", "Results"))
STATES = {  # what is read there, how many charts there are, and what else is on the first screen
    "": ("With the steering vector", 1, ".st-key-chart_steer_probability", ".gc-key"),
    FEATURES: ("the languages", 3, "[data-testid=stPlotlyChart]", ".gc-examples"),
    RESULTS: ("Applied to", 5, ".st-key-chart_results_released", ".st-key-chart_results_held"),
}
STEERED = ".gc-text >> nth=1"
SHOWN = "document.querySelectorAll('.gc-text')[1]?.innerText"


@pytest.fixture(scope="module")
def desk(visitor, served, watch):
    visit(visitor, watch, f"{served.url}/Steering", lambda page: await_charts(page, 1))
    return visitor


def test_the_first_screens_hold_the_finding_and_pictures_and_axe_finds_nothing(desk):
    for query, (text, count, *selectors) in STATES.items():
        follow_link(desk, f"/Steering?{query}")
        await_charts(desk, count)
        assert_on_the_first_screen(desk, "h1", *selectors)
        box = desk.get_by_text(text).first.bounding_box()
        assert box["y"] + box["height"] < 900, text
        if SOAK or not query:  # axe takes as long as all the rest
            assert_accessible(desk)


def test_a_text_is_written_letter_by_letter_and_can_be_stopped(desk):
    follow_link(desk, "/Steering?steering_text=The+king+&steering_draw=5&steering_strength=5")
    cancel = desk.get_by_role("button", name="Cancel")
    cancel.wait_for()
    cancel.click()
    desk.get_by_text("Generating was cancelled after").wait_for()
    desk.get_by_text("of 60 characters").first.wait_for()  # the run before may still show it, too
    desk.get_by_role("button", name="Generate again").click()
    desk.get_by_text("With the steering vector").wait_for()
    assert desk.locator(STEERED).inner_text().startswith("The king")


@pytest.mark.soak  # long
def test_a_model_is_measured_until_that_is_stopped(desk):
    follow_link(desk, f"/Steering?{RESULTS}&results_seed=1&results_draw=3")
    desk.get_by_text("Texts of seed 3 have not been generated").wait_for()
    desk.get_by_role("button", name="Run the experiment on this model").click()
    cancel = desk.get_by_role("button", name="Cancel")
    cancel.wait_for()
    desk.get_by_text("Running the experiment …").wait_for()
    cancel.click()
    desk.get_by_text("Running the experiment was cancelled").wait_for()
    desk.get_by_role("button", name="Run the experiment on this model").wait_for()


@pytest.mark.soak  # long
def test_the_slider_writes_another_text_after_the_same_beginning(desk):
    follow_link(desk, "/Steering?steering_text=The+king+")
    desk.get_by_text("With the steering vector").wait_for()
    before = desk.locator(STEERED).inner_text()
    desk.get_by_role("slider").press("Home")
    desk.wait_for_function(f"before => {SHOWN} && {SHOWN} !== before", arg=before)
    desk.get_by_text("With the steering vector").wait_for()
    assert "steering_strength=-10" in desk.url


def test_a_click_chooses_a_feature(desk):
    follow_link(desk, f"/Steering?{FEATURES}")
    await_charts(desk, 3)
    desk.get_by_text("Feature 2 separates").wait_for()
    (mark,) = desk.locator(".st-key-chart_features_order .scatterlayer .trace").nth(0).locator(
        ".point").all()[:1]  # fmt: skip
    box = mark.bounding_box()
    desk.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    desk.get_by_text("Feature 2 separates").wait_for(state="detached")
    settle(desk)
    assert "steering_feature=" in desk.url


@pytest.mark.soak  # long
def test_a_phone_has_everything_in_one_column_and_scrolls_only_down(desk):
    become_phone(desk)
    for query, count in (("", 1), (FEATURES, 3), (RESULTS, 5)):
        follow_link(desk, f"/Steering?{query}")
        await_charts(desk, count)
        assert_charts_on_a_phone(desk)
        assert_accessible(desk)
