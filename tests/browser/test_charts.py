"""Pages of charts in a real browser: clicks on points, *Cancel*, *Back*."""

import pytest

from .visiting import await_charts, become_desk, follow_link, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

POINTS = "[data-testid=stPlotlyChart] .scatterlayer .point"
EFFICIENT, STEERING = "/Efficient_attention", "/Steering"


@pytest.fixture
def desk(visitor):
    """The visitor, at a desk again."""
    become_desk(visitor)
    return visitor


def open_charts(page, watch, url, count):
    visit(page, watch, url, lambda page: await_charts(page, count))


@pytest.mark.soak  # long
def test_another_claim_is_one_click_away_and_a_click_on_a_point_opens_its_model(
    desk, served, watch
):
    open_charts(desk, watch, f"{served.url}/Claims?claim=C4", 1)
    desk.locator(".st-key-claim_C5 summary").press("Enter")
    desk.wait_for_url("**/Claims?claim=C5")
    desk.locator(".st-key-claim_C4 details:not([open])").wait_for()
    await_charts(desk, 1)
    click(desk, POINTS)
    link = desk.get_by_role("link", name="This model on Decision boundary")
    link.wait_for()
    assert "picked_seed=" in link.get_attribute("href")
    assert "data=linear" in link.get_attribute("href")


@pytest.mark.soak  # long
def test_a_click_chooses_a_feature(desk, served, watch):
    open_charts(desk, watch, f"{served.url}{STEERING}?steering_tab=Features", 1)
    desk.get_by_text("Feature 2 separates").wait_for()
    click(desk, ".st-key-chart_features_order .scatterlayer .point")
    desk.get_by_text("Feature 2 separates").wait_for(state="detached")
    settle(desk)
    assert "steering_feature=" in desk.url


def click(page, selector):
    """Move to the middle of the first one, and click."""
    part = page.locator(selector).first
    part.scroll_into_view_if_needed()
    box = part.bounding_box()
    place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*place)
    page.mouse.click(*place)


@pytest.mark.soak  # long
def test_a_text_is_written_letter_by_letter_and_can_be_stopped(desk, served, watch):
    open_charts(desk, watch, served.url + STEERING, 2)
    follow_link(desk, f"{STEERING}?steering_text=The+king+&steering_draw=5&steering_strength=5")
    desk.get_by_role("button", name="Cancel").click()
    desk.get_by_text("Generating was cancelled after").wait_for()
    desk.get_by_text("of 60 characters").first.wait_for()  # the run before may still show it, too
    desk.get_by_role("button", name="Generate again").click()
    desk.locator(".gc-of b", has_text="English").nth(1).wait_for()
    assert desk.locator(".gc-text").nth(1).inner_text().startswith("The king")


def test_back_undoes_one_change_of_a_control(desk, served, watch):
    open_charts(desk, watch, f"{served.url}{EFFICIENT}?top_k=1", 1)
    desk.get_by_text("top-1 attention").first.wait_for()
    keys = desk.locator(".st-key-top_k input[type=range]")
    for k in (2, 4):
        keys.press("ArrowRight")
        desk.get_by_text(f"top-{k} attention").first.wait_for()
        assert f"top_k={k}" in desk.url
    desk.get_by_role("tab", name="KV-cache eviction").click()
    desk.get_by_text("keeping 16 of 96 keys").first.wait_for()
    settle(desk)  # the link has lost what the other tab's controls held
    steps = desk.evaluate("history.length")
    for index, k in ((2, 4), (1, 2), (0, 1)):
        desk.go_back()
        desk.get_by_text(f"top-{k} attention").first.wait_for()
        assert keys.input_value() == str(index)
    desk.go_forward()
    desk.get_by_text("top-2 attention").first.wait_for()
    assert desk.evaluate("history.length") == steps
